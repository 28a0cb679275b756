package pebble

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Apply implements kv.KV. All rows are one batch of the log; the batches of callers that wait at
// once share a sync, and nothing is read. The context is not checked while waiting for the disk.
func (e *Engine) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := e.apply(ctx, table, family, rows); err != nil {
		return fmt.Errorf("apply %d rows to %s: %w", len(rows), table, err)
	}
	return nil
}

// ApplyUnlogged implements kv.Local. A crash leaves some first part of all changes, in the order in
// which they were made, logged or not, each Mutation whole.
func (e *Engine) ApplyUnlogged(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := e.applyWith(ctx, table, family, rows, pebble.NoSync, quartersPut); err != nil {
		return fmt.Errorf("apply %d rows to %s: %w", len(rows), table, err)
	}
	return nil
}

// ApplyCoded implements kv.EncodedWriter, as ApplyUnlogged is.
func (e *Engine) ApplyCoded(ctx context.Context, table, family string, rows []kv.CodedRow) error {
	err := kv.CheckCoded(rows)
	if err == nil {
		err = e.applyBatch(ctx, table, family, pebble.NoSync, quartersPut, func(c *coder, batch *pebble.Batch, id byte, now int64) error {
			for i := range rows {
				if err := c.addCoded(batch, id, &rows[i], now); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err != nil {
		return fmt.Errorf("apply %d coded rows to %s: %w", len(rows), table, err)
	}
	return nil
}

// Flush implements kv.Local. The log is one sequence, so one sync is enough.
func (e *tableRows) Flush(ctx context.Context) error {
	if err := errors.Join(ctx.Err(), e.space.reading()); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	if err := e.enter(); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	defer e.leave()
	if !e.durability.Sync {
		return nil
	}
	defer e.dieOfPanic()
	if err := e.db().LogData(nil, pebble.Sync); err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	return nil
}

func (e *tableRows) apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	return e.applyWith(ctx, table, family, rows, e.durability, quartersWrite)
}

func (e *tableRows) applyWith(
	ctx context.Context, table, family string, rows []kv.Mutation, durability *pebble.WriteOptions, quarters uint64,
) error {
	if err := kv.CheckMutations(rows); err != nil {
		return err
	}
	return e.applyBatch(ctx, table, family, durability, quarters, func(c *coder, batch *pebble.Batch, id byte, now int64) error {
		for i := range rows {
			if err := c.add(batch, id, &rows[i], now); err != nil {
				return err
			}
		}
		return nil
	})
}

// applyBatch commits a batch of what add adds to it for a family at a time.
func (e *tableRows) applyBatch(
	ctx context.Context, table, family string, durability *pebble.WriteOptions, quarters uint64,
	add func(c *coder, batch *pebble.Batch, id byte, now int64) error,
) error {
	if err := e.space.want(quarters); err != nil {
		return err
	}
	id, err := e.begin(ctx, table, family)
	if err != nil {
		return err
	}
	defer e.leave()
	now, err := e.clock.now(e.db())
	if err != nil {
		return err
	}
	batch := e.db().NewBatch()
	if err := e.encode(func(c *coder) error { return add(c, batch, id, now) }); err != nil {
		return errors.Join(err, batch.Close())
	}
	return errors.Join(e.commit(batch, durability), batch.Close())
}

// begin enters an operation on a family; without an error the caller must leave.
func (e *tableRows) begin(ctx context.Context, table, family string) (id byte, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if id, err = e.lookUp(table, family); err != nil {
		return 0, err
	}
	return id, e.enter()
}

// commit applies a batch and, if it is to be durable, waits until it is.
func (e *tableRows) commit(batch *pebble.Batch, durability *pebble.WriteOptions) error {
	defer e.dieOfPanic()
	e.change.RLock()
	if !durability.Sync {
		defer e.change.RUnlock()
		return e.db().Apply(batch, durability)
	}
	err := e.db().ApplyNoSyncWait(batch, durability)
	e.change.RUnlock()
	if err != nil {
		return err
	}
	return batch.SyncWait()
}

// encode calls add with the memory of a coder.
func (e *tableRows) encode(add func(c *coder) error) error {
	c, _ := e.coders.Get().(*coder)
	if c == nil {
		c = new(coder)
	}
	defer e.coders.Put(c)
	return add(c)
}

// Increment implements kv.KV.
func (e *Engine) Increment(ctx context.Context, c kv.Column, delta int64) (int64, error) {
	var sum int64
	_, err := e.modify(ctx, c, func(held []byte, found bool) ([]byte, bool, error) {
		if found {
			if len(held) != 8 {
				return nil, false, fmt.Errorf("%w: counter of %d bytes", kv.ErrInvalid, len(held))
			}
			sum = int64(binary.BigEndian.Uint64(held))
		}
		sum += delta
		return binary.BigEndian.AppendUint64(nil, uint64(sum)), true, nil
	})
	if err != nil {
		return 0, fmt.Errorf("increment %s row %x: %w", c.Table, c.Row, explain(err))
	}
	return sum, nil
}

// CheckAndPut implements kv.KV.
func (e *Engine) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	won, err := e.modify(ctx, c, func(held []byte, found bool) ([]byte, bool, error) {
		return value, found == (expected != nil) && bytes.Equal(held, expected), nil
	})
	if err != nil {
		return false, fmt.Errorf("check and put %s row %x: %w", c.Table, c.Row, explain(err))
	}
	return won, nil
}

// modify puts what decide returns for a cell, if it returns put; no other change comes between. It
// does not wait for the log: the log is one sequence, so a later acknowledged change carries this
// one with it.
func (e *tableRows) modify(
	ctx context.Context, c kv.Column, decide func(held []byte, found bool) (value []byte, put bool, err error),
) (bool, error) {
	if err := kv.CheckKey(c.Row); err != nil {
		return false, err
	}
	id, err := e.begin(ctx, c.Table, c.Family)
	if err != nil {
		return false, err
	}
	defer e.leave()
	e.change.Lock()
	defer e.change.Unlock()
	key := rowKey(id, c.Row)
	row, err := e.row(key)
	if err != nil {
		return false, err
	}
	held, found, err := cellOf(row, c.Qualifier)
	if err != nil {
		return false, err
	}
	value, put, err := decide(held, found)
	if err != nil || !put {
		return false, err
	}
	if err := e.space.want(quartersWrite); err != nil { // a check of the free space is not a write
		return false, err
	}
	now, err := e.clock.now(e.db())
	if err != nil {
		return false, err
	}
	change := record{qualifier: c.Qualifier, value: value, time: now}
	return true, e.replace(key, row, change)
}

// row reads one row by its whole key; one that is not there is a row without cells.
func (e *tableRows) row(key []byte) ([]byte, error) {
	value, closer, err := e.db().Get(key)
	if errors.Is(err, pebble.ErrNotFound) {
		return appendRow(nil, nil, 0), nil
	}
	if err != nil {
		return nil, err
	}
	return bytes.Clone(value), closer.Close()
}

// wideRow is the size in bytes from which a row is not rewritten for one cell.
const wideRow = 16 << 10

// replace puts the whole row as it will be. Putting only the change would be enough, but if a
// counter were drawn from a hundred thousand times between two flushes, each draw would fold all of
// these changes. A wide row, which contains no counter, gets only the change.
func (e *tableRows) replace(key, row []byte, change record) error {
	defer e.dieOfPanic()
	if len(row) >= wideRow {
		return e.db().Merge(key, appendRow(nil, []record{change}, change.time), pebble.NoSync)
	}
	var f fold
	err := errors.Join(f.MergeNewer(row), f.MergeNewer(appendRow(nil, []record{change}, change.time)))
	if err != nil {
		return err
	}
	after, _, err := f.Finish(true)
	if err != nil {
		return err
	}
	return e.db().Set(key, after, pebble.NoSync)
}
