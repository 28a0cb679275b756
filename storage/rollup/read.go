package rollup

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Query asks for the values of series of one metric.
type Query struct {
	Interval *Interval
	// Group asks for the values of groups of series. The default interval has only these.
	Group bool
	// Aggregations are those that made the values, in lower case; none with the default interval.
	Aggregations []string
	TSUIDs       [][]byte // each once, of one metric
	From, To     uint32   // seconds, inclusive: of all rows that may have a value in this time all values are read
	MaxValues    int      // more are an ErrLimit; 0: no limit
}

// A Value is one value of a series.
type Value struct {
	Time  int64 // of the begin of the interval, milliseconds
	Point schema.Point
	stamp int64 // of the cell
}

// valueBytes is what the budget counts for a value.
const valueBytes = 64

// Read returns the values of each series of the query by each of its aggregations, ascending in time:
// [series][aggregation]. Of two of one instant it returns the one that was written last.
func (r *Rollups) Read(ctx context.Context, q Query) ([][][]Value, error) {
	if err := r.o.Ready(); err != nil {
		return nil, err
	}
	if len(q.TSUIDs) == 0 {
		return nil, nil
	}
	w := &valueReader{reader: newReader(r, q), values: make([][][]Value, len(q.TSUIDs))}
	w.cell = w.value
	for _, name := range q.Aggregations {
		id, ok := r.o.Config.IDs[name]
		if !ok {
			return nil, fmt.Errorf("%w: No ID found mapping to aggregator: %s", storage.ErrInvalid, name)
		}
		w.ids = append(w.ids, id)
	}
	for i := range w.values {
		w.values[i] = make([][]Value, max(1, len(w.ids)))
	}
	if err := w.read(ctx); err != nil {
		return nil, err
	}
	for _, of := range w.values {
		for i := range of {
			of[i] = newest(of[i])
		}
	}
	return w.values, nil
}

// newest sorts values by time, and leaves the newest one of each instant.
func newest(values []Value) []Value {
	slices.SortStableFunc(values, func(a, b Value) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), -cmp.Compare(a.stamp, b.stamp))
	})
	return slices.CompactFunc(values, func(a, b Value) bool { return a.Time == b.Time })
}

// A valueReader reads the values of a query.
type valueReader struct {
	*reader
	ids    []byte
	values [][][]Value
}

// A reader reads the rows of a query.
type reader struct {
	rollups *Rollups
	q       Query
	// cell takes a cell of one of the series, whose row begins at a base time in milliseconds.
	cell  func(series int, base int64, c kv.Cell) error
	at    map[string]int // the series by their TSUIDs
	count int            // values
	tsuid []byte
}

func newReader(r *Rollups, q Query) *reader {
	w := &reader{rollups: r, q: q, at: make(map[string]int, len(q.TSUIDs))}
	for i, tsuid := range q.TSUIDs {
		w.at[string(tsuid)] = i
	}
	return w
}

// maxGets is how many rows are read by their keys. A scan reads the rows of the metric's other series
// too, but many more in a second.
const maxGets = 4096

func (w *reader) read(ctx context.Context) error {
	l, from, to := w.rollups.o.Layout, w.q.Interval.RowStart(w.q.From), w.q.Interval.RowStart(w.q.To)
	if bases := w.bases(from, to); len(bases)*len(w.q.TSUIDs) <= maxGets {
		return w.get(ctx, bases)
	}
	metric := string(w.q.TSUIDs[0][:l.MetricWidth])
	for bucket := range l.Buckets() {
		for found, err := range w.rollups.o.DB.Scan(ctx, row.ScanMetric(l, w.table(), bucket, metric, from, to)) {
			if err == nil {
				err = w.take(ctx, found)
			}
			if err != nil {
				return w.failed(err)
			}
		}
	}
	return nil
}

func (w *reader) table() string { return w.q.Interval.TableOf(w.q.Group) }

func (w *reader) failed(err error) error {
	return fmt.Errorf("read the rollup table %s: %w", w.table(), err)
}

// bases returns the base times of rows from one to another, at most one more than are got.
func (w *reader) bases(from, to uint32) (bases []uint32) {
	for at := from; at <= to && len(bases) <= maxGets; {
		bases = append(bases, at)
		next := w.q.Interval.NextRow(at)
		if next == math.MaxUint32 {
			break
		}
		at = next
	}
	return bases
}

// get reads rows by their keys.
func (w *reader) get(ctx context.Context, bases []uint32) error {
	const atOnce = 256
	keys := make([][]byte, 0, len(bases)*len(w.q.TSUIDs))
	for _, tsuid := range w.q.TSUIDs {
		for _, base := range bases {
			keys = append(keys, w.rollups.o.Layout.AppendRowKey(nil, tsuid, base))
		}
	}
	for some := range slices.Chunk(keys, atOnce) {
		rows, err := w.rollups.o.DB.Get(ctx, w.table(), schema.FamilyData, some)
		if err != nil {
			return w.failed(err)
		}
		for _, row := range rows {
			if err := w.take(ctx, row); err != nil {
				return w.failed(err)
			}
		}
	}
	return nil
}

// countsOf counts a row that was asked for or gone over.
func countsOf(row kv.Row) query.Counts {
	c := query.Counts{Asked: 1, Cells: int64(len(row.Cells))}
	if len(row.Cells) > 0 {
		c.Rows = 1
	}
	for _, cell := range row.Cells {
		c.Bytes += int64(len(cell.Qualifier) + len(cell.Value))
	}
	return c
}

// take takes the values of a row, if it is one of a series of the query.
func (w *reader) take(ctx context.Context, row kv.Row) error {
	query.TallyOf(ctx).Add(query.Rollup, countsOf(row))
	if len(row.Cells) == 0 {
		return nil
	}
	key, err := w.rollups.o.Layout.ParseRowKey(row.Key)
	if err != nil {
		return err
	}
	w.tsuid = key.AppendTSUID(w.tsuid[:0])
	i, ok := w.at[string(w.tsuid)]
	if !ok {
		return query.TurnOf(ctx).Yield(ctx)
	}
	before := w.count
	for _, c := range row.Cells {
		if err := w.cell(i, int64(key.Base)*1000, c); err != nil {
			return w.rollups.unreadable(schema.RollupFault(w.rollups.o.Layout, w.table(), row.Key, schema.CellError{Qualifier: c.Qualifier, Err: err}))
		}
	}
	if w.q.MaxValues > 0 && w.count > w.q.MaxValues {
		return fmt.Errorf("%w: more than %d values of a rollup table", storage.ErrLimit, w.q.MaxValues)
	}
	if err := query.AccountOf(ctx).Take(int64(w.count-before) * valueBytes); err != nil {
		return err
	}
	return query.TurnOf(ctx).Yield(ctx)
}

// value takes the values of a cell.
func (w *valueReader) value(series int, base int64, c kv.Cell) error {
	values := w.values[series]
	if w.q.Interval.Default {
		if schema.ClassifyCell(c.Qualifier) != schema.CellData {
			return nil
		}
		points, err := schema.DecodeData(nil, c.Qualifier, c.Value)
		for _, p := range points {
			values[0] = append(values[0], Value{Time: base + int64(p.Offset), Point: p, stamp: c.Time})
		}
		w.count += len(points)
		return err
	}
	for n, name := range w.q.Aggregations {
		interval, p, ok, err := schema.ParseRollup(c.Qualifier, c.Value, w.ids[n], name)
		if err != nil {
			return err
		}
		if ok {
			values[n] = append(values[n], Value{Time: base + int64(interval)*int64(w.q.Interval.Seconds)*1000, Point: p, stamp: c.Time})
			w.count++
		}
	}
	return nil
}
