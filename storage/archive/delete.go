package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
)

// Delete deletes the slots of series that lie between two times (milliseconds, inclusive) as a whole,
// durably. On shared tables cells with a later stamp than until (milliseconds) stay. TSUIDs are of any
// metrics. After an error some may be deleted.
func (a *Archives) Delete(ctx context.Context, tsuids [][]byte, start, end, until int64) error {
	a.deleting.Lock()
	defer a.deleting.Unlock()
	d := deletion{start: max(start, 0), end: end, until: until}
	for metric, of := range row.ByMetric(a.o.Layout, tsuids) {
		// All rows of a metric that begin before the end: how far one reaches depends on its step.
		rewrite := row.Rewrite{
			DB: a.o.DB, Layout: a.o.Layout, Table: a.o.Table, Metric: metric, Of: of,
			Hi: uint32(min(end/1000, 1<<32-2)), AtOnce: rowsAtOnce, Change: d.change,
		}
		if err := rewrite.Run(ctx); errors.Is(err, kv.ErrNoTable) {
			return nil // nothing was ever put
		} else if err != nil {
			return fmt.Errorf("delete archives: %w", err)
		}
	}
	return nil
}

// A deletion deletes slots that lie between two times.
type deletion struct {
	start, end int64 // milliseconds
	until      int64 // stamps of cells on shared tables, milliseconds
	encoder    columns.Encoder
	decoder    columns.Decoder
}

// change returns what to change of a row.
func (d *deletion) change(base uint32, row kv.Row) (m kv.Mutation, err error) {
	for _, c := range row.Cells {
		step, ok := columns.ArchiveStep(c.Qualifier)
		if !ok || c.Time > d.until {
			continue
		}
		if whole := int64(step) * columns.ArchiveSlots * 1000; d.start <= int64(base)*1000 && int64(base)*1000+whole-1 <= d.end {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
			continue
		}
		left, changed, err := d.left(c.Value, base, step)
		switch {
		case err != nil:
			return m, fmt.Errorf("row %X: %w", row.Key, err)
		case changed && left == nil:
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
		case changed:
			m.Puts = append(m.Puts, kv.Put{Qualifier: c.Qualifier, Value: left})
		}
	}
	return m, nil
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
