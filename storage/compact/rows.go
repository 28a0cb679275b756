package compact

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
	// unreadAtOnce is rowsAtOnce for rows whose cells are not counted before.
	unreadAtOnce = 128
	// attempts is how often a row that others keep changing is read again.
	attempts = 3
)

// tally is what a pass did.
type tally struct{ read, rows, removed, before, after, damaged int64 }

// metric compacts the rows of a metric, from a key on.
func (p *pass) metric(ctx context.Context, rows schema.MetricRange, from []byte) error {
	scan := kv.Scan{Table: p.o.Data, Family: schema.FamilyData, Start: rows.From, Stop: rows.To, Since: p.since}
	if bytes.Compare(from, scan.Start) > 0 {
		scan.Start = from
	}
	if len(p.stop) > 0 && bytes.Compare(p.stop, scan.Stop) < 0 {
		scan.Stop = p.stop
	}
	if bytes.Compare(scan.Start, scan.Stop) >= 0 {
		return nil
	}
	quiet := p.o.Now().Add(-p.o.Quiet).UnixMilli()
	for {
		next, err := p.some(ctx, scan, quiet)
		if err != nil || next == nil {
			return err
		}
		if err := p.reach(ctx, next); err != nil {
			return err
		}
		scan.Start = next
	}
}

// some compacts rows from the start of a scan and returns where to continue; nil at its end. Where
// most rows are to be compacted, it reads only their keys before it reads them with their past. A
// walk does so always, because its scan shows only some cells of a row.
func (p *pass) some(ctx context.Context, scan kv.Scan, quiet int64) (next []byte, err error) {
	most, begun := rowsAtOnce, p.brake.begin()
	if p.dense = p.dense || p.walks(); p.dense {
		scan.KeysOnly = true
		most, scan.Limit = unreadAtOnce, unreadAtOnce
	}
	var keys [][]byte
	rows, cells := 0, 0
	for r, err := range p.o.DB.Scan(ctx, scan) {
		if err != nil {
			return nil, fmt.Errorf("read closed rows: %w", err)
		}
		rows, cells = rows+1, cells+len(r.Cells)
		if verdict := row.Judge(r.Cells, quiet); !p.dense && verdict != row.Compacted {
			p.left(verdict)
			continue
		}
		if keys = append(keys, r.Key); len(keys) == most || cells >= cellsAtOnce {
			next = append(bytes.Clone(r.Key), 0)
			break
		}
	}
	p.done.read += int64(rows)
	p.metrics.read.Add(float64(rows))
	if p.walks() {
		if err := p.brake.end(ctx, begun, nil); err != nil {
			return nil, err
		}
	}
	changed, err := p.compact(ctx, keys)
	if rows > 0 {
		p.dense = 2*changed >= rows
	}
	return next, err
}

// compact reads rows with their past and changes them, and returns how many were to be changed. A
// row that others changed in between is read again.
func (p *pass) compact(ctx context.Context, keys [][]byte) (changed int, err error) {
	for attempt := range attempts {
		if len(keys) == 0 {
			break
		}
		begun := p.brake.begin()
		changes, err := p.changes(ctx, keys)
		if err != nil || len(changes) == 0 {
			return changed, err
		}
		if attempt == 0 {
			changed = len(changes)
		}
		if keys, err = p.apply(ctx, changes); err != nil {
			return changed, err
		}
		if err := p.brake.end(ctx, begun, changes); err != nil {
			return changed, err
		}
	}
	return changed, nil // rows that are left are looked at again a day later
}

// apply makes changes and returns the keys of the rows that others have changed since they were
// read.
func (p *pass) apply(ctx context.Context, changes []row.Compaction) (again [][]byte, err error) {
	conditionals := make([]kv.Conditional, len(changes))
	for i := range changes {
		conditionals[i] = changes[i].Conditional
	}
	made, err := p.o.DB.Versioned.ApplyUnchanged(ctx, p.o.Data, schema.FamilyData, conditionals)
	if err != nil {
		return nil, fmt.Errorf("compact %d closed rows: %w", len(changes), err)
	}
	for i := range changes {
		if made[i] {
			p.count(&changes[i])
		} else {
			again = append(again, changes[i].Key)
			p.metrics.changed.Inc()
		}
	}
	return again, nil
}

// changes reads rows with their past and returns what is to be changed.
func (p *pass) changes(ctx context.Context, keys [][]byte) ([]row.Compaction, error) {
	past, err := p.o.DB.Versioned.History(ctx, p.o.Data, schema.FamilyData, keys)
	if err != nil {
		return nil, fmt.Errorf("read %d closed rows with their past: %w", len(keys), err)
	}
	quiet := p.o.Now().Add(-p.o.Quiet).UnixMilli()
	var changes []row.Compaction
	for i := range past {
		change, verdict := p.reconciler.Compact(&past[i], quiet, row.UniformSpan)
		if verdict == row.Compacted {
			changes = append(changes, change)
		}
		p.left(verdict)
	}
	return changes, nil
}

// left counts a row that is not changed, by the reason.
func (p *pass) left(verdict row.Verdict) {
	switch verdict {
	case row.Compacted, row.Compact:
	case row.Busy:
		p.metrics.busy.Inc()
	case row.Foreign:
		p.metrics.foreign.Inc()
	case row.Damaged:
		p.metrics.damaged.Inc()
		p.done.damaged++
	}
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
