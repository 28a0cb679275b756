package rollup

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// A Part is the values of one interval in one table. Where an interval keeps the values of series and of groups in
// one table, the part has both.
type Part struct {
	Interval *Interval
	Table    string
}

// String names the part; the name stays while the configuration does.
func (p Part) String() string { return p.Interval.Name + " of " + p.Table }

// Series reports whether values of single series stand in the part, and Groups whether those of groups do.
func (p Part) Series() bool { return !p.Interval.Default && p.Table == p.Interval.Table }

// Groups is described with Series.
func (p Part) Groups() bool { return p.Table == p.Interval.PreAggregated }

// Parts returns all parts, the longest interval first.
func (c *Config) Parts() (parts []Part) {
	for n := range c.Intervals {
		i := &c.Intervals[n]
		if i.Keeps(false) {
			parts = append(parts, Part{i, i.Table})
		}
		if i.Keeps(true) && (i.Default || i.PreAggregated != i.Table) {
			parts = append(parts, Part{i, i.PreAggregated})
		}
	}
	return parts
}

// A SeriesRow is the values of one series in one row.
type SeriesRow struct {
	TSUID  []byte // valid until the next row
	Values []MadeValue
	// LeftOut counts values that cannot be told, and Reason says why the first one cannot.
	LeftOut int
	Reason  string
}

// A MadeValue is a value and the aggregation that made it, in lower case; "" with the default interval.
type MadeValue struct {
	Aggregation string
	Value
}

// lastBase comes after the base times of all rows.
const lastBase = math.MaxUint32 - 1

// Rows gives the rows of a metric, by its UID, that begin from one time to another (seconds, inclusive), in the order of
// their keys, and of each row its values: by their aggregations and times, of two of one instant the one that was written last.
// Windows, which package fill makes anew from points, are not among them.
func (r *Rollups) Rows(ctx context.Context, p Part, metric string, from, to uint32) iter.Seq2[SeriesRow, error] {
	return func(give func(SeriesRow, error) bool) {
		if err := r.o.Ready(); err != nil {
			give(SeriesRow{}, err)
			return
		}
		w := newRowReader(r.o.Config, p)
		for bucket := range r.o.Layout.Buckets() {
			for found, err := range r.o.DB.Scan(ctx, row.ScanMetric(r.o.Layout, p.Table, bucket, metric, from, min(to, lastBase))) {
				var one SeriesRow
				if err == nil {
					one, err = w.decode(r.o.Layout, found)
				}
				if err != nil {
					give(SeriesRow{}, fmt.Errorf("read the rollup table %s: %w", p.Table, err))
					return
				}
				if !give(one, nil) {
					return
				}
			}
		}
	}
}

// First returns the base time of the first row of a metric, by its UID, that begins at a time (seconds) or later; ok is
// false if there is none.
func (r *Rollups) First(ctx context.Context, p Part, metric string, from uint32) (base uint32, ok bool, err error) {
	if err := r.o.Ready(); err != nil {
		return 0, false, err
	}
	for bucket := range r.o.Layout.Buckets() {
		scan := row.ScanMetric(r.o.Layout, p.Table, bucket, metric, from, lastBase)
		scan.KeysOnly, scan.Limit = true, 1
		for found, err := range r.o.DB.Scan(ctx, scan) {
			if err != nil {
				return 0, false, fmt.Errorf("find the next row of the rollup table %s: %w", p.Table, err)
			}
			key, err := r.o.Layout.ParseRowKey(found.Key)
			if err != nil {
				return 0, false, err
			}
			if !ok || key.Base < base {
				base, ok = key.Base, true
			}
		}
	}
	return base, ok, nil
}

// Filled returns the names of the tables that have a row, in their order.
func (r *Rollups) Filled(ctx context.Context) (tables []string, err error) {
	if err := r.o.Ready(); err != nil {
		return nil, err
	}
	for _, table := range r.o.Config.Tables() {
		for _, err := range r.o.DB.Scan(ctx, kv.Scan{Table: table, Family: schema.FamilyData, KeysOnly: true, Limit: 1}) {
			if err != nil {
				return nil, fmt.Errorf("look into the rollup table %s: %w", table, err)
			}
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// A rowReader decodes rows of a part.
type rowReader struct {
	part   Part
	config *Config
	shared bool        // other parts have the table, too
	names  [256]string // of the aggregations, by their ids
	points []schema.Point
	row    SeriesRow
}

func newRowReader(c *Config, p Part) *rowReader {
	w := &rowReader{part: p, config: c}
	for name, id := range c.IDs {
		w.names[id] = name
	}
	for _, other := range c.Parts() {
		w.shared = w.shared || other.Table == p.Table && other.Interval != p.Interval
	}
	return w
}

// decode returns the values of a row. They are valid until the next call.
func (w *rowReader) decode(l schema.Layout, found kv.Row) (SeriesRow, error) {
	key, err := l.ParseRowKey(found.Key)
	if err != nil {
		return SeriesRow{}, err
	}
	w.row = SeriesRow{TSUID: key.AppendTSUID(w.row.TSUID[:0]), Values: w.row.Values[:0]}
	for _, c := range found.Cells {
		if w.part.Interval.Default {
			w.group(key.Base, c)
		} else {
			w.cell(key.Base, c)
		}
	}
	w.row.Values = newestMade(w.row.Values)
	return w.row, nil
}

// group adds the values of a cell of the default interval.
func (w *rowReader) group(base uint32, c kv.Cell) {
	if schema.ClassifyCell(c.Qualifier) != schema.CellData {
		return
	}
	var err error
	if w.points, err = schema.DecodeData(w.points[:0], c.Qualifier, c.Value); err != nil {
		w.leaveOut(err.Error())
		return
	}
	for _, p := range w.points {
		w.row.Values = append(w.row.Values, MadeValue{"", Value{Time: int64(base)*1000 + int64(p.Offset), Point: p, stamp: c.Time}})
	}
}

// cell adds the value of a cell.
func (w *rowReader) cell(base uint32, c kv.Cell) {
	number, ok := schema.RollupInterval(c.Qualifier)
	if !ok {
		return // no reader sees it
	}
	var name string
	var id byte
	if len(c.Qualifier) == 3 {
		id = c.Qualifier[0]
		if name = w.names[id]; name == "" {
			if id != own.WindowAggregation {
				w.leaveOut(fmt.Sprintf("no aggregation has the id %d", id))
			}
			return
		}
	} else {
		name = string(c.Qualifier[:bytes.IndexByte(c.Qualifier, ':')])
		if id, ok = w.config.IDs[name]; !ok {
			w.leaveOut(fmt.Sprintf("no aggregation is named %q", name))
			return
		}
	}
	i := w.part.Interval
	at := int64(base) + int64(number)*int64(i.Seconds)
	if i.RowStart(base) != base || at >= int64(i.NextRow(base)) {
		if !w.shared { // it is of another interval
			w.leaveOut(fmt.Sprintf("interval %d is not one of the row at %d", number, base))
		}
		return
	}
	_, p, ok, err := schema.ParseRollup(c.Qualifier, c.Value, id, name)
	switch {
	case err != nil:
		w.leaveOut(err.Error())
	case ok:
		w.row.Values = append(w.row.Values, MadeValue{name, Value{Time: at * 1000, Point: p, stamp: c.Time}})
	}
}

func (w *rowReader) leaveOut(reason string) {
	if w.row.LeftOut++; w.row.LeftOut == 1 {
		w.row.Reason = reason
	}
}

// newestMade sorts values by aggregation and time, and leaves the newest one of each instant.
func newestMade(values []MadeValue) []MadeValue {
	compare := func(a, b MadeValue) int {
		return cmp.Or(strings.Compare(a.Aggregation, b.Aggregation), cmp.Compare(a.Time, b.Time))
	}
	slices.SortStableFunc(values, func(a, b MadeValue) int { return cmp.Or(compare(a, b), -cmp.Compare(a.stamp, b.stamp)) })
	return slices.CompactFunc(values, func(a, b MadeValue) bool { return compare(a, b) == 0 })
}
