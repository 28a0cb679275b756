package fsck

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Why findings that were to be mended are left.
const (
	leftBusy    = "the row was written to less than 10 minutes ago"
	leftBroken  = "the row has cells that cannot be read, which come first"
	leftChanged = "it is still there after several changes"
)

// rounds bounds how often a row is read to be mended: cells come first, and others may change it.
const rounds = 6

// rewritten are the kinds whose mend puts all points of the row anew.
var rewritten = []Kind{ValueLength, BadTrailer, Unsorted, ReservedBits, MistakenCell, Duplicate, LongInteger}

// mend changes a row until nothing is left that is to be mended, or can be, and notes in its
// findings which are gone.
func (w *dataCheck) mend(ctx context.Context, r *dataRow) error {
	left, why, err := w.change(ctx, r.key)
	if err != nil {
		return fmt.Errorf("mend row %x of %s: %w", r.key, r.table, err)
	}
	r.noteLeft(left, w.fix, why)
	return nil
}

// noteLeft notes which findings are gone, and why those are not that were to be mended.
func (f *findings) noteLeft(left *findings, fix map[Kind]bool, why string) {
	for i := range f.list {
		o := &f.list[i]
		if o.Mended = !left.has(o.Kind); !o.Mended && fix[o.Kind] {
			o.Left = why
		}
	}
}

// change changes a row as long as there is something to mend, and returns what is left and why.
func (w *dataCheck) change(ctx context.Context, key []byte) (left *findings, why string, err error) {
	if w.o.DB.Versioned != nil {
		return w.changeShared(ctx, key)
	}
	err = w.o.Alone(func() error {
		for range rounds {
			rows, err := w.o.DB.Get(ctx, w.o.Tables.Data, schema.FamilyData, [][]byte{key})
			if err != nil {
				return err
			}
			var change *kv.Conditional
			if left, change, why, err = w.next(ctx, &kv.History{Row: rows[0]}); err != nil || change == nil {
				return err
			}
			if err := w.o.DB.Apply(ctx, w.o.Tables.Data, schema.FamilyData, []kv.Mutation{change.Mutation}); err != nil {
				return err
			}
		}
		why = leftChanged
		return nil
	})
	return left, why, err
}

// changeShared is change for a table that other processes write to.
func (w *dataCheck) changeShared(ctx context.Context, key []byte) (left *findings, why string, err error) {
	for range rounds {
		past, err := w.o.DB.Versioned.History(ctx, w.o.Tables.Data, schema.FamilyData, [][]byte{key})
		if err != nil {
			return nil, "", err
		}
		var change *kv.Conditional
		if left, change, why, err = w.next(ctx, &past[0]); err != nil || change == nil {
			return left, why, err
		}
		if _, err := w.o.DB.Versioned.ApplyUnchanged(ctx, w.o.Tables.Data, schema.FamilyData, []kv.Conditional{*change}); err != nil {
			return nil, "", err
		}
	}
	return left, leftChanged, nil
}

// next returns what is wrong with a row, and the next change that mends some of it; nil: there is
// none, and why.
func (w *dataCheck) next(ctx context.Context, h *kv.History) (left *findings, change *kv.Conditional, why string, err error) {
	if len(h.Cells) == 0 {
		return &findings{}, nil, "", nil
	}
	all, err := w.findings(ctx, []kv.Row{h.Row})
	if err != nil {
		return nil, nil, "", err
	}
	left = &all[0].findings
	switch {
	case !left.mendable(w.fix):
		return left, nil, "", nil
	case w.o.DB.Versioned != nil && row.Recent(h, w.quiet()):
		return left, nil, leftBusy, nil
	case left.hasAny(w.fix, BadKey, UnknownUID):
		return left, w.conditional(h, kv.Mutation{Key: h.Key, Deletes: w.deletes(h.Cells)}), "", nil
	}
	if m := w.editCells(h); len(m.Puts)+len(m.Deletes) > 0 {
		return left, w.conditional(h, m), "", nil
	}
	if !left.hasAny(w.fix, rewritten...) {
		return left, nil, "", nil
	}
	change, why = w.rewrite(h)
	return left, change, why, nil
}

func (w *dataCheck) quiet() int64 { return w.o.Now().Add(-Quiet).UnixMilli() }

func (w *dataCheck) conditional(h *kv.History, m kv.Mutation) *kv.Conditional {
	return &kv.Conditional{Mutation: m, Read: h.Cells}
}

func (w *dataCheck) deletes(cells []kv.Cell) []kv.Delete { return kv.DeletesOf(nil, cells) }

// editCells returns the change of cells that are mended each for itself: their stamps stay.
func (w *dataCheck) editCells(h *kv.History) kv.Mutation {
	m := kv.Mutation{Key: h.Key}
	for i, c := range h.Cells {
		alone := checkDataRow(w.o.Layout, w.o.Tables.Data, kv.Row{Key: h.Key, Cells: h.Cells[i : i+1]})
		switch {
		case alone.hasAny(w.fix, BadQualifier, BadValue, BadCompacted, BadAges, BadAnnotation):
			m.Deletes = append(m.Deletes, w.deletes(h.Cells[i:i+1])...)
		case alone.hasAny(w.fix, FloatLength):
			m.Puts = append(m.Puts, kv.Put{Qualifier: c.Qualifier, Value: schema.ShortFloat(c.Value), Time: c.Time})
		case alone.hasAny(w.fix, UntidyAppend):
			if tidy, err := schema.TidyAppend(c.Value); err == nil {
				m.Puts = append(m.Puts, kv.Put{Qualifier: c.Qualifier, Value: tidy, Time: c.Time})
			}
		}
	}
	return m
}

// rewrite returns the change that puts all points of a row anew; nil: there is none, and why.
func (w *dataCheck) rewrite(h *kv.History) (change *kv.Conditional, why string) {
	shorten := w.fix[LongInteger]
	if w.o.DB.Versioned == nil {
		var content row.Row
		m, ok := content.Tidy(h.Key, h.Cells, shorten)
		if !ok {
			return nil, leftBroken
		}
		return w.conditional(h, m), ""
	}
	var r row.Reconciler
	tidy, verdict := r.Tidy(h, w.quiet(), shorten)
	switch verdict {
	case row.Compacted:
		return &tidy, ""
	case row.Damaged:
		return nil, leftBroken
	case row.Busy, row.Compact, row.Foreign:
	}
	return nil, leftBusy
}
