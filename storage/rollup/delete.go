package rollup

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// deletedAtOnce is how many rows are changed by one request.
const deletedAtOnce = 1000

// Delete deletes the values of series whose whole intervals lie between two times (milliseconds,
// inclusive), in all tables, durably. On shared tables values with a later stamp than until
// (milliseconds) stay. TSUIDs are of any metrics. After an error some may be deleted.
func (r *Rollups) Delete(ctx context.Context, tsuids [][]byte, start, end, until int64) error {
	metrics := row.ByMetric(r.o.Layout, tsuids)
	for i := range r.o.Config.Intervals {
		interval := &r.o.Config.Intervals[i]
		for _, group := range []bool{false, true} {
			if !interval.Keeps(group) {
				continue // the points themselves
			}
			for metric, of := range metrics {
				d := deletion{interval: interval, start: start, end: end, until: until}
				rewrite := row.Rewrite{
					DB: r.o.DB, Layout: r.o.Layout, Table: interval.TableOf(group), Metric: metric, Of: of,
					Lo: interval.RowStart(uint32(max(0, start) / 1000)), Hi: interval.RowStart(uint32(end / 1000)), AtOnce: deletedAtOnce, Change: d.change,
				}
				if err := rewrite.Run(ctx); err != nil {
					return fmt.Errorf("delete from the rollup table %s: %w", rewrite.Table, err)
				}
			}
		}
	}
	return nil
}

// A deletion deletes the values of an interval that lie between two times.
type deletion struct {
	interval   *Interval
	start, end int64 // milliseconds
	until      int64 // stamps of cells on shared tables, milliseconds
}

// change returns what to delete of a row.
func (d *deletion) change(base uint32, row kv.Row) (m kv.Mutation, err error) {
	for _, c := range row.Cells {
		if begin, length, ok := d.spanOf(int64(base)*1000, c.Qualifier); ok && begin >= d.start && begin+length-1 <= d.end && c.Time <= d.until {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier, Time: c.Time})
		}
	}
	return m, nil
}

// spanOf returns the interval of a cell's value, in milliseconds.
func (d *deletion) spanOf(base int64, qualifier []byte) (begin, length int64, ok bool) {
	if d.interval.Default {
		offset, ok := schema.OffsetOf(qualifier)
		return base + int64(offset), 1, ok
	}
	n, ok := schema.RollupInterval(qualifier)
	length = int64(d.interval.Seconds) * 1000
	return base + int64(n)*length, length, ok
}
