package rollup

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// deletedAtOnce is how many rows are changed by one request.
const deletedAtOnce = 1000

// Delete deletes the values of series whose whole intervals lie between two times (milliseconds,
// inclusive), in all tables, durably. TSUIDs are of any metrics. After an error some may be deleted.
func (r *Rollups) Delete(ctx context.Context, tsuids [][]byte, start, end int64) error {
	metrics := map[string]map[string]bool{}
	for _, tsuid := range tsuids {
		metric := string(tsuid[:r.o.Layout.MetricWidth])
		if metrics[metric] == nil {
			metrics[metric] = map[string]bool{}
		}
		metrics[metric][string(tsuid)] = true
	}
	for i := range r.o.Config.Intervals {
		interval := &r.o.Config.Intervals[i]
		for _, group := range []bool{false, true} {
			if interval.Default && !group {
				continue // the points themselves
			}
			for metric, of := range metrics {
				d := deletion{rollups: r, interval: interval, table: interval.TableOf(group), of: of, start: start, end: end}
				if err := d.metric(ctx, metric); err != nil {
					return fmt.Errorf("delete from the rollup table %s: %w", d.table, err)
				}
			}
		}
	}
	return nil
}

// A deletion deletes from one table.
type deletion struct {
	rollups    *Rollups
	interval   *Interval
	table      string
	of         map[string]bool // TSUIDs
	start, end int64           // milliseconds
	rows       []kv.Mutation
	tsuid      []byte
}

func (d *deletion) metric(ctx context.Context, metric string) error {
	l := d.rollups.o.Layout
	first, last := Point{Interval: d.interval, Time: uint32(max(0, d.start) / 1000)}, Point{Interval: d.interval, Time: uint32(d.end / 1000)}
	for bucket := range l.Buckets() {
		scan := kv.Scan{
			Table: d.table, Family: schema.FamilyData,
			Start: l.AppendRangeKey(nil, bucket, []byte(metric), first.base()), Stop: l.AppendRangeKey(nil, bucket, []byte(metric), last.base()+1),
		}
		for row, err := range d.rollups.o.DB.Scan(ctx, scan) {
			if err == nil {
				err = d.row(row)
			}
			if err == nil && len(d.rows) >= deletedAtOnce {
				err = d.apply(ctx)
			}
			if err != nil {
				return err
			}
		}
	}
	return d.apply(ctx)
}

// row notes what to delete of a row.
func (d *deletion) row(row kv.Row) error {
	key, err := d.rollups.o.Layout.ParseRowKey(row.Key)
	if err != nil {
		return err
	}
	if d.tsuid = key.AppendTSUID(d.tsuid[:0]); !d.of[string(d.tsuid)] {
		return nil
	}
	m := kv.Mutation{Key: row.Key}
	for _, c := range row.Cells {
		if begin, length, ok := d.spanOf(int64(key.Base)*1000, c.Qualifier); ok && begin >= d.start && begin+length-1 <= d.end {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
		}
	}
	if len(m.Deletes) > 0 {
		d.rows = append(d.rows, m)
	}
	return nil
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

func (d *deletion) apply(ctx context.Context) error {
	if len(d.rows) == 0 {
		return nil
	}
	err := d.rollups.o.DB.Apply(ctx, d.table, schema.FamilyData, d.rows)
	d.rows = d.rows[:0]
	return err
}
