package hbase

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsuna/gohbase/pb"

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
	column := []*pb.Column{{Family: []byte(family)}}
	b := batch{
		e: e, client: e.reader(), operation: opGet, table: table, tokens: e.reads,
		encode: func(i int) action {
			key := bytes.Clone(keys[i])
			return action{row: i, key: key, get: &pb.Get{Row: key, Column: column, TimeRange: &pb.TimeRange{}}}
		},
		done: func(a *action, cells []cell) {
			rows[a.row].Cells = copyCells(cells)
			e.metrics.cellsRead.Add(float64(len(cells)))
		},
	}
	if err := b.run(ctx, order); err != nil {
		return nil, err
	}
	return rows, nil
}
