package fsck

import (
	"context"
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// metaRow checks a row of tsdb-meta. It knows it all but the names of its UIDs.
type metaRow struct {
	findings
	metric, tags []byte
	found        *foundSeries // in the data table; nil: nothing was
	// cells are those of the counter and the document; nil: there is none.
	counter, document *kv.Cell
	newest            int64 // stamp of its cells
}

func (r *metaRow) named() named { return named{&r.findings, r.metric, r.tags} }

// checkMetaRow returns what is wrong with a row of tsdb-meta.
func checkMetaRow(l schema.Layout, table string, row kv.Row) *metaRow {
	r := &metaRow{findings: findings{table: table, key: row.Key}}
	if err := l.CheckSeries(row.Key); err != nil {
		r.add(BadSeries, 1, "%v", err)
		return r
	}
	r.metric, r.tags, _ = l.ParseTSUID(row.Key) // checked before
	for i := range row.Cells {
		r.cell(&row.Cells[i])
	}
	switch {
	case r.counter == nil && r.document != nil:
		r.add(NoCounter, 1, "it has a document alone")
	case r.counter != nil && r.document == nil:
		r.add(NoDocument, 1, "it has a counter alone")
	}
	return r
}

func (r *metaRow) cell(c *kv.Cell) {
	r.newest = max(r.newest, c.Time)
	switch string(c.Qualifier) {
	case string(schema.CounterQualifier()):
		r.counter = c
		if _, err := schema.DecodeCounter(c.Value); err != nil {
			r.add(BadCounter, 1, "%v", err)
		}
	case string(schema.MetaQualifier()):
		r.document = c
		m, err := schema.ParseTSMeta(c.Value)
		switch {
		case err != nil:
			r.add(BadDocument, 1, "%v", err)
		case !strings.EqualFold(m.TSUID, schema.FormatTSUID(r.key)):
			r.add(WrongDocument, 1, "it is of %.100q", m.TSUID)
		}
	case string(own.SpanQualifier()):
	default:
		r.add(UnknownCell, 1, "cell %.100q", c.Qualifier)
	}
}

// An edit replaces a cell while it is as it was read.
type edit struct {
	qualifier, expected, value []byte
}

// edits returns what mends the cells of the row.
func (r *metaRow) edits(fix map[Kind]bool) (edits []edit) {
	points := int64(0)
	if r.found != nil {
		points = 1
	}
	if r.hasAny(fix, BadCounter, NoCounter) {
		edits = append(edits, edit{schema.CounterQualifier(), valueOf(r.counter), schema.EncodeCounter(points)})
	}
	document := valueOf(r.document)
	switch {
	case r.hasAny(fix, BadDocument, NoDocument):
		edits = append(edits, edit{schema.MetaQualifier(), document, schema.AppendNewTSMeta(nil, r.key, r.created())})
	case r.hasAny(fix, WrongDocument):
		if m, err := schema.ParseTSMeta(document); err == nil {
			m.TSUID = schema.FormatTSUID(r.key)
			edits = append(edits, edit{schema.MetaQualifier(), document, m.AppendTo(nil)})
		}
	}
	return edits
}

// valueOf returns the value of a cell, nil without one.
func valueOf(c *kv.Cell) []byte {
	switch {
	case c == nil:
		return nil
	case c.Value == nil:
		return []byte{}
	}
	return c.Value
}

// created is when the series was written to first, as far as is known: seconds.
func (r *metaRow) created() int64 {
	switch {
	case r.found != nil:
		return int64(r.found.first)
	case r.counter != nil:
		return r.counter.Time / 1000
	}
	return 0
}

// mendRow changes a row of tsdb-meta, and notes in its findings which are gone.
func (w *metaCheck) mendRow(ctx context.Context, r *metaRow) error {
	left, err := w.changeRow(ctx, r)
	if err != nil {
		return fmt.Errorf("mend row %x of %s: %w", r.key, r.table, err)
	}
	r.noteLeft(left, w.fix, leftChanged)
	return nil
}

// changeRow changes a row once, and returns what is left.
func (w *metaCheck) changeRow(ctx context.Context, r *metaRow) (left *findings, err error) {
	if r.hasAny(w.fix, BadSeries, UnknownUID) {
		err = w.deleteRow(ctx, r.key)
	} else {
		for _, e := range r.edits(w.fix) {
			c := kv.Column{Table: r.table, Family: schema.FamilyMeta, Row: r.key, Qualifier: e.qualifier}
			if _, err = w.o.DB.CheckAndPut(ctx, c, e.expected, e.value); err != nil {
				break
			}
		}
	}
	if err == nil {
		err = w.o.DB.Flush(ctx)
	}
	if err != nil {
		return nil, err
	}
	rows, err := w.o.DB.Get(ctx, r.table, schema.FamilyMeta, [][]byte{r.key})
	if err != nil {
		return nil, err
	}
	again := &metaRow{}
	if len(rows[0].Cells) > 0 {
		if again, err = w.checked(ctx, rows[0]); err != nil {
			return nil, err
		}
		if r.has(NoData) { // the data table is not looked at again
			again.add(NoData, 1, "")
		}
	}
	return &again.findings, nil
}

// deleteRow deletes a row of tsdb-meta that is of no series.
func (w *metaCheck) deleteRow(ctx context.Context, key []byte) error {
	table := w.o.Tables.Meta
	if w.o.DB.Versioned == nil {
		return w.o.Alone(func() error {
			return w.o.DB.Apply(ctx, table, schema.FamilyMeta, []kv.Mutation{{Key: key, DeleteRow: true}})
		})
	}
	rows, err := w.o.DB.Get(ctx, table, schema.FamilyMeta, [][]byte{key})
	if err != nil || len(rows[0].Cells) == 0 {
		return err
	}
	gone := kv.Conditional{Mutation: kv.Mutation{Key: key, Deletes: kv.DeletesOf(nil, rows[0].Cells)}, Read: rows[0].Cells}
	_, err = w.o.DB.Versioned.ApplyUnchanged(ctx, table, schema.FamilyMeta, []kv.Conditional{gone})
	return err
}
