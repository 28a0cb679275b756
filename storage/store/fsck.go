package store

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/fsck"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Fsck returns what checks and mends the store's tables. It registers series only if the store is
// ready when it is called. archives tells how documents list archives; nil: their table is not checked.
func (s *Store) Fsck(archives *fsck.Archives) *fsck.Checker {
	o := fsck.Options{DB: s.db, Tables: s.o.Tables, Layout: s.layout, Names: s.uids, Alone: s.writer.Alone, Now: s.o.Now}
	if s.o.Rollups != nil {
		o.Rolled = s.o.Rollups.Tables()
	}
	if s.o.ArchiveTable != "" {
		o.Rolled, o.Archives = append(o.Rolled, s.o.ArchiveTable), archives
	}
	if s.ready() == nil {
		o.Register = s.adopt
	}
	return fsck.New(o)
}

// adopt registers a series whose rows from one base time to another are in the data table, as its
// first points would have done, durably.
func (s *parts) adopt(ctx context.Context, tsuid []byte, first, last uint32) error {
	id, _, err := s.index.Add(tsuid)
	if err != nil {
		return fmt.Errorf("%w: %w", storage.ErrInvalid, err)
	}
	if err := s.registrar.Register(ctx, []index.ID{id}); err != nil {
		return err
	}
	rows := []write.SeriesRow{{ID: id, Base: first}, {ID: id, Base: last}}
	if err := s.writer.Beside(ctx, rows, func() error { return s.backdate(ctx, tsuid, int64(first)) }); err != nil {
		return err
	}
	return s.db.Flush(ctx)
}

// backdate has the document of a series tell that it was made at a time (seconds), if it tells a time
// more than an hour later, as OpenTSDB's metasync does.
func (s *parts) backdate(ctx context.Context, tsuid []byte, created int64) error {
	rows, err := s.db.Get(ctx, s.o.Tables.Meta, schema.FamilyMeta, [][]byte{tsuid})
	if err != nil {
		return err
	}
	for _, c := range rows[0].Cells {
		if string(c.Qualifier) != string(schema.MetaQualifier()) {
			continue
		}
		m, err := schema.ParseTSMeta(c.Value)
		if err != nil || m.Created <= created+schema.RowSeconds {
			return nil //nolint:nilerr // a check reports it
		}
		m.Created = created
		at := kv.Column{Table: s.o.Tables.Meta, Family: schema.FamilyMeta, Row: tsuid, Qualifier: schema.MetaQualifier()}
		_, err = s.db.CheckAndPut(ctx, at, c.Value, m.AppendTo(nil)) // another edit wins
		return err
	}
	return nil
}
