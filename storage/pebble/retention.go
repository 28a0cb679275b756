package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A KeyRange is the row keys from From up to, but without, To.
type KeyRange struct{ From, To []byte }

func (r *KeyRange) check() error {
	// An end left out by mistake must not empty the table.
	if len(r.To) == 0 || bytes.Compare(r.From, r.To) >= 0 {
		return fmt.Errorf("%w: range of row keys from %x to %x", kv.ErrInvalid, r.From, r.To)
	}
	return nil
}

// DeleteRange deletes all rows in the ranges, in all families of a table, and returns when that is durable; all of it happens or nothing. It
// costs about a microsecond a range, however many rows there are: a range in which no row is left costs one look and no write, so it may be
// called again and again. Space comes back as compactions come by. Rows that are written while it runs may be deleted or not; those written
// later stay.
func (e *Engine) DeleteRange(ctx context.Context, table string, ranges ...KeyRange) error {
	if err := e.deleteRanges(ctx, table, ranges); err != nil {
		return fmt.Errorf("delete %d ranges of %s: %w", len(ranges), table, err)
	}
	return nil
}

func (e *Engine) deleteRanges(ctx context.Context, table string, ranges []KeyRange) (err error) {
	for i := range ranges {
		if err := ranges[i].check(); err != nil {
			return err
		}
	}
	ids, err := e.beginTable(ctx, table)
	if err != nil {
		return err
	}
	defer e.leave()
	batch := e.db.NewBatch()
	defer func() { err = errors.Join(err, batch.Close()) }()
	for _, id := range ids {
		if err := e.deleteHeld(ctx, batch, id, ranges); err != nil {
			return err
		}
	}
	if batch.Empty() {
		return nil
	}
	return e.commit(batch, e.durability)
}

// deleteHeld adds the deletion of those ranges that have rows.
func (e *Engine) deleteHeld(ctx context.Context, batch *pebble.Batch, id byte, ranges []KeyRange) (err error) {
	it, err := e.db.NewIter(&pebble.IterOptions{LowerBound: []byte{id}, UpperBound: []byte{id + 1}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for n := range ranges {
		if err := e.pause(ctx, n); err != nil {
			return err
		}
		from, to := rowKey(id, ranges[n].From), rowKey(id, ranges[n].To)
		if !it.SeekGE(from) || bytes.Compare(it.Key(), to) >= 0 {
			if err := it.Error(); err != nil {
				return err
			}
			continue
		}
		if err := batch.DeleteRange(from, to, nil); err != nil {
			return err
		}
	}
	return nil
}

// beginTable enters an operation on all families of a table; without an error the caller must leave.
func (e *Engine) beginTable(ctx context.Context, table string) (ids []byte, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for name, id := range e.families {
		if name.table == table {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("%w: %s", kv.ErrNoTable, table)
	}
	return ids, e.enter()
}

// Compact folds and sorts all rows of a table into the least space, without holding anybody up; it may take minutes.
func (e *Engine) Compact(ctx context.Context, table string) error {
	ids, err := e.beginTable(ctx, table)
	if err != nil {
		return fmt.Errorf("compact %s: %w", table, err)
	}
	defer e.leave()
	for _, id := range ids {
		if err := e.db.Compact(ctx, []byte{id}, []byte{id + 1}, false); err != nil {
			return fmt.Errorf("compact %s: %w", table, err)
		}
	}
	return nil
}
