package row

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An Erasure deletes what a row holds from one offset to another (milliseconds, inclusive), if it
// was acknowledged at a time or before.
type Erasure struct {
	From, To uint32
	Until    int64 // milliseconds
}

func (e *Erasure) has(offset uint32, age int64) bool {
	return offset >= e.From && offset <= e.To && age <= e.Until
}

// Erase returns the change that an erasure makes of a row of a shared table: points, objects,
// OpenTSDB's annotations and its histograms go. What stays keeps its age, and of an instant with
// two values the newest stays. The change is empty if the row has nothing that is to go, or if it
// has cells that cannot be read: then Broken lists these. clock is the time of this process.
func (r *Reconciler) Erase(key []byte, h *kv.History, e Erasure, clock int64) kv.Conditional {
	r.erasing = true
	defer func() { r.erasing = false }()
	r.load(h)
	p := Pending{Clock: clock}
	r.reset(key, &p)
	change := kv.Conditional{Read: h.Cells}
	if change.Key = key; len(r.Broken) > 0 {
		return change
	}
	r.collect(&p)
	foreign := foreignCells(h.Cells, &e)
	if !r.erase(&e) && len(foreign) == 0 {
		return change
	}
	r.whole = r.compaction != nil || AnyMistaken(h.Cells)
	r.settle(&p)
	for i := range r.lost {
		slices.Sort(r.lost[i])
	}
	r.settleObjects(&p)
	r.rewrite()
	r.putNew(r.stamp(&p))
	r.putAges()
	r.mutation.Deletes = kv.DeletesOf(r.mutation.Deletes, foreign)
	r.finish()
	change.Mutation = r.mutation.Mutation
	return change
}

// erase takes what goes out of its cells. It reports whether anything does.
func (r *settling) erase(e *Erasure) (found bool) {
	r.candidates = slices.DeleteFunc(r.candidates, func(c candidate) bool {
		if !e.has(c.offset, c.age) {
			return false
		}
		r.lose(c)
		found = true
		return true
	})
	for i := range r.cells {
		c := &r.cells[i]
		for j := range c.objects {
			if o := &c.objects[j]; o.Kind != lostObject && !o.Kind.IsSample() && e.has(o.Offset, c.objectAge(*o)) {
				o.Kind, r.dropped, found = lostObject, true, true
			}
		}
	}
	return found
}

// foreignCells are the cells of annotations and histograms of OpenTSDB that an erasure deletes.
func foreignCells(cells []kv.Cell, e *Erasure) (gone []kv.Cell) {
	for _, c := range cells {
		if offset, ok := schema.ForeignTime(c.Qualifier, c.Value); ok && e.has(offset, c.Time) {
			gone = append(gone, c)
		}
	}
	return gone
}
