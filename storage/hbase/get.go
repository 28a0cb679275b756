package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Get implements kv.KV.
func (e *Engine) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	rows := make([]kv.Row, len(keys))
	for i, key := range keys {
		rows[i].Key = bytes.Clone(key)
	}
	r := reading{operation: opGet, table: table, keys: keys, tail: getTail(family)}
	err := e.read(ctx, r, func(i int, cells []cell) { rows[i].Cells = copyCells(cells) })
	if err != nil {
		return nil, err
	}
	return rows, nil
}

// GetStored implements kv.Versioned. It shows rows in the memory of HBase's answers, after all of
// them have arrived.
func (e *Engine) GetStored(
	ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []kv.StoredCell) error,
) error {
	rows := make([][]cell, len(keys))
	r := reading{operation: opGet, table: table, keys: keys, tail: getTail(family), near: near, family: family}
	if err := e.read(ctx, r, func(i int, cells []cell) { rows[i] = cells }); err != nil {
		return err
	}
	var stored []kv.StoredCell
	for i, cells := range rows {
		if len(cells) == 0 {
			continue
		}
		stored = appendStored(stored[:0], cells)
		if err := visit(i, stored); err != nil {
			return err
		}
	}
	return nil
}

// History implements kv.Versioned. It asks as Get does, for all that HBase holds of the rows, and
// decides itself which cells are read: HBase's answer does not contain that.
func (e *Engine) History(ctx context.Context, table, family string, keys [][]byte) ([]kv.History, error) {
	all := make([]kv.History, len(keys))
	for i, key := range keys {
		all[i].Key = bytes.Clone(key)
	}
	r := reading{operation: opHistory, table: table, keys: keys, tail: historyTail(family)}
	err := e.read(ctx, r, func(i int, cells []cell) { all[i] = copyHistory(all[i].Key, cells) })
	if err != nil {
		return nil, err
	}
	return all, nil
}

// A reading is what Get and History ask for.
type reading struct {
	operation, table string
	keys             [][]byte
	tail             []byte // the part of each Get after its row key
	near             bool   // the keys are near to each other; then family is set
	family           string
}

// read hands the cells of the i-th key to done, of different keys at the same time. The cells are in
// the memory of an answer, which they keep.
func (e *Engine) read(ctx context.Context, r reading, done func(i int, cells []cell)) error {
	order := make([]int, 0, len(r.keys))
	for i, key := range r.keys {
		// no other can have been written, and HBase would refuse the whole request
		if kv.CheckKey(key) == nil {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(r.keys[a], r.keys[b]) })
	b := batch{
		e: e, client: e.reader(), operation: r.operation, table: r.table, tokens: e.reads, gate: e.readGate, near: r.near, family: r.family,
		size:   func(i int) int { return len(r.keys[i]) },
		encode: func(chosen []int) []action { return encodeGets(r.tail, r.keys, chosen) },
		done: func(a *action, cells []cell) int {
			done(a.row, cells)
			return len(cells)
		},
		count: e.metrics.cellsRead,
	}
	return b.run(ctx, order)
}
