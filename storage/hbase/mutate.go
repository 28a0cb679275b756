package hbase

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/tsuna/gohbase/pb"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Apply implements kv.KV.
func (e *Engine) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := kv.CheckMutations(rows); err != nil {
		return e.explain(ctx, opApply, table, err, 0)
	}
	order := make([]int, 0, len(rows))
	deletes := false
	for i := range rows {
		if m := &rows[i]; m.DeleteRow || len(m.Puts)+len(m.Deletes) > 0 {
			order = append(order, i)
			deletes = deletes || m.DeleteRow || len(m.Deletes) > 0
		}
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(rows[a].Key, rows[b].Key) })
	b := batch{
		e: e, client: e.writer, operation: opApply, table: table, tokens: e.writes,
		encode: func(i int) action { return encodeMutation(i, family, &rows[i]) },
		done: func(a *action, _ []cell) {
			for _, p := range a.parts {
				e.metrics.cellsWritten.Add(float64(p.GetAssociatedCellCount()))
			}
		},
	}
	if err := b.run(ctx, order); err != nil {
		return err
	}
	if deletes {
		return e.outliveTombstones(ctx, table)
	}
	return nil
}

// outliveTombstones waits until the server's clock has left the millisecond in which it deleted. A delete hides every
// earlier put and those of its own millisecond, also puts that come after it: without the pause, putting a cell again
// right after deleting it would be lost.
func (e *Engine) outliveTombstones(ctx context.Context, table string) error {
	t := time.NewTimer(2 * time.Millisecond)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return e.explain(ctx, opApply, table, ctx.Err(), 0)
	}
}

// encodeMutation makes the mutations of one row: its puts, its deletes, or both, which HBase then does as one.
func encodeMutation(row int, family string, m *kv.Mutation) action {
	a := action{row: row}
	a.cells = make([]byte, 0, mutationSize(family, m)+len(m.Key))
	for _, p := range m.Puts {
		a.cells = appendCell(a.cells, m.Key, family, p.Qualifier, p.Value, typePut)
	}
	for _, q := range m.Deletes {
		a.cells = appendCell(a.cells, m.Key, family, q, nil, typeDeleteColumn)
	}
	deletes := len(m.Deletes)
	if m.DeleteRow {
		a.cells = appendCell(a.cells, m.Key, family, nil, nil, typeDeleteFamily)
		deletes = 1
	}
	// The key lies behind the cells, in the same piece of memory.
	all := append(a.cells, m.Key...)
	a.key = all[len(a.cells):]
	if len(m.Puts) > 0 {
		a.parts = append(a.parts, newMutation(a.key, pb.MutationProto_PUT, len(m.Puts)))
	}
	if deletes > 0 {
		a.parts = append(a.parts, newMutation(a.key, pb.MutationProto_DELETE, deletes))
	}
	return a
}

func mutationSize(family string, m *kv.Mutation) int {
	size := 0
	for _, p := range m.Puts {
		size += cellSize(m.Key, family, p.Qualifier, p.Value)
	}
	for _, q := range m.Deletes {
		size += cellSize(m.Key, family, q, nil)
	}
	if m.DeleteRow {
		size += cellSize(m.Key, family, nil, nil)
	}
	return size
}

// newMutation announces n cells in the cell block.
func newMutation(key []byte, kind pb.MutationProto_MutationType, n int) *pb.MutationProto {
	count := int32(n)
	return &pb.MutationProto{Row: key, MutateType: &kind, AssociatedCellCount: &count}
}
