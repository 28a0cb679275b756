package row

import (
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Contested reports whether a row has something to settle: an instant in two cells, objects in two,
// or a cell that cannot be read or is put anew.
func (r *agedRow) Contested(cells []kv.Cell) bool {
	if r.load(&kv.History{Row: kv.Row{Cells: cells}}); len(r.Broken) > 0 || AnyMistaken(cells) {
		return true
	}
	objects := 0
	for i := range r.cells {
		if r.cells[i].kind == schema.CellObject {
			objects++
		}
	}
	return objects > 0 && len(r.cells) > 1 || twice(r.slab)
}

// twice reports whether two points are of one instant. It sorts them.
func twice(points []schema.Point) bool {
	byOffset := func(a, b schema.Point) int { return cmp.Compare(a.Offset, b.Offset) }
	if !slices.IsSortedFunc(points, byOffset) {
		slices.SortFunc(points, byOffset)
	}
	for i := 1; i < len(points); i++ {
		if points[i].Offset == points[i-1].Offset {
			return true
		}
	}
	return false
}
