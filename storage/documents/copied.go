package documents

import (
	"bytes"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// SeriesDocuments returns the TSMeta documents of series as they are stored, in order; nil for a series without one.
func (d *Documents) SeriesDocuments(ctx context.Context, refs []storage.Ref) ([][]byte, error) {
	rows, err := d.metaRows(ctx, refs)
	if err != nil {
		return nil, err
	}
	list := make([][]byte, len(rows))
	for i, row := range rows {
		list[i] = metaDocument(row)
	}
	return list, nil
}

// UIDDocuments returns the UIDMeta documents of UIDs as they are stored, in order; nil for a UID without one.
func (d *Documents) UIDDocuments(ctx context.Context, kind storage.NameKind, uids []string) ([][]byte, error) {
	keys := make([][]byte, len(uids))
	for i, uid := range uids {
		keys[i] = []byte(uid)
	}
	rows, err := d.db.Get(ctx, d.o.Tables.UID, schema.FamilyName, keys)
	if err != nil {
		return nil, fmt.Errorf("read the documents of %d UIDs: %w", len(keys), err)
	}
	list := make([][]byte, len(rows))
	for i, row := range rows {
		list[i] = valueOf(row, schema.UIDMetaQualifier(kind))
	}
	return list, nil
}

// PutSeriesDocuments gives registered series the TSMeta documents of series of another store, durably: all but the TSUID. nil is
// none, and changes nothing. A document that nobody has edited replaces none but such a one. refused are, by the index of the
// series, documents that no TSD could read. No edit of others at the same time is lost.
func (d *Documents) PutSeriesDocuments(ctx context.Context, refs []storage.Ref, documents [][]byte) (refused map[int]error, err error) {
	rows, err := d.metaRows(ctx, refs)
	if err != nil {
		return nil, err
	}
	refused = map[int]error{}
	group, editing := errgroup.WithContext(ctx)
	group.SetLimit(concurrentMetaEdits)
	for i, row := range rows {
		if documents[i] == nil {
			continue
		}
		from, err := schema.ParseTSMeta(documents[i])
		if err != nil {
			refused[i] = err
			continue
		}
		change := func(raw []byte) ([]byte, error) { return copiedSeries(row.Key, raw, from), nil } //nolint:unparam // as edit calls it
		if now := metaDocument(row); bytes.Equal(now, copiedSeries(row.Key, now, from)) {
			continue
		}
		column := kv.Column{Table: d.o.Tables.Meta, Family: schema.FamilyMeta, Row: row.Key, Qualifier: schema.MetaQualifier()}
		group.Go(func() error {
			if err := d.edit(editing, column, change); err != nil {
				return fmt.Errorf("document of the series %x: %w", row.Key, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return refused, d.db.Flush(ctx)
}

// copiedSeries returns what a document becomes when another store's is copied to it.
func copiedSeries(tsuid, raw []byte, from schema.TSMeta) []byte {
	from.TSUID = schema.FormatTSUID(tsuid)
	have, err := schema.ParseTSMeta(raw)
	if raw != nil && err == nil && unedited(from) && !unedited(have) {
		if from.Created == 0 || have.Created > 0 && have.Created <= from.Created {
			return raw
		}
		have.Created = from.Created
		return have.AppendTo(nil)
	}
	return from.AppendTo(nil)
}

// unedited tells whether a document is as that of a new series.
func unedited(m schema.TSMeta) bool {
	tsuid, err := schema.UnhexTSUID(m.TSUID)
	return err == nil && bytes.Equal(m.AppendTo(nil), schema.NewTSMeta(tsuid, m.Created).AppendTo(nil))
}

// PutUIDDocuments gives UIDs the UIDMeta documents of other UIDs of the same names, durably. nil is none, and changes nothing.
// refused are, by the index of the UID, documents that no TSD could read.
func (d *Documents) PutUIDDocuments(ctx context.Context, kind storage.NameKind, names, uids []string, documents [][]byte) (refused map[int]error, err error) {
	now, err := d.UIDDocuments(ctx, kind, uids)
	if err != nil {
		return nil, err
	}
	refused = map[int]error{}
	for i, raw := range documents {
		if raw == nil || bytes.Equal(raw, now[i]) {
			continue
		}
		document, err := schema.ParseUIDMeta(raw)
		if err != nil {
			refused[i] = err
			continue
		}
		if err := d.putUIDDocument(ctx, kind, names[i], uids[i], document); err != nil {
			return nil, fmt.Errorf("document of the %s %s: %w", kind, names[i], err)
		}
	}
	return refused, d.db.Flush(ctx)
}

func (d *Documents) putUIDDocument(ctx context.Context, kind storage.NameKind, name, uid string, document schema.UIDMeta) error {
	moment := d.meta.moment()
	defer d.meta.edit(d.db.Exclusive && kind == storage.MetricName)()
	err := d.edit(ctx, d.uidColumn(kind, uid), func([]byte) ([]byte, error) { return document.AppendTo(nil), nil })
	if err == nil && kind == storage.MetricName {
		d.meta.edited(name, metadataOf(document), moment)
	}
	return err
}
