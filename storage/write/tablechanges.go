package write

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// changedRow is a row of a shared table whose mutation is made only while the row is as it was read.
type changedRow struct {
	kv.Conditional
	row *rowWrite
}

// changeRounds is how often a row is read and changed again while others change it: a TSD does so
// once a second at most.
const changeRounds = 32

// change has a mutation of a shared row made. One that puts anew what others have put is made only
// while the row is as it was read: what a deletion has taken out since then would come back. Where
// points are put into append cells, that cell must be as it was read.
func (w *tableAppend) change(r *rowWrite, past *kv.History, m kv.Mutation) {
	switch {
	case w.table.appended:
		w.changes = append(w.changes, changedRow{kv.Conditional{Mutation: m, Cell: row.Appended(past.Cells)}, r})
	case rewrites(past.Cells, &m):
		w.changes = append(w.changes, changedRow{kv.Conditional{Mutation: m, Read: past.Cells}, r})
	default:
		w.puts = append(w.puts, m)
	}
}

// rewrites reports whether a mutation takes the place of cells that were read.
func rewrites(read []kv.Cell, m *kv.Mutation) bool {
	if len(read) == 0 {
		return false
	}
	return len(m.Deletes) > 0 || slices.ContainsFunc(m.Puts, func(p kv.Put) bool {
		_, found := slices.BinarySearchFunc(read, p.Qualifier, func(c kv.Cell, q []byte) int { return bytes.Compare(c.Qualifier, q) })
		return found
	})
}

type applyFunc func(ctx context.Context, table, family string, rows []kv.Mutation) error

// sendMutations sends what is to be put, and makes the changes. Rows that others changed meanwhile
// are read and changed again.
func (w *tableAppend) sendMutations(ctx context.Context, apply applyFunc) error {
	for range changeRounds {
		if err := w.applyPuts(ctx, apply); err != nil {
			return err
		}
		late, err := w.tryChanges(ctx)
		if err != nil || len(late) == 0 {
			return err
		}
		w.puts, w.changes = w.puts[:0], w.changes[:0]
		if err := w.reconcileRows(ctx, late); err != nil {
			return err
		}
		w.sortPuts()
	}
	return fmt.Errorf("others change %d rows faster than they can be written", len(w.changes))
}

func (w *tableAppend) applyPuts(ctx context.Context, apply applyFunc) error {
	if len(w.puts) == 0 {
		return nil
	}
	return apply(ctx, w.table.name, schema.FamilyData, w.puts)
}

// tryChanges makes the changes of rows that are as they were read, and returns the other rows.
func (w *tableAppend) tryChanges(ctx context.Context) (late []*rowWrite, err error) {
	if len(w.changes) == 0 {
		return nil, nil
	}
	conditionals := make([]kv.Conditional, len(w.changes))
	for i := range w.changes {
		conditionals[i] = w.changes[i].Conditional
	}
	made, err := w.table.db.Versioned.ApplyUnchanged(ctx, w.table.name, schema.FamilyData, conditionals)
	if err != nil {
		return nil, err
	}
	for i := range made {
		if !made[i] {
			late = append(late, w.changes[i].row)
		}
	}
	return late, nil
}
