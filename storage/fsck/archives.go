package fsck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Archives are the coarse archives of series, and how the documents of series list them.
type Archives struct {
	Table string
	// Key is that of the list in the custom map of a document.
	Key string
	// List returns a list with the archive of a step (seconds), which is the same list if it has it. It
	// is an error if the list cannot have it, or cannot be read.
	List func(list string, step uint32) (with string, err error)
}

// archiveCheck is the check of a stretch of the table of archives.
type archiveCheck struct {
	*Checker
	fix    map[Kind]bool
	report func(Step) error
}

// archiveRow is a row of archives.
type archiveRow struct {
	findings
	id    schema.RowKey
	tsuid []byte
	cells []kv.Cell
	bad   []kv.Cell // that are to be deleted
	// meta is the row of tsdb-meta of the series, list what its document lists, and with what it is to list.
	meta       kv.Row
	list, with string
}

// planArchives cuts the table of archives. A row holds the slots of many hours: the rows of some hours
// alone are not checked.
func (c *Checker) planArchives(ctx context.Context, q *Query, uids []string, n int) ([]Stretch, error) {
	if c.o.Archives == nil || q.timed() {
		return nil, nil
	}
	stretches, err := c.planRows(ctx, c.o.Archives.Table, q, uids, n)
	if errors.Is(err, kv.ErrNoTable) {
		return nil, nil // nothing was ever put
	}
	return stretches, err
}

// rows checks the rows from one key to another. There is no table before anything was put.
func (w *archiveCheck) rows(ctx context.Context, from, to []byte) error {
	err := w.eachPage(ctx, w.o.Archives.Table, from, to, w.check, w.report)
	if errors.Is(err, kv.ErrNoTable) {
		return nil
	}
	return err
}

// check checks rows and mends them.
func (w *archiveCheck) check(ctx context.Context, page []kv.Row) (found []Finding, err error) {
	all, err := w.findings(ctx, page)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if len(r.findings.list) == 0 {
			continue
		}
		if r.mendable(w.fix) {
			if err := w.mend(ctx, r); err != nil {
				return nil, fmt.Errorf("mend row %x of %s: %w", r.key, r.table, err)
			}
		}
		if err := w.describe(ctx, r); err != nil {
			return nil, err
		}
		found = append(found, r.findings.list...)
	}
	return found, nil
}

// findings checks rows, with the documents of their series.
func (w *archiveCheck) findings(ctx context.Context, page []kv.Row) (all []*archiveRow, err error) {
	var rows []named
	var series []*archiveRow
	for _, row := range page {
		r := w.row(row)
		if all = append(all, r); !r.has(BadKey) {
			rows, series = append(rows, r.named()), append(series, r)
		}
	}
	if err := w.checkNames(ctx, rows); err != nil {
		return nil, err
	}
	return all, w.checkDocuments(ctx, series)
}

func (r *archiveRow) named() named { return named{&r.findings, r.id.Metric, r.id.Tags} }

// row checks the key and the cells of a row.
func (w *archiveCheck) row(row kv.Row) *archiveRow {
	r := &archiveRow{findings: findings{table: w.o.Archives.Table, key: row.Key}, cells: row.Cells}
	id, flaws := w.o.Layout.CheckRowKey(row.Key)
	for _, k := range keyKinds {
		if flaws&k.flaw != 0 && k.kind != BadBaseTime { // rows begin with multiples of their steps
			r.add(k.kind, 1, "%v", k.flaw)
		}
	}
	if r.id = id; r.has(BadKey) {
		return r
	}
	r.tsuid = id.AppendTSUID(nil)
	for _, c := range row.Cells {
		w.cell(r, c)
	}
	return r
}

// cell checks a cell by itself.
func (w *archiveCheck) cell(r *archiveRow, c kv.Cell) {
	step, ok := columns.ArchiveStep(c.Qualifier)
	if !ok {
		r.add(UnknownCell, 1, "cell %.100q", c.Qualifier)
		return
	}
	var decoder columns.Decoder
	_, _, err := decoder.AppendArchive(nil, nil, c.Value, r.id.Base, step)
	if err == nil && columns.ArchiveBase(r.id.Base, step) != r.id.Base {
		err = fmt.Errorf("no row of %d s begins at %d", step, r.id.Base)
	}
	if err != nil {
		r.add(BadArchive, 1, "%v", err)
		r.remove(w.fix, BadArchive, c)
	}
}

// remove notes that a cell is to be deleted, if findings of a kind are mended.
func (r *archiveRow) remove(fix map[Kind]bool, k Kind, c kv.Cell) {
	is := func(o kv.Cell) bool { return bytes.Equal(o.Qualifier, c.Qualifier) }
	if fix[k] && !slices.ContainsFunc(r.bad, is) {
		r.bad = append(r.bad, c)
	}
}

// checkDocuments compares rows with the documents of their series.
func (w *archiveCheck) checkDocuments(ctx context.Context, rows []*archiveRow) error {
	keys := make([][]byte, len(rows))
	for i, r := range rows {
		keys[i] = r.tsuid
	}
	metas, err := w.o.DB.Get(ctx, w.o.Tables.Meta, schema.FamilyMeta, keys)
	if err != nil {
		return err
	}
	for i, r := range rows {
		r.meta = metas[i]
		w.checkDocument(r)
	}
	return nil
}

func (w *archiveCheck) checkDocument(r *archiveRow) {
	if len(r.meta.Cells) == 0 {
		r.add(LostArchive, 1, "the series has no row in %s", w.o.Tables.Meta)
		return
	}
	if document, err := schema.ParseTSMeta(documentOf(r.meta)); err == nil {
		r.list = document.Custom.Get(w.o.Archives.Key)
	}
	r.with = r.list
	for _, c := range r.cells {
		step, ok := columns.ArchiveStep(c.Qualifier)
		if !ok {
			continue
		}
		with, err := w.o.Archives.List(r.with, step)
		switch {
		case err != nil:
			r.add(StrayArchive, 1, "%v", err)
			r.remove(w.fix, StrayArchive, c)
		case with != r.with:
			r.add(UnlistedArchive, 1, "the archive of %d s", step)
			r.with = with
		}
	}
}

// documentOf returns the document in a row of tsdb-meta; nil: there is none.
func documentOf(row kv.Row) []byte {
	i := slices.IndexFunc(row.Cells, func(c kv.Cell) bool { return string(c.Qualifier) == string(schema.MetaQualifier()) })
	if i < 0 {
		return nil
	}
	return row.Cells[i].Value
}

// describe tells in words of which series a row is, and where it begins.
func (w *archiveCheck) describe(ctx context.Context, r *archiveRow) error {
	if r.has(BadKey) {
		return nil
	}
	text, err := w.seriesText(ctx, r.named())
	if err != nil {
		return err
	}
	r.describe(text + " " + time.Unix(int64(r.id.Base), 0).UTC().Format(time.RFC3339))
	return nil
}

// mend changes a row, or the document of its series, while they are as they were read, and notes in its
// findings which are gone.
func (w *archiveCheck) mend(ctx context.Context, r *archiveRow) error {
	gone := r.bad
	if r.hasAny(w.fix, BadKey, UnknownUID, LostArchive) {
		gone = r.cells
	}
	if err := w.remove(ctx, r, gone); err != nil {
		return err
	}
	if r.hasAny(w.fix, UnlistedArchive) {
		if err := w.relist(ctx, r); err != nil {
			return err
		}
	}
	if err := w.o.DB.Flush(ctx); err != nil {
		return err
	}
	rows, err := w.o.DB.Get(ctx, r.table, schema.FamilyData, [][]byte{r.key})
	if err != nil {
		return err
	}
	left := &findings{}
	if len(rows[0].Cells) > 0 {
		again, err := w.findings(ctx, rows)
		if err != nil {
			return err
		}
		left = &again[0].findings
	}
	r.noteLeft(left, w.fix, leftChanged)
	return nil
}

// remove deletes cells of a row.
func (w *archiveCheck) remove(ctx context.Context, r *archiveRow, cells []kv.Cell) error {
	if len(cells) == 0 {
		return nil
	}
	gone := kv.Mutation{Key: r.key, Deletes: kv.DeletesOf(nil, cells)}
	if w.o.DB.Versioned != nil {
		_, err := w.o.DB.Versioned.ApplyUnchanged(ctx, r.table, schema.FamilyData, []kv.Conditional{{Mutation: gone, Read: r.cells}})
		return err
	}
	return w.o.Alone(func() error {
		rows, err := w.o.DB.Get(ctx, r.table, schema.FamilyData, [][]byte{r.key})
		if err != nil || !sameCells(rows[0].Cells, r.cells) {
			return err
		}
		return w.o.DB.Apply(ctx, r.table, schema.FamilyData, []kv.Mutation{gone})
	})
}

// sameCells reports whether a row is as it was read.
func sameCells(a, b []kv.Cell) bool {
	return slices.EqualFunc(a, b, func(a, b kv.Cell) bool { return bytes.Equal(a.Qualifier, b.Qualifier) && bytes.Equal(a.Value, b.Value) })
}

// relist has the document of a series list the archives that are there.
func (w *archiveCheck) relist(ctx context.Context, r *archiveRow) error {
	was := documentOf(r.meta)
	document, err := schema.ParseTSMeta(was)
	if err != nil {
		return nil //nolint:nilerr // the check of tsdb-meta reports it
	}
	document.Custom = document.Custom.With(w.o.Archives.Key, r.with)
	at := kv.Column{Table: w.o.Tables.Meta, Family: schema.FamilyMeta, Row: r.tsuid, Qualifier: schema.MetaQualifier()}
	_, err = w.o.DB.CheckAndPut(ctx, at, was, document.AppendTo(nil))
	return err
}
