package documents

import (
	"bytes"
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// metaRowsPerGet bounds the TSMeta documents that are in memory at a time.
const metaRowsPerGet = 1024

// concurrentMetaEdits is how many documents are edited at a time: on a cluster each edit is a round
// trip.
const concurrentMetaEdits = 8

// SeriesCustom returns what series have under a key of the custom map in their TSMeta documents, in
// order; "" where there is nothing, or no document that can be read.
func (d *Documents) SeriesCustom(ctx context.Context, refs []storage.Ref, key string) ([]string, error) {
	values := make([]string, 0, len(refs))
	for len(refs) > 0 {
		n := min(len(refs), metaRowsPerGet)
		rows, err := d.metaRows(ctx, refs[:n])
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			values = append(values, customValue(row, key))
		}
		refs = refs[n:]
	}
	return values, nil
}

func customValue(row kv.Row, key string) string {
	raw := metaDocument(row)
	if !bytes.Contains(raw, []byte(key)) {
		return "" // no need to parse: nearly all documents are as they were made
	}
	document, err := schema.ParseTSMeta(raw)
	if err != nil {
		return "" // a TSD cannot read it either
	}
	return document.Custom.Get(key)
}

// metaDocument returns the raw TSMeta document of a row, nil without one.
func metaDocument(row kv.Row) []byte {
	for _, c := range row.Cells {
		if string(c.Qualifier) == string(schema.MetaQualifier()) {
			return c.Value
		}
	}
	return nil
}

// metaRows reads the tsdb-meta rows of series.
func (d *Documents) metaRows(ctx context.Context, refs []storage.Ref) ([]kv.Row, error) {
	keys := make([][]byte, len(refs))
	for i, ref := range refs {
		if err := ref.Check(d.index.Len()); err != nil {
			return nil, err
		}
		keys[i] = []byte(d.index.TSUID(index.IDOf(ref)))
	}
	rows, err := d.db.Get(ctx, d.o.Tables.Meta, schema.FamilyMeta, keys)
	if err != nil {
		return nil, fmt.Errorf("read the documents of %d series: %w", len(keys), err)
	}
	return rows, nil
}

// SetSeriesCustom makes edits of a key of the custom map in the TSMeta documents of series, each
// once. Where the value is not Old it is another writer's and stays, as does a document that cannot be
// read. A series without its tsdb-meta row gets one as its first point would give
// it. Nothing else in a document changes, and no edit of others at the same time is lost. What was
// written is durable when the next Apply is.
func (d *Documents) SetSeriesCustom(ctx context.Context, key string, edits []storage.CustomEdit) error {
	for len(edits) > 0 {
		n := min(len(edits), metaRowsPerGet)
		if err := d.editCustoms(ctx, key, edits[:n]); err != nil {
			return err
		}
		edits = edits[n:]
	}
	return nil
}

func (d *Documents) editCustoms(ctx context.Context, key string, edits []storage.CustomEdit) error {
	refs := make([]storage.Ref, len(edits))
	for i, e := range edits {
		refs[i] = e.Ref
	}
	rows, err := d.metaRows(ctx, refs)
	if err != nil {
		return err
	}
	if err := d.completeMeta(ctx, refs, rows); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(concurrentMetaEdits)
	for i, e := range edits {
		group.Go(func() error {
			if err := d.editCustom(ctx, key, e, rows[i]); err != nil {
				return fmt.Errorf("TSMeta of %x: %w", rows[i].Key, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// completeMeta gives series without a tsdb-meta row one, and reads it. The row means that the trees
// and other observers of new series know the series, so they must be told before.
func (d *Documents) completeMeta(ctx context.Context, refs []storage.Ref, rows []kv.Row) error {
	var missing []int
	var lacking []storage.Ref
	for i, row := range rows {
		if len(row.Cells) == 0 {
			missing, lacking = append(missing, i), append(lacking, refs[i])
		}
	}
	if len(missing) == 0 {
		return nil
	}
	if err := d.register(ctx, lacking); err != nil {
		return err
	}
	again, err := d.metaRows(ctx, lacking)
	if err != nil {
		return err
	}
	for n, i := range missing {
		rows[i] = again[n]
	}
	return nil
}

// register gives series their rows of tsdb-meta. One whose UIDs have lost their names stays as it
// is, and so does one whose row was deleted while this process knew it.
func (d *Documents) register(ctx context.Context, refs []storage.Ref) error {
	ids := make([]index.ID, len(refs))
	for i, ref := range refs {
		ids[i] = index.IDOf(ref)
	}
	return d.o.Registrar.Register(ctx, ids)
}

func (d *Documents) editCustom(ctx context.Context, key string, e storage.CustomEdit, row kv.Row) error {
	column := kv.Column{Table: d.o.Tables.Meta, Family: schema.FamilyMeta, Row: row.Key, Qualifier: schema.MetaQualifier()}
	for range metadataAttempts {
		if len(row.Cells) == 0 {
			return nil // nothing that could be completed
		}
		raw := metaDocument(row)
		edited, ok := editedCustom(row.Key, raw, key, e, d.o.Now().Unix())
		if !ok {
			return nil
		}
		if done, err := d.db.CheckAndPut(ctx, column, raw, edited); err != nil || done {
			return err
		}
		rows, err := d.metaRows(ctx, []storage.Ref{e.Ref})
		if err != nil {
			return err
		}
		row = rows[0]
	}
	return fmt.Errorf("edited by others %d times in a row", metadataAttempts)
}

// editedCustom returns a document after an edit; ok is false when it is to stay. A row without a
// document (a TSD that only counts makes such) gets a fresh one.
func editedCustom(tsuid, raw []byte, key string, e storage.CustomEdit, now int64) (edited []byte, ok bool) {
	document := schema.NewTSMeta(tsuid, now)
	if raw != nil {
		var err error
		if document, err = schema.ParseTSMeta(raw); err != nil {
			return nil, false // a TSD cannot read it either
		}
	}
	if document.Custom.Get(key) != e.Old || e.Old == e.New {
		return nil, false
	}
	document.Custom = document.Custom.With(key, e.New)
	return document.AppendTo(nil), true
}
