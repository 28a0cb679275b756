package write

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// appendedRow is a row whose points are put into its append cell.
type appendedRow struct {
	kv.Conditional
	row *rowWrite
}

// appendRounds is how often an append cell is read and written again while others append to it: a
// TSD does so once a second at most.
const appendRounds = 32

// change has a mutation of a shared row made: where points are put into append cells, only while
// that of the row is as it was read.
func (w *tableAppend) change(r *rowWrite, past *kv.History, m kv.Mutation) {
	if !w.table.appended {
		w.puts = append(w.puts, m)
		return
	}
	w.changes = append(w.changes, appendedRow{kv.Conditional{Mutation: m, Cell: row.Appended(past.Cells)}, r})
}

// sendAppended makes the changes. Rows that others appended to meanwhile are read and changed again.
func (w *tableAppend) sendAppended(ctx context.Context) error {
	for range appendRounds {
		late, err := w.tryAppended(ctx)
		if err != nil || len(late) == 0 {
			return err
		}
		w.changes = w.changes[:0]
		if err := w.reconcileRows(ctx, late); err != nil {
			return err
		}
	}
	return fmt.Errorf("others append to %d rows faster than they can be written", len(w.changes))
}

// tryAppended makes the changes whose append cells are as they were read, and returns the other rows.
func (w *tableAppend) tryAppended(ctx context.Context) (late []*rowWrite, err error) {
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
