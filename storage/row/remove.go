package row

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Remove returns the mutation that removes what a row holds from one offset to another
// (milliseconds, inclusive): points, objects, OpenTSDB's annotations and its histograms. The row
// must have been loaded from these cells. ok is false if there is nothing to remove. Afterwards the
// row holds what is left.
func (r *Row) Remove(key []byte, cells []kv.Cell, from, to uint32) (m kv.Mutation, ok bool) {
	within := func(offset uint32) bool { return offset >= from && offset <= to }
	points, objects := len(r.Points), len(r.Objects)
	r.Points = slices.DeleteFunc(r.Points, func(p Point) bool { return within(p.Offset) })
	r.Objects = slices.DeleteFunc(r.Objects, func(o Object) bool { return within(o.Offset) })
	m = r.Mutation(key, cells, Change{ReplacePoints: len(r.Points) < points, ReplaceObjects: len(r.Objects) < objects})
	for _, c := range cells {
		if offset, ok := schema.ForeignTime(c.Qualifier, c.Value); ok && within(offset) {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
		}
	}
	return m, len(m.Puts) > 0 || len(m.Deletes) > 0
}
