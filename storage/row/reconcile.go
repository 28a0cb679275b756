package row

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// UniformSpan is how far apart the acknowledgements of points may be, in milliseconds, that count as
// acknowledged together. Cells of many points that were acknowledged within it do without a cell of
// ages: all of them count as acknowledged with the last. So two writes of one instant in different
// processes may end in either order when one of them came in such a burst, or was compacted, and
// they are less than UniformSpan apart.
const (
	UniformSpan   = 2000
	uniformPoints = 64 // smaller cells always have their ages
)

// Pending is what a process has acknowledged of a row and not put yet: points and objects in
// order, one sample an instant, and when each sample was acknowledged.
type Pending struct {
	Points  []schema.Point
	Objects []own.Object
	Ages    []own.Age
	// Now means that the samples are not acknowledged yet: they are newer than everything in the
	// row, and ages is empty.
	Now bool
	// Clock is the time of this process, milliseconds.
	Clock int64
}

// Reconciled is what a row of a shared table needs.
type Reconciled struct {
	kv.Mutation
	Known    int  // samples that were there already, or lost to newer ones
	Replaced bool // something that stood in the row goes
}

// Reconciler brings what a process has to put into a row of a shared table together with what
// others put there. Of two samples of one instant the one that was acknowledged later stays, a
// deletion of the row counts as a write of all its instants, and afterwards no instant has two
// values. It keeps its memory from row to row.
type Reconciler struct {
	// Appends means that Reconcile puts points into the append cell of the row, as a TSD with
	// tsd.storage.enable_appends does. A TSD's append is not undone only if such a mutation is made
	// while the cell is as it was read (Appended).
	Appends bool
	settling
}

// notedAges are those of what is put with one stamp.
type notedAges struct {
	stamp int64
	ages  []own.Age
	// they are of the append cell, and put in any case: a TSD may append to it
	arrivals bool
}

// candidate is what one cell, or the pending row, holds at an instant.
type candidate struct {
	offset uint32
	age    int64
	cell   int // of the row; pending: -1
	point  schema.Point
	object *own.Object // nil: a point
}

// pending is the cell of a candidate that is in no cell yet.
const pending = -1

// agedObject is an object of a row.
type agedObject struct {
	own.Object
	age int64
}

// Reconcile returns the mutation that puts the pending samples into a row; without any, the
// mutation that settles what stands in the row twice.
func (r *Reconciler) Reconcile(key []byte, h *kv.History, p *Pending) Reconciled {
	r.load(h)
	r.reset(key, p)
	// What a compaction is about to delete must stand elsewhere, under another qualifier.
	r.whole = r.compaction != nil || AnyMistaken(h.Cells)
	if h.Untouched() && p.pointsOnly() {
		r.begin(p)
	} else {
		r.collect(p)
		r.settle(p)
		r.settleObjects(p)
	}
	stamp := r.stamp(p)
	if stamp == 0 && (r.whole || r.dropped || r.taken(appendObjectCells(nil, r.fresh))) {
		stamp = p.Clock // what stays is put anew, and a cell of ages needs a stamp
	}
	if r.Appends {
		r.putAppended(stamp)
	}
	r.rewrite()
	r.putNew(stamp)
	r.putAges()
	r.finish()
	return r.mutation
}

// reset begins the mutation of a row that is loaded.
func (r *Reconciler) reset(key []byte, p *Pending) {
	r.mutation, r.beaten, r.clock, r.compacts = Reconciled{Mutation: kv.Mutation{Key: key}}, 0, p.Clock, false
	r.won, r.wonAges, r.dropped, r.fresh, r.noted = r.won[:0], r.wonAges[:0], false, r.fresh[:0], r.noted[:0]
	r.lost = slices.Grow(r.lost[:0], len(r.cells))[:len(r.cells)]
	clear(r.lost)
}

// pointsOnly reports whether the row is of points, all of which have an age if they need one.
func (p *Pending) pointsOnly() bool {
	return len(p.Objects) == 0 && (p.Now || len(p.Ages) == len(p.Points))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// compareCandidates is any order that is the same in every process.
func compareCandidates(a, b candidate) int {
	if a.object != nil && b.object != nil {
		return cmp.Or(cmp.Compare(b.object.Kind, a.object.Kind), bytes.Compare(b.object.Data, a.object.Data))
	}
	return cmp.Or(compareBool(a.object != nil, b.object != nil), cmp.Compare(b.point.Flags, a.point.Flags), cmp.Compare(b.point.Bits, a.point.Bits))
}

// same reports whether two candidates have the same value.
func (c candidate) same(o candidate) bool {
	if c.object != nil || o.object != nil {
		return c.object != nil && o.object != nil && c.object.Kind == o.object.Kind && bytes.Equal(c.object.Data, o.object.Data)
	}
	return c.point.SameValue(o.point)
}

// twiceIn reports whether a cell has more than one of the candidates of an instant.
func twiceIn(candidates []candidate, cell int) bool {
	n := 0
	for _, c := range candidates {
		if c.cell == cell {
			n++
		}
	}
	return n > 1
}

// lostObject marks an object that lost its instant. No object has this kind.
const lostObject = Number

// sampleAt reports whether one of some objects, in their order, is the sample at an offset: samples
// come first of an instant.
func sampleAt(objects []own.Object, offset uint32) bool {
	at, ok := slices.BinarySearchFunc(objects, offset, func(o own.Object, offset uint32) int { return cmp.Compare(o.Offset, offset) })
	return ok && objects[at].Kind.IsSample()
}

// hasSample reports whether the pending row has a sample at an offset.
func (p *Pending) hasSample(offset uint32) bool {
	if _, ok := PointAt(p.Points, offset); ok {
		return true
	}
	return sampleAt(p.Objects, offset)
}

// startTime returns the start time that the pending row has at an offset.
func (p *Pending) startTime(offset uint32) (own.Object, bool) {
	wanted := own.Object{Offset: offset, Kind: storage.KindStartTime}
	at, ok := slices.BinarySearchFunc(p.Objects, wanted, func(o, wanted own.Object) int {
		return cmp.Or(cmp.Compare(o.Offset, wanted.Offset), cmp.Compare(o.Kind, wanted.Kind))
	})
	if !ok {
		return own.Object{}, false
	}
	return p.Objects[at], true
}

// PointAt returns the index of the point at an offset, or the index at which it would be inserted.
func PointAt(points []schema.Point, offset uint32) (int, bool) {
	return slices.BinarySearchFunc(points, offset, func(p schema.Point, o uint32) int { return cmp.Compare(p.Offset, o) })
}

// Look reads a row as it stands, for newest and last.
func (r *Reconciler) Look(h *kv.History) {
	r.load(h)
	r.collect(&Pending{})
}

// Newest returns when the sample that the row has at an offset was acknowledged.
func (r *Reconciler) Newest(offset uint32) (int64, bool) {
	i, ok := slices.BinarySearchFunc(r.candidates, offset, func(c candidate, offset uint32) int { return cmp.Compare(c.offset, offset) })
	if !ok {
		return 0, false
	}
	return r.candidates[i].age, true
}

// Last returns the greatest offsets of a sample and of an object that stand in the row; -1: none.
func (r *Reconciler) Last() (sample, object int32) {
	sample, object = -1, -1
	if n := len(r.candidates); n > 0 {
		sample = int32(r.candidates[n-1].offset)
	}
	for i := range r.cells {
		for _, o := range r.cells[i].objects {
			object = max(object, int32(o.Offset))
		}
	}
	return sample, object
}
