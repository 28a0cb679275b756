// Package store implements the contract of package storage over a table engine. It wires the parts
// below: the catalogue of series, the write path and the read path. It never knows a protocol.
package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/internal/tracing"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Store is the one implementation of Appender and Querier: the OpenTSDB schema over a table engine.
type Store struct {
	services
}

var (
	_ storage.Appender = (*Store)(nil)
	_ storage.Querier  = (*Store)(nil)
)

// New builds a store over db, which it does not close. Run makes it ready.
func New(db kv.KV, o Options) (*Store, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	s := &Store{}
	s.db, s.o, s.layout, s.index = kv.NewEngine(db, o.Exclusive), o, o.Layout, index.New(o.Layout)
	s.loading.Set(errors.New("series index: not loaded yet"))
	s.tables = newTableLayout(s.db, &s.o, &s.loading)
	s.unreadable = s.warnUnreadable()
	s.openUIDs()
	s.openCatalog()
	if err := s.openWriter(); err != nil {
		return nil, err
	}
	s.reader = s.newReader()
	s.closed = s.newCompactor()
	s.retainer = s.newRetainer()
	s.filler = s.newFiller()
	return s, nil
}

// Resolve implements Appender.
func (s *Store) Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error) {
	ctx, span := tracing.Start(ctx, "resolve")
	span.Number("series", int64(len(series)))
	refs, errs := s.registrar.Resolve(ctx, series)
	span.End(nil)
	return refs, errs
}

// Append implements Appender.
func (s *Store) Append(ctx context.Context, b *storage.Batch) error {
	ctx, span := tracing.Start(ctx, "append")
	span.Number("points", int64(len(b.Refs)))
	err := s.writer.Append(ctx, b)
	span.End(err)
	return err
}

// Find implements Querier.
func (s *Store) Find(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error) {
	return s.catalog.Find(ctx, filters, start, end, limit)
}

// Select implements Querier.
func (s *Store) Select(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error] {
	ctx, span := tracing.Start(ctx, "select")
	if !span.On() {
		return s.reader.Select(ctx, q)
	}
	return s.tracedSelect(ctx, span, q)
}

// tracedSelect ends the span with the sequence. It is apart, since what a closure holds takes memory.
func (s *Store) tracedSelect(ctx context.Context, span tracing.Span, q storage.Query) iter.Seq2[storage.Points, error] {
	span.Number("series", int64(len(q.Refs)))
	return func(yield func(storage.Points, error) bool) {
		var failed error
		for p, err := range s.reader.Select(ctx, q) {
			if failed = err; !yield(p, err) {
				break
			}
		}
		span.End(failed)
	}
}

// Metrics implements Querier.
func (s *Store) Metrics(ctx context.Context, start, end int64) ([]string, error) {
	return s.catalog.Metrics(ctx, start, end)
}

// TagKeys implements Querier.
func (s *Store) TagKeys(ctx context.Context, start, end int64) ([]string, error) {
	return s.catalog.TagKeys(ctx, start, end)
}

// TagValues implements Querier.
func (s *Store) TagValues(ctx context.Context, key string, start, end int64) ([]string, error) {
	return s.catalog.TagValues(ctx, key, start, end)
}

// PutHistograms puts histograms of OpenTSDB beside the points of their series; see Writer.PutHistograms.
func (s *Store) PutHistograms(ctx context.Context, all []storage.CodedHistogram) error {
	return s.writer.PutHistograms(ctx, all)
}

// logged is an Appender that appends through the log.
type logged struct {
	*register.Registrar
	writer *write.Writer
}

// Append implements Appender.
func (l logged) Append(ctx context.Context, b *storage.Batch) error {
	return l.writer.AppendLogged(ctx, b)
}

// PinLayout records the layout with which an exclusive store was made and refuses another one with
// an ErrLayout. Shared tables record nothing: there it checks some of their rows, as Run does.
func (s *Store) PinLayout(ctx context.Context) error { return s.tables.pin(ctx) }

// Replayed returns nil when the log of an earlier run is in the head; until then reads fail.
func (s *Store) Replayed() error { return s.writer.Replayed() }

// Refuses returns why points are refused at the moment, or were the last time; nil: they are taken.
func (s *Store) Refuses() error { return s.writer.Refuses() }

// Backup copies the tables; see Writer.Backup.
func (s *Store) Backup(ctx context.Context, dir string) error { return s.writer.Backup(ctx, dir) }

// SalvageLog puts what can be read of a damaged log into the tables; see Writer.SalvageLog.
func (s *Store) SalvageLog(ctx context.Context, o write.BufferOptions) (points, left int, err error) {
	return s.writer.SalvageLog(ctx, o)
}

// GiveUpLog makes the tables forget their log; see Writer.GiveUpLog.
func (s *Store) GiveUpLog() error { return s.writer.GiveUpLog() }

// UnknownInLog counts the series of a log that the store does not have; see Writer.UnknownInLog.
func (s *Store) UnknownInLog(ctx context.Context, o write.BufferOptions) (unknown int, err error) {
	return s.writer.UnknownInLog(ctx, o)
}

// Run loads the series index, trying again until it can, and keeps it fresh until ctx ends; where
// there is a log it replays it, and flushes rows to the table. Nothing is replayed or written
// before the servers were seen to be new enough and shared tables to fit the flags; where that is not
// so, it ends with an ErrUnsupported or an ErrLayout.
func (s *Store) Run(ctx context.Context) error {
	if err := s.tables.await(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.writer.Run(ctx) })
	group.Go(func() error { return s.refreshEvery(ctx) })
	if s.closed != nil {
		group.Go(func() error { return s.closed.Run(ctx) })
	}
	group.Go(func() error { return s.retainer.Run(ctx) })
	if s.filler != nil {
		group.Go(func() error { return s.filler.Run(ctx) })
	}
	return group.Wait()
}

// Close flushes what is in memory, settles what was put into shared tables without reading, as far
// as ctx allows, and closes the log. What is not flushed is replayed by the next process. Nothing
// may use the store any more; the engine is closed afterwards.
func (s *Store) Close(ctx context.Context) error {
	return s.writer.Close(ctx, s.tables.unfit.Load())
}

func (s *Store) refreshEvery(ctx context.Context) error {
	since := int64(0)
	for {
		begin := s.o.Now()
		if err := s.tables.check(ctx); isFinal(err) {
			return err // others began to fill empty tables
		}
		switch err := s.loader.Load(ctx, since); {
		case isFinal(err):
			return err
		case err == nil:
			if s.registry.SetLoaded() {
				s.o.Logger.Info("series index loaded", "series", s.index.Size(), "duration", s.o.Now().Sub(begin))
			}
			s.loading.Set(nil)
			s.uidUsage.Measure(ctx)
			since = begin.Add(-catalog.RefreshMargin).UnixMilli()
		case ctx.Err() != nil:
			return nil
		default:
			if s.loading.Note(ctx, fmt.Errorf("series index: %w", err)) {
				s.o.Logger.Error("the series index cannot be read, which is tried again; queries fail until then, see /-/ready", "table", s.o.Tables.Meta, "err", err)
			}
		}
		if s.o.Exclusive && s.registry.Loaded() {
			<-ctx.Done()
			return nil
		}
		wait := s.o.IndexRefresh
		if !s.registry.Loaded() {
			wait = min(wait, time.Second)
		}
		if !retry.Sleep(ctx, wait) {
			return nil
		}
	}
}

// Ready returns what keeps the store from answering, nil when nothing does. It asks the engine.
func (s *Store) Ready(ctx context.Context) error {
	type table struct{ table, family string }
	tables := []table{
		{s.o.Tables.Data, schema.FamilyData},
		{s.o.Tables.UID, schema.FamilyID},
		{s.o.Tables.Meta, schema.FamilyMeta},
		{s.o.Tables.Tree, schema.FamilyData},
	}
	if s.o.Rollups != nil {
		for _, name := range s.o.Rollups.Tables() {
			tables = append(tables, table{name, schema.FamilyData})
		}
	}
	for _, t := range tables {
		_, err := s.db.Get(ctx, t.table, t.family, [][]byte{schema.MaxIDRow()})
		switch {
		case errors.Is(err, kv.ErrNoTable):
			return fmt.Errorf("%w: table %s is missing: create the tables with \"tsdbridge tables create\"", storage.ErrNotReady, t.table)
		case err != nil:
			return err
		}
	}
	if err := s.writer.Replayed(); err != nil && !s.tables.unfit.Load() {
		return err
	}
	return s.loading.Err()
}
