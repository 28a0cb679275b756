package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Delete deletes the slots of series that lie between two times (milliseconds, inclusive) as a whole,
// durably. TSUIDs are of any metrics. After an error some may be deleted.
func (a *Archives) Delete(ctx context.Context, tsuids [][]byte, start, end int64) error {
	metrics := map[string]map[string]bool{}
	for _, tsuid := range tsuids {
		metric := string(tsuid[:a.o.Layout.MetricWidth])
		if metrics[metric] == nil {
			metrics[metric] = map[string]bool{}
		}
		metrics[metric][string(tsuid)] = true
	}
	a.deleting.Lock()
	defer a.deleting.Unlock()
	for metric, of := range metrics {
		d := deletion{archives: a, of: of, start: max(start, 0), end: end}
		if err := d.metric(ctx, []byte(metric)); errors.Is(err, kv.ErrNoTable) {
			return nil // nothing was ever put
		} else if err != nil {
			return fmt.Errorf("delete archives: %w", err)
		}
	}
	return nil
}

// A deletion deletes slots of series of one metric.
type deletion struct {
	archives   *Archives
	of         map[string]bool // TSUIDs
	start, end int64           // milliseconds
	rows       []kv.Mutation
	tsuid      []byte
	encoder    schema.ColumnEncoder
	decoder    schema.ColumnDecoder
}

// metric looks at all rows of a metric that begin before the end: how far one reaches depends on its step.
func (d *deletion) metric(ctx context.Context, metric []byte) error {
	o := &d.archives.o
	last := uint32(min(d.end/1000, 1<<32-2))
	for bucket := range o.Layout.Buckets() {
		scan := kv.Scan{
			Table: o.Table, Family: schema.FamilyData,
			Start: o.Layout.AppendRangeKey(nil, bucket, metric, 0), Stop: o.Layout.AppendRangeKey(nil, bucket, metric, last+1),
		}
		for row, err := range o.DB.Scan(ctx, scan) {
			if err == nil {
				err = d.row(row)
			}
			if err == nil && len(d.rows) >= rowsAtOnce {
				err = d.apply(ctx)
			}
			if err != nil {
				return err
			}
		}
	}
	return d.apply(ctx)
}

// row notes what to change of a row.
func (d *deletion) row(row kv.Row) error {
	key, err := d.archives.o.Layout.ParseRowKey(row.Key)
	if err != nil {
		return err
	}
	if d.tsuid = key.AppendTSUID(d.tsuid[:0]); !d.of[string(d.tsuid)] {
		return nil
	}
	m := kv.Mutation{Key: row.Key}
	for _, c := range row.Cells {
		step, ok := schema.ArchiveStep(c.Qualifier)
		if !ok {
			continue
		}
		if whole := int64(step) * schema.ArchiveSlots * 1000; d.start <= int64(key.Base)*1000 && int64(key.Base)*1000+whole-1 <= d.end {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
			continue
		}
		left, changed, err := d.left(c.Value, key.Base, step)
		switch {
		case err != nil:
			return fmt.Errorf("row %X: %w", row.Key, err)
		case changed && left == nil:
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
		case changed:
			m.Puts = append(m.Puts, kv.Put{Qualifier: c.Qualifier, Value: left})
		}
	}
	if len(m.Puts)+len(m.Deletes) > 0 {
		d.rows = append(d.rows, m)
	}
	return nil
}

// left returns a cell without the slots that are deleted; nil: none are left.
func (d *deletion) left(cell []byte, base, step uint32) (left []byte, changed bool, err error) {
	times, values, err := d.decoder.AppendArchive(nil, nil, cell, base, step)
	if err != nil {
		return nil, false, err
	}
	n := 0
	for i, t := range times {
		if t*1000 >= d.start && (t+int64(step))*1000-1 <= d.end {
			continue
		}
		times[n], values[n] = t, values[i]
		n++
	}
	if n == 0 || n == len(times) {
		return nil, n == 0, nil
	}
	return d.encoder.AppendArchive(nil, times[:n], values[:n], base, step), true, nil
}

func (d *deletion) apply(ctx context.Context) error {
	if len(d.rows) == 0 {
		return nil
	}
	err := d.archives.o.DB.Apply(ctx, d.archives.o.Table, schema.FamilyData, d.rows)
	d.rows = d.rows[:0]
	return err
}
