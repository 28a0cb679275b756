package closed

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	// rowsAtOnce and cellsAtOnce bound the rows that are read with their past and changed together,
	// by their number and the number of their cells.
	rowsAtOnce  = 256
	cellsAtOnce = 1 << 15
	// attempts is how often a row that others change meanwhile is read again.
	attempts = 3
)

// tally is what a pass did.
type tally struct{ read, rows, removed, before, after, damaged int64 }

// metric compacts the rows of a metric, from a key on.
func (p *pass) metric(ctx context.Context, rows schema.MetricRange, from []byte) error {
	scan := kv.Scan{Table: p.o.Data, Family: schema.FamilyData, Start: rows.From, Stop: rows.To}
	if bytes.Compare(from, scan.Start) > 0 {
		scan.Start = from
	}
	if len(p.stop) > 0 && bytes.Compare(p.stop, scan.Stop) < 0 {
		scan.Stop = p.stop
	}
	if bytes.Compare(scan.Start, scan.Stop) >= 0 {
		return nil
	}
	var keys [][]byte
	cells := 0
	since := p.o.Now().Add(-p.o.Quiet).UnixMilli()
	for r, err := range p.o.DB.Scan(ctx, scan) {
		if err != nil {
			return fmt.Errorf("read closed rows: %w", err)
		}
		p.done.read++
		p.metrics.read.Inc()
		if !row.Compactable(r.Cells, since) {
			continue
		}
		keys, cells = append(keys, r.Key), cells+len(r.Cells)
		if len(keys) < rowsAtOnce && cells < cellsAtOnce {
			continue
		}
		if err := p.compact(ctx, keys); err != nil {
			return err
		}
		if err := p.reach(ctx, append(bytes.Clone(r.Key), 0)); err != nil {
			return err
		}
		keys, cells = keys[:0], 0
	}
	return p.compact(ctx, keys)
}

// compact reads rows with their past and changes them. A row that others changed in between is read
// again.
func (p *pass) compact(ctx context.Context, keys [][]byte) error {
	for range attempts {
		if len(keys) == 0 {
			return nil
		}
		begun := p.brake.begin()
		changes, err := p.changes(ctx, keys)
		if err != nil || len(changes) == 0 {
			return err
		}
		conditionals := make([]kv.Conditional, len(changes))
		for i := range changes {
			conditionals[i] = changes[i].Conditional
		}
		made, err := p.o.DB.Versioned.ApplyUnchanged(ctx, p.o.Data, schema.FamilyData, conditionals)
		if err != nil {
			return fmt.Errorf("compact %d closed rows: %w", len(changes), err)
		}
		keys = keys[:0]
		cells := 0
		for i := range changes {
			if cells += len(changes[i].Puts) + len(changes[i].Deletes); made[i] {
				p.count(&changes[i])
			} else {
				keys = append(keys, changes[i].Key)
				p.metrics.changed.Inc()
			}
		}
		if err := p.brake.end(ctx, begun, cells); err != nil {
			return err
		}
	}
	return nil // those that are left are looked at again a day later
}

// changes reads rows with their past and returns what is to be changed.
func (p *pass) changes(ctx context.Context, keys [][]byte) ([]row.Compaction, error) {
	past, err := p.o.DB.Versioned.History(ctx, p.o.Data, schema.FamilyData, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d closed rows with their past: %w", len(keys), err)
	}
	since := p.o.Now().Add(-p.o.Quiet).UnixMilli()
	var changes []row.Compaction
	for i := range past {
		change, verdict := p.reconciler.Compact(&past[i], since, row.UniformSpan)
		switch verdict {
		case row.Compacted:
			changes = append(changes, change)
		case row.Compact:
		case row.Busy:
			p.metrics.busy.Inc()
		case row.Foreign:
			p.metrics.foreign.Inc()
		case row.Damaged:
			p.metrics.damaged.Inc()
			p.done.damaged++
		}
	}
	return changes, nil
}

// count adds a change that was made.
func (p *pass) count(c *row.Compaction) {
	p.done.rows++
	p.done.removed += int64(c.Removed)
	p.done.before += int64(c.Bytes)
	p.done.after += int64(c.After)
	p.metrics.rows.Inc()
	p.metrics.removed.Add(float64(c.Removed))
	p.metrics.before.Add(float64(c.Bytes))
	p.metrics.after.Add(float64(c.After))
}
