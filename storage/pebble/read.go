package pebble

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Get implements kv.KV. It sees all rows at one moment and reads them in the order of their keys.
func (e *Engine) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	rows, err := e.get(ctx, table, family, keys)
	if err != nil {
		return nil, fmt.Errorf("get %d rows of %s: %w", len(keys), table, explain(err))
	}
	return rows, nil
}

func (e *tableRows) get(ctx context.Context, table, family string, keys [][]byte) (rows []kv.Row, err error) {
	id, err := e.begin(ctx, table, family)
	if err != nil {
		return nil, err
	}
	defer e.leave()
	it, err := e.db().NewIter(&pebble.IterOptions{
		LowerBound: []byte{id}, UpperBound: []byte{id + 1},
		UseL6Filters: true, // many of the rows asked for are not there
	})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, it.Close()) }()
	rows = make([]kv.Row, len(keys))
	var seek []byte
	var d decoder
	for n, i := range inOrder(keys) {
		if err := e.pause(ctx, n); err != nil {
			return nil, err
		}
		seek = append(append(seek[:0], id), keys[i]...)
		rows[i].Key = bytes.Clone(keys[i])
		if rows[i].Cells, err = seekRow(it, seek, &d); err != nil {
			return nil, fmt.Errorf("row %x: %w", keys[i], err)
		}
	}
	return rows, nil
}

// inOrder returns the indices of keys in ascending order of the keys, so that seeks go forward.
func inOrder(keys [][]byte) []int {
	order := make([]int, len(keys))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	return order
}

func seekRow(it *pebble.Iterator, key []byte, d *decoder) ([]kv.Cell, error) {
	if !it.SeekPrefixGE(key) { // the prefix is the whole key
		return nil, it.Error()
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return nil, err
	}
	return everything.cells(value, d)
}

// pause looks every few hundred steps whether to go on.
func (e *use) pause(ctx context.Context, step int) error {
	if step%256 != 0 {
		return nil
	}
	if e.closing.Load() {
		return ErrClosed
	}
	return ctx.Err()
}
