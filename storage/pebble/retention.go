package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// fewRows is up to how many rows of a range are deleted one by one. The deletion of a range as such
// is checked by every read near it until compactions have removed it, and dotted names have a
// metric each, with one row an hour.
const fewRows = 4

// DeleteRange implements kv.Local. It costs about a microsecond a range, however many rows there
// are: an empty range costs one seek and no write, so DeleteRange may be repeated. Later
// compactions free the space.
func (e *Engine) DeleteRange(ctx context.Context, table string, ranges ...kv.KeyRange) (held int, err error) {
	if held, err = e.deleteRanges(ctx, table, ranges); err != nil {
		return 0, fmt.Errorf("delete %d ranges of %s: %w", len(ranges), table, explain(err))
	}
	return held, nil
}

func (e *tableRows) deleteRanges(ctx context.Context, table string, ranges []kv.KeyRange) (held int, err error) {
	for i := range ranges {
		if err := ranges[i].Check(); err != nil {
			return 0, err
		}
	}
	ids, err := e.beginTable(ctx, table)
	if err != nil {
		return 0, err
	}
	defer e.leave()
	batch := e.db().NewBatch()
	defer func() { err = errors.Join(err, batch.Close()) }()
	for _, id := range ids {
		n, err := e.deleteHeld(ctx, batch, id, ranges)
		if err != nil {
			return 0, err
		}
		held += n
	}
	if batch.Empty() {
		return 0, nil
	}
	return held, e.commit(batch, e.durability)
}

// deleteHeld adds the deletion of those ranges that have rows, and counts them.
func (e *tableRows) deleteHeld(ctx context.Context, batch *pebble.Batch, id byte, ranges []kv.KeyRange) (held int, err error) {
	it, err := e.db().NewIter(&pebble.IterOptions{LowerBound: []byte{id}, UpperBound: []byte{id + 1}})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	for n := range ranges {
		if err := e.pause(ctx, n); err != nil {
			return 0, err
		}
		found, err := deleteRows(it, batch, rowKey(id, ranges[n].From), rowKey(id, ranges[n].To))
		if err != nil {
			return 0, err
		}
		if found {
			held++
		}
	}
	return held, nil
}

// deleteRows adds the deletion of one range, and reports whether it has rows.
func deleteRows(it *pebble.Iterator, batch *pebble.Batch, from, to []byte) (found bool, err error) {
	var few [][]byte
	for ok := it.SeekGE(from); ok && bytes.Compare(it.Key(), to) < 0; ok = it.Next() {
		if len(few) == fewRows {
			return true, batch.DeleteRange(from, to, nil)
		}
		few = append(few, bytes.Clone(it.Key()))
	}
	if err := it.Error(); err != nil {
		return false, err
	}
	for _, key := range few {
		if err := batch.Delete(key, nil); err != nil {
			return false, err
		}
	}
	return len(few) > 0, nil
}

// beginTable enters a change of all families of a table; without an error the caller must leave.
func (e *tableRows) beginTable(ctx context.Context, table string) (ids []byte, err error) {
	if err := errors.Join(ctx.Err(), e.space.reading()); err != nil {
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

// Compact folds and sorts all rows of a table into the least space. Reads and writes go on; it may
// take minutes. It ends with storage.ErrFull when the disk has no space for it, and may be repeated: what it did stays.
func (e *Engine) Compact(ctx context.Context, table string) error {
	ids, err := e.beginTable(ctx, table)
	if err != nil {
		return fmt.Errorf("compact %s: %w", table, err)
	}
	e.begins.Load().release()
	err = e.space.orFail(ctx, quartersCompact, func(ctx context.Context) error {
		defer e.leave()
		for _, id := range ids {
			if err := errors.Join(ctx.Err(), e.space.waits()); err != nil {
				return err
			}
			if err := e.db().Compact(ctx, []byte{id}, []byte{id + 1}, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("compact %s: %w", table, explain(err))
	}
	return nil
}
