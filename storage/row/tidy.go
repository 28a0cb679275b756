package row

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Tidy returns the change that puts the points of a row of a shared table anew, into as few cells
// as hold them, whatever is wrong with the cells that hold them now: of an instant that stands in the
// row twice the value acknowledged later stays, and every point keeps the time of its
// acknowledgement. With shorten, integers of 8 bytes take as few as hold them. As by Compact, a row
// with a cell or deletion after quiet (milliseconds) is left alone, and so is a row with cells that
// cannot be read.
func (r *Reconciler) Tidy(h *kv.History, quiet int64, shorten bool) (kv.Conditional, Verdict) {
	if Recent(h, quiet) {
		return kv.Conditional{}, Busy
	}
	if r.load(h); len(r.Broken) > 0 {
		return kv.Conditional{}, Damaged
	}
	if shorten {
		for i := range r.cells {
			for j := range r.cells[i].points {
				r.cells[i].points[j] = r.cells[i].points[j].Shortest()
			}
		}
	}
	r.together(h.Key, quiet, 0)
	return kv.Conditional{Mutation: r.mutation.Mutation, Read: h.Cells}, Compacted
}

// Recent reports whether a cell or a deletion of a row is later than a time (milliseconds).
func Recent(h *kv.History, quiet int64) bool {
	return slices.ContainsFunc(h.Cells, func(c kv.Cell) bool { return c.Time > quiet }) ||
		slices.ContainsFunc(h.Deletes, func(d kv.Tombstone) bool { return d.Time > quiet })
}

// Tidy is Reconciler.Tidy for a table that no other process writes to. ok is false for a row with
// cells that cannot be read.
func (r *Row) Tidy(key []byte, cells []kv.Cell, shorten bool) (m kv.Mutation, ok bool) {
	if r.Load(cells) != nil {
		return kv.Mutation{}, false
	}
	if shorten {
		for i := range r.Points {
			r.Points[i].Point = r.Points[i].Shortest()
		}
	}
	return r.Mutation(key, cells, Change{ReplacePoints: true, ReplaceObjects: hasObjects(cells)}), true
}

func hasObjects(cells []kv.Cell) bool {
	return slices.ContainsFunc(cells, func(c kv.Cell) bool { return schema.ClassifyCell(c.Qualifier) == schema.CellObject })
}
