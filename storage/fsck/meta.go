package fsck

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	// seriesAtOnce bounds the series of a metric that are compared with their rows at once.
	seriesAtOnce = 1 << 18
	// strangersAtOnce bounds the series without a row of tsdb-meta that are found at once.
	strangersAtOnce = 1 << 16
	// fresh is how long a series may have no data: its first points may be in the memory of a process.
	fresh = 24 * time.Hour
)

// metaCheck is the check of a stretch of tsdb-meta, one metric after the other: its rows are compared
// with the keys of the data table.
type metaCheck struct {
	*Checker
	query  Query
	fix    map[Kind]bool
	report func(Step) error
}

// metrics checks the metrics from one UID to another.
func (w *metaCheck) metrics(ctx context.Context, from, to []byte) error {
	for {
		metric, err := w.next(ctx, from, to)
		if err != nil || metric == nil {
			return err
		}
		if err := w.metric(ctx, metric); err != nil {
			return err
		}
		if from = w.after(metric); from == nil {
			return nil
		}
		if err := w.report(Step{At: from}); err != nil {
			return err
		}
	}
}

// after returns where the rows of tsdb-meta of a metric end; nil: with the table.
func (w *metaCheck) after(metric []byte) []byte {
	if len(metric) < w.o.Layout.MetricWidth { // a key that is too short
		return append(slices.Clone(metric), 0)
	}
	return schema.Successor(metric)
}

// next returns the first metric from a UID on that has a name or a row of tsdb-meta; nil: there is none.
func (w *metaCheck) next(ctx context.Context, from, to []byte) (metric []byte, err error) {
	width := w.o.Layout.MetricWidth
	names := kv.Scan{Table: w.o.Tables.UID, Family: schema.FamilyName, Start: from, Stop: to, Qualifier: schema.UIDQualifier(storage.MetricName)}
	for r, err := range w.o.DB.Scan(ctx, names) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w.o.Tables.UID, err)
		}
		if len(r.Key) == width {
			metric = r.Key
			break
		}
	}
	rows := kv.Scan{Table: w.o.Tables.Meta, Family: schema.FamilyMeta, Start: from, Stop: to, KeysOnly: true, Limit: 1}
	for r, err := range w.o.DB.Scan(ctx, rows) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w.o.Tables.Meta, err)
		}
		if m := r.Key[:min(width, len(r.Key))]; metric == nil || bytes.Compare(m, metric) < 0 {
			metric = m
		}
	}
	return metric, nil
}

// A foundSeries is a series that has rows in the data table.
type foundSeries struct {
	first, last uint32 // base times of its rows
	rolled      bool   // it has values of longer intervals; looked for only if it has nothing else
}

func (f *foundSeries) add(base uint32) {
	f.first, f.last = min(f.first, base), max(f.last, base)
}

// once reports whether it has one row.
func (f *foundSeries) once() bool { return f.first == f.last }

// seriesRange are the series of a metric from one TSUID to another, as the data table has them.
type seriesRange struct {
	from, to  []byte
	known     [][]byte // TSUIDs that have a row of tsdb-meta, in order
	found     []foundSeries
	strangers map[string]*foundSeries // TSUIDs that have none
	most      int                     // of strangers
}

// metric checks the series of a metric, or a row whose key is shorter.
func (w *metaCheck) metric(ctx context.Context, metric []byte) error {
	end := w.after(metric)
	for from := metric; from != nil; {
		r, err := w.load(ctx, metric, from, end)
		if err != nil {
			return err
		}
		if err := w.rows(ctx, r); err != nil {
			return err
		}
		if err := w.missing(ctx, r); err != nil {
			return err
		}
		if bytes.Equal(r.to, end) {
			return nil
		}
		from = r.to
	}
	return nil
}

// load finds the series of a metric from a TSUID on: as many as fit into memory.
func (w *metaCheck) load(ctx context.Context, metric, from, end []byte) (*seriesRange, error) {
	r := &seriesRange{from: from, to: end, most: w.strangers, strangers: map[string]*foundSeries{}}
	scan := kv.Scan{Table: w.o.Tables.Meta, Family: schema.FamilyMeta, Start: from, Stop: end, KeysOnly: true, Limit: w.series}
	for row, err := range w.o.DB.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", w.o.Tables.Meta, err)
		}
		r.known = append(r.known, row.Key)
	}
	if len(r.known) == w.series {
		r.to = append(slices.Clone(r.known[len(r.known)-1]), 0)
	}
	r.found = make([]foundSeries, len(r.known))
	for i := range r.found {
		r.found[i].first = unseen
	}
	if len(metric) < w.o.Layout.MetricWidth {
		return r, nil
	}
	var tsuid []byte
	for _, scan := range w.metricScans(&w.query, w.o.Tables.Data, string(metric)) {
		scan.KeysOnly = true
		for row, err := range w.o.DB.Scan(ctx, scan) {
			if err != nil {
				return nil, fmt.Errorf("read the keys of %s: %w", w.o.Tables.Data, err)
			}
			if key, err := w.o.Layout.ParseRowKey(row.Key); err == nil {
				tsuid = key.AppendTSUID(tsuid[:0])
				r.see(w.o.Layout, tsuid, key.Base)
			}
		}
	}
	return r, w.loadRolled(ctx, r, string(metric))
}

// loadRolled looks for series that have no rows in the data table in the tables of longer intervals.
func (w *metaCheck) loadRolled(ctx context.Context, r *seriesRange, metric string) error {
	without := func(f foundSeries) bool { return f.first == unseen }
	if w.query.timed() || !slices.ContainsFunc(r.found, without) {
		return nil
	}
	var tsuid []byte
	for _, table := range w.o.Rolled {
		for _, scan := range w.metricScans(&w.query, table, metric) {
			scan.KeysOnly = true
			for row, err := range w.o.DB.Scan(ctx, scan) {
				if errors.Is(err, kv.ErrNoTable) {
					break // that of archives is made when it is needed
				}
				if err != nil {
					return fmt.Errorf("read the keys of %s: %w", table, err)
				}
				key, err := w.o.Layout.ParseRowKey(row.Key)
				if err != nil {
					continue // it is none of a series
				}
				tsuid = key.AppendTSUID(tsuid[:0])
				if i, ok := slices.BinarySearchFunc(r.known, tsuid, bytes.Compare); ok {
					r.found[i].rolled = true
				}
			}
		}
	}
	return nil
}

// unseen is the first base time of a series that was not found.
const unseen = 1<<32 - 1

// see notes a row of the data table.
func (r *seriesRange) see(l schema.Layout, tsuid []byte, base uint32) {
	if bytes.Compare(tsuid, r.from) < 0 || len(r.to) > 0 && bytes.Compare(tsuid, r.to) >= 0 {
		return
	}
	if i, ok := slices.BinarySearchFunc(r.known, tsuid, bytes.Compare); ok {
		r.found[i].add(base)
		return
	}
	if f := r.strangers[string(tsuid)]; f != nil {
		f.add(base)
		return
	}
	if l.CheckSeries(tsuid) != nil {
		return
	}
	r.strangers[string(tsuid)] = &foundSeries{first: base, last: base}
	if len(r.strangers) > r.most {
		r.cut()
	}
}

// cut leaves half of the strangers to another range.
func (r *seriesRange) cut() {
	tsuids := r.sorted()
	r.to = []byte(tsuids[len(tsuids)/2])
	for _, tsuid := range tsuids[len(tsuids)/2:] {
		delete(r.strangers, tsuid)
	}
	n, _ := slices.BinarySearchFunc(r.known, r.to, bytes.Compare)
	r.known, r.found = r.known[:n], r.found[:n]
}

func (r *seriesRange) sorted() []string {
	tsuids := make([]string, 0, len(r.strangers))
	for tsuid := range r.strangers {
		tsuids = append(tsuids, tsuid)
	}
	slices.Sort(tsuids)
	return tsuids
}

// of returns what was found of a series; nil: nothing.
func (r *seriesRange) of(tsuid []byte) *foundSeries {
	i, ok := slices.BinarySearchFunc(r.known, tsuid, bytes.Compare)
	if !ok || r.found[i].first == unseen {
		return nil
	}
	return &r.found[i]
}

// rows checks the rows of a range of series.
func (w *metaCheck) rows(ctx context.Context, r *seriesRange) error {
	var page []kv.Row
	check := func() error {
		step := Step{Rows: int64(len(page))}
		for _, row := range page {
			step.Cells += int64(len(row.Cells))
		}
		var err error
		if step.Findings, err = w.page(ctx, r, page); err != nil {
			return err
		}
		page = page[:0]
		return w.report(step)
	}
	for row, err := range w.o.DB.Scan(ctx, kv.Scan{Table: w.o.Tables.Meta, Family: schema.FamilyMeta, Start: r.from, Stop: r.to}) {
		if err != nil {
			return fmt.Errorf("read %s: %w", w.o.Tables.Meta, err)
		}
		if page = append(page, row); len(page) == pageRows {
			if err := check(); err != nil {
				return err
			}
		}
	}
	return check()
}

// page checks rows and mends them.
func (w *metaCheck) page(ctx context.Context, r *seriesRange, page []kv.Row) (found []Finding, err error) {
	all := make([]*metaRow, len(page))
	var rows []named
	for i := range page {
		m := checkMetaRow(w.o.Layout, w.o.Tables.Meta, page[i])
		m.found = r.of(m.key)
		if all[i] = m; m.metric != nil {
			rows = append(rows, m.named())
			w.checkData(r, m)
		}
	}
	if err := w.checkNames(ctx, rows); err != nil {
		return nil, err
	}
	for _, m := range all {
		if len(m.list) == 0 {
			continue
		}
		if m.mendable(w.fix) {
			if err := w.mendRow(ctx, m); err != nil {
				return nil, err
			}
		}
		if m.metric != nil {
			text, err := w.seriesText(ctx, m.named())
			if err != nil {
				return nil, err
			}
			m.describe(text)
		}
		found = append(found, m.list...)
	}
	return found, nil
}

// checkData looks whether a row of tsdb-meta has data. One that came after the keys of the data table
// were read has some.
func (w *metaCheck) checkData(r *seriesRange, m *metaRow) {
	i, known := slices.BinarySearchFunc(r.known, m.key, bytes.Compare)
	if known && m.found == nil && !r.found[i].rolled && !w.query.timed() && m.newest < w.o.Now().Add(-fresh).UnixMilli() {
		m.add(NoData, 1, "nothing is in %s", w.o.Tables.Data)
	}
}

// checked checks a row again.
func (w *metaCheck) checked(ctx context.Context, row kv.Row) (*metaRow, error) {
	m := checkMetaRow(w.o.Layout, w.o.Tables.Meta, row)
	if m.metric == nil {
		return m, nil
	}
	return m, w.checkNames(ctx, []named{m.named()})
}

// missing looks for the series that have data and no row of tsdb-meta, and registers them.
func (w *metaCheck) missing(ctx context.Context, r *seriesRange) error {
	for tsuids := range slices.Chunk(r.sorted(), pageRows) {
		step, err := w.missingSome(ctx, r, tsuids)
		if err != nil {
			return err
		}
		if err := w.report(step); err != nil {
			return err
		}
	}
	return nil
}

func (w *metaCheck) missingSome(ctx context.Context, r *seriesRange, tsuids []string) (step Step, err error) {
	keys, data := make([][]byte, len(tsuids)), make([][]byte, len(tsuids))
	for i, tsuid := range tsuids {
		keys[i] = []byte(tsuid)
		data[i] = w.o.Layout.AppendRowKey(nil, keys[i], r.strangers[tsuid].first)
	}
	now, err := w.o.DB.Get(ctx, w.o.Tables.Meta, schema.FamilyMeta, keys) // it may have come since
	if err != nil {
		return step, err
	}
	first, err := w.o.DB.Get(ctx, w.o.Tables.Data, schema.FamilyData, data)
	if err != nil {
		return step, err
	}
	for i := range keys {
		notes := len(first[i].Cells) > 0 && !hasPoints(first[i].Cells) && r.strangers[tsuids[i]].once()
		if len(now[i].Cells) > 0 || notes {
			continue
		}
		m := &metaRow{findings: findings{table: w.o.Tables.Meta, key: keys[i]}, found: r.strangers[tsuids[i]]}
		m.metric, m.tags, _ = w.o.Layout.ParseTSUID(keys[i]) // checked when it was found
		if err := w.checkNames(ctx, []named{m.named()}); err != nil {
			return step, err
		}
		if m.has(UnknownUID) {
			continue // found in the data table
		}
		m.add(NoMeta, 1, "its rows are of %s to %s", hourText(m.found.first), hourText(m.found.last))
		if err := w.register(ctx, m); err != nil {
			return step, err
		}
		text, err := w.seriesText(ctx, m.named())
		if err != nil {
			return step, err
		}
		m.describe(text)
		step.Findings = append(step.Findings, m.list...)
	}
	return step, nil
}

// register makes a series known, if that is asked for.
func (w *metaCheck) register(ctx context.Context, m *metaRow) error {
	f := &m.list[0]
	switch {
	case !w.fix[NoMeta]:
		return nil
	case w.o.Register == nil:
		f.Left = "the series can be registered by \"tsdbridge meta sync\" alone"
		return nil
	}
	if err := w.o.Register(ctx, m.key, m.found.first, m.found.last); err != nil {
		return fmt.Errorf("register series %X: %w", m.key, err)
	}
	rows, err := w.o.DB.Get(ctx, m.table, schema.FamilyMeta, [][]byte{m.key})
	if err != nil {
		return err
	}
	if f.Mended = len(rows[0].Cells) > 0; !f.Mended {
		f.Left = "its names are of another series"
	}
	return nil
}

// hasPoints reports whether cells of the data table are of a series: annotations alone are not.
func hasPoints(cells []kv.Cell) bool {
	return slices.ContainsFunc(cells, func(c kv.Cell) bool {
		switch schema.ClassifyCell(c.Qualifier) {
		case schema.CellData, schema.CellAppend, schema.CellObject, schema.CellHistogram:
			return true
		case schema.CellAges, schema.CellAnnotation, schema.CellUnknown:
		}
		return false
	})
}

func hourText(base uint32) string { return time.Unix(int64(base), 0).UTC().Format("2006-01-02T15:04Z") }
