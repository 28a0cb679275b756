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
	order := make([]int, 0, len(keys))
	for i, key := range keys {
		rows[i].Key = bytes.Clone(key)
		if kv.CheckKey(key) == nil { // no other can have been written, and HBase would refuse the whole request
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(keys[a], keys[b]) })
	b := batch{
		e: e, client: e.reader(), operation: opGet, table: table, tokens: e.reads, gate: e.readGate,
		size:   func(i int) int { return len(keys[i]) },
		encode: func(chosen []int) []action { return encodeGets(family, keys, chosen) },
		done: func(a *action, cells []cell) int {
			rows[a.row].Cells = copyCells(cells)
			return len(cells)
		},
		count: e.metrics.cellsRead,
	}
	if err := b.run(ctx, order); err != nil {
		return nil, err
	}
	return rows, nil
}
