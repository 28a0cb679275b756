package hbase

import (
	"bytes"
	"context"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Apply implements kv.KV.
func (e *Engine) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := kv.CheckMutations(rows); err != nil {
		return e.explain(ctx, opApply, table, err, 0)
	}
	order, byClock := sendOrder(rows)
	b := batch{
		e: e, client: e.writer, operation: opApply, table: table, tokens: e.writes, gate: e.writeGate,
		size:   func(i int) int { return mutationSize(family, &rows[i]) },
		encode: func(chosen []int) []action { return encodeMutations(family, rows, chosen) },
		done:   func(a *action, _ []cell) int { return a.puts + a.deletes },
		count:  e.metrics.cellsWritten,
	}
	if err := b.run(ctx, order); err != nil {
		return err
	}
	if byClock {
		return e.outliveTombstones(ctx, table)
	}
	return nil
}

// sendOrder returns the mutations that change something, in the order of their keys, and whether the
// server stamps a deletion of them.
func sendOrder(rows []kv.Mutation) (order []int, byClock bool) {
	order = make([]int, 0, len(rows))
	for i := range rows {
		if m := &rows[i]; m.DeleteRow || len(m.Puts)+len(m.Deletes) > 0 {
			order = append(order, i)
			byClock = byClock || deletesByClock(m)
		}
	}
	slices.SortFunc(order, func(a, b int) int { return bytes.Compare(rows[a].Key, rows[b].Key) })
	return order, byClock
}

// deletesByClock reports whether the server stamps a deletion of the mutation.
func deletesByClock(m *kv.Mutation) bool {
	return m.DeleteRow && m.RowTime == 0 || slices.ContainsFunc(m.Deletes, func(d kv.Delete) bool { return d.Time == 0 })
}

// outliveTombstones waits until the server's clock has left the millisecond in which it deleted. A
// delete hides every earlier put and those of its own millisecond, also puts that come after it:
// without the pause, putting a cell again right after deleting it would be lost.
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
