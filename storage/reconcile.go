package storage

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Cells of many points that were acknowledged within a short time do without a cell of ages: all of them count as acknowledged with the last. So two
// writes of one instant in different processes may end in either order when one of them came in such a burst and they are less than uniformSpan apart.
const (
	uniformSpan   = 2000 // milliseconds
	uniformPoints = 64   // smaller cells always have their ages
)

// pendingRow is what a process has acknowledged of a row and not put yet: points and objects in order, one sample an instant, and when each sample
// was acknowledged.
type pendingRow struct {
	points  []schema.Point
	objects []schema.Object
	ages    []schema.Age
	// now says that the samples are not acknowledged yet: they are newer than everything in the row, and ages is empty.
	now bool
	// clock is the time of this process, milliseconds.
	clock int64
}

// reconciled is what a row of a shared table needs.
type reconciled struct {
	kv.Mutation
	known    int  // samples that were there already, or lost to newer ones
	replaced bool // something that stood in the row goes
}

// reconciler brings what a process has to put into a row of a shared table together with what others put there. Of two samples of one instant the
// one that was acknowledged later stays, a deletion of the row counts as a write of all its instants, and afterwards no instant has two values. It
// keeps its memory from row to row.
type reconciler struct {
	agedRow
	claims       []claim
	lost         [][]uint32 // offsets of the points that each cell loses, ascending, by cell
	won          []schema.Point
	wonAges      []schema.Age
	objects      []agedObject // that the row will have
	dropped      bool         // an object of the row goes
	clock        int64
	whole        bool  // all points of the row are put anew
	beaten       int64 // the latest acknowledgement of what loses to the pending samples
	fresh        []schema.Object
	freshSamples int // of fresh: samples, in order
	noted        []notedAges
	mutation     reconciled
}

// notedAges are those of what is put with one stamp.
type notedAges struct {
	stamp int64
	ages  []schema.Age
}

// claim is what one cell, or the pending row, says of an instant.
type claim struct {
	offset uint32
	age    int64
	cell   int // of the row; pending: -1
	point  schema.Point
	object *schema.Object // nil: a point
}

// pending is the cell of a claim that is in no cell yet.
const pending = -1

// agedObject is an object of a row.
type agedObject struct {
	schema.Object
	age int64
}

// row returns the mutation that puts the pending samples into a row; without any, the mutation that settles what stands in the row twice.
func (r *reconciler) row(key []byte, h *kv.History, p *pendingRow) reconciled {
	r.load(h)
	r.mutation, r.beaten, r.clock = reconciled{Mutation: kv.Mutation{Key: key}}, 0, p.clock
	r.won, r.wonAges, r.dropped, r.fresh, r.noted = r.won[:0], r.wonAges[:0], false, r.fresh[:0], r.noted[:0]
	r.lost = slices.Grow(r.lost[:0], len(r.cells))[:len(r.cells)]
	clear(r.lost)
	// What a compaction is about to delete must stand elsewhere, under another qualifier.
	r.whole = r.compaction != nil || anyMistaken(h.Cells)
	if h.Untouched() && p.pointsOnly() {
		r.begin(p)
	} else {
		r.collect(p)
		r.settle(p)
		r.settleObjects(p)
	}
	stamp := r.stamp(p)
	if stamp == 0 && (r.whole || r.dropped || r.taken(appendObjectCells(nil, r.fresh))) {
		stamp = p.clock // what stays is put anew, and a cell of ages needs a stamp
	}
	r.rewrite()
	r.putNew(stamp)
	r.putAges()
	r.finish()
	return r.mutation
}

// pointsOnly reports whether the row is of points, all of which have an age if they need one.
func (p *pendingRow) pointsOnly() bool {
	return len(p.objects) == 0 && (p.now || len(p.ages) == len(p.points))
}

// begin lets all pending points win: nobody else has written to the row.
func (r *reconciler) begin(p *pendingRow) {
	r.claims, r.objects = r.claims[:0], r.objects[:0]
	r.won = append(r.won, p.points...)
	if !p.now {
		r.wonAges = append(r.wonAges, p.ages...)
	}
}

// collect lists the claims, those of one instant together and the winner first.
func (r *reconciler) collect(p *pendingRow) {
	r.claims = r.claims[:0]
	for i := range r.cells {
		c := &r.cells[i]
		for _, point := range c.points {
			r.claims = append(r.claims, claim{offset: point.Offset, age: r.ageOf(c, point), cell: i, point: point})
		}
		for j := range c.objects {
			if o := &c.objects[j]; o.Kind.IsSample() {
				r.claims = append(r.claims, claim{offset: o.Offset, age: c.objectAge(*o), cell: i, object: o})
			}
		}
	}
	for _, point := range p.points {
		r.addPending(p, claim{offset: point.Offset, point: point})
	}
	for i := range p.objects {
		if o := &p.objects[i]; o.Kind.IsSample() {
			r.addPending(p, claim{offset: o.Offset, object: o})
		}
	}
	slices.SortStableFunc(r.claims, func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(b.age, a.age), compareBool(b.cell == pending, a.cell == pending), compareClaims(a, b))
	})
}

// addPending adds a claim of the pending row, if the row was not deleted since.
func (r *reconciler) addPending(p *pendingRow, c claim) {
	c.cell, c.age = pending, math.MaxInt64
	if !p.now {
		at, ok := ageAt(p.ages, c.offset)
		if c.age = at; !ok {
			c.age = p.clock
		}
	}
	if c.age <= r.deleted {
		r.mutation.known++
		return
	}
	r.claims = append(r.claims, c)
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

// compareClaims is any order that is the same in every process.
func compareClaims(a, b claim) int {
	if a.object != nil && b.object != nil {
		return cmp.Or(cmp.Compare(b.object.Kind, a.object.Kind), bytes.Compare(b.object.Data, a.object.Data))
	}
	return cmp.Or(compareBool(a.object != nil, b.object != nil), cmp.Compare(b.point.Flags, a.point.Flags), cmp.Compare(b.point.Bits, a.point.Bits))
}

// same reports whether two claims have the same value.
func (c claim) same(o claim) bool {
	if c.object != nil || o.object != nil {
		return c.object != nil && o.object != nil && c.object.Kind == o.object.Kind && bytes.Equal(c.object.Data, o.object.Data)
	}
	return c.point.SameValue(o.point)
}

// settle lets the winner of each instant take the place of what says otherwise.
func (r *reconciler) settle(p *pendingRow) {
	for i := 0; i < len(r.claims); {
		j := i + 1
		for j < len(r.claims) && r.claims[j].offset == r.claims[i].offset {
			j++
		}
		r.settleInstant(p, r.claims[i:j])
		i = j
	}
}

// settleInstant takes the claims of one instant, the winner first.
func (r *reconciler) settleInstant(p *pendingRow, claims []claim) {
	winner := claims[0]
	keep := r.standing(claims)
	for i, c := range claims {
		switch {
		case c.cell == pending && (i > 0 || keep >= 0):
			r.mutation.known++
		case c.cell != pending && i != keep:
			r.beaten = max(r.beaten, c.age)
			r.lose(c)
		}
	}
	if keep >= 0 {
		return
	}
	if winner.object != nil {
		r.fresh = append(r.fresh, *winner.object)
	} else {
		r.won = append(r.won, winner.point)
	}
	if winner.cell != pending || !p.now {
		r.wonAges = append(r.wonAges, schema.Age{Offset: winner.offset, Time: winner.age})
	}
}

// standing returns which claim of an instant stays in its cell, -1 if none does: then the winner is put. That is a pending winner that was not put
// before, and every point of a row that is put anew as a whole. Claims that do not stay leave their cells even if they have the winner's value:
// OpenTSDB's fsck reports an instant that stands in two cells, whatever the values.
func (r *reconciler) standing(claims []claim) int {
	winner := claims[0]
	if r.whole && winner.object == nil {
		return -1
	}
	if winner.cell != pending {
		return 0
	}
	for i, c := range claims[1:] {
		if c.cell != pending && c.age == winner.age && c.same(winner) {
			return i + 1
		}
	}
	return -1
}

// lose takes a claim out of its cell.
func (r *reconciler) lose(c claim) {
	r.mutation.replaced = true
	if c.object == nil {
		r.lost[c.cell] = append(r.lost[c.cell], c.offset)
	} else {
		c.object.Kind = lostObject
		r.dropped = true
	}
}

// lostObject marks an object that lost its instant. 0 is never a kind.
const lostObject schema.ObjectKind = 0

// settleObjects decides which objects the row has. Start times go with the sample that they belong to; exemplars share an instant.
func (r *reconciler) settleObjects(p *pendingRow) {
	r.objects = r.objects[:0]
	for i := range r.cells {
		for _, o := range r.cells[i].objects {
			switch {
			case o.Kind == lostObject:
			case o.Kind == schema.ObjectStartTime && r.takes(o.Offset):
				r.dropped = true
			default:
				r.objects = append(r.objects, agedObject{o, r.cells[i].objectAge(o)})
			}
		}
	}
	r.dropTwins()
	r.freshSamples = len(r.fresh)
	for _, o := range p.objects {
		if !o.Kind.IsSample() && r.wants(p, o) {
			r.fresh = append(r.fresh, o)
		}
	}
	slices.SortFunc(r.fresh, compareObjects)
}

// wants reports whether an object of the pending row that is no sample is to be put.
func (r *reconciler) wants(p *pendingRow, o schema.Object) bool {
	if at, ok := ageAt(p.ages, o.Offset); ok && at <= r.deleted || r.hasObject(o) {
		return false
	}
	if o.Kind != schema.ObjectStartTime || r.takes(o.Offset) || !p.hasSample(o.Offset) {
		return true
	}
	// Its sample was there already, or lost to a newer one.
	return r.stands(o.Offset) && !r.hasKind(o)
}

// dropTwins leaves one of the objects that two cells have, and of two start times of an instant that of the later cell.
func (r *reconciler) dropTwins() {
	slices.SortStableFunc(r.objects, func(a, b agedObject) int {
		byKind := cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Kind, b.Kind))
		if a.Kind == schema.ObjectExemplar {
			return cmp.Or(byKind, bytes.Compare(a.Data, b.Data))
		}
		return cmp.Or(byKind, cmp.Compare(b.age, a.age), bytes.Compare(b.Data, a.Data))
	})
	n := len(r.objects)
	r.objects = slices.CompactFunc(r.objects, func(a, b agedObject) bool {
		return a.Offset == b.Offset && a.Kind == b.Kind && (a.Kind != schema.ObjectExemplar || bytes.Equal(a.Data, b.Data))
	})
	r.dropped = r.dropped || len(r.objects) < n
}

// takes reports whether a pending sample takes an instant.
func (r *reconciler) takes(offset uint32) bool {
	if _, ok := pointAt(r.won, offset); ok {
		return true
	}
	return sampleAt(r.fresh[:r.freshSamples], offset)
}

// sampleAt reports whether one of some objects, in their order, is the sample at an offset: samples come first of an instant.
func sampleAt(objects []schema.Object, offset uint32) bool {
	at, ok := slices.BinarySearchFunc(objects, offset, func(o schema.Object, offset uint32) int { return cmp.Compare(o.Offset, offset) })
	return ok && objects[at].Kind.IsSample()
}

// stands reports whether the sample that the pending row has at an offset is what the row holds.
func (r *reconciler) stands(offset uint32) bool {
	i, ok := slices.BinarySearchFunc(r.claims, offset, func(c claim, o uint32) int { return cmp.Compare(c.offset, o) })
	return ok && r.claims[i].cell == pending
}

// hasSample reports whether the pending row has a sample at an offset.
func (p *pendingRow) hasSample(offset uint32) bool {
	if _, ok := pointAt(p.points, offset); ok {
		return true
	}
	return sampleAt(p.objects, offset)
}

func pointAt(points []schema.Point, offset uint32) (int, bool) {
	return slices.BinarySearchFunc(points, offset, func(p schema.Point, o uint32) int { return cmp.Compare(p.Offset, o) })
}

// hasObject reports whether the row has an object with the same bytes.
func (r *reconciler) hasObject(o schema.Object) bool {
	at := r.firstOf(o)
	if o.Kind == schema.ObjectExemplar { // in the order of their bytes
		_, ok := slices.BinarySearchFunc(r.objects[at:], o, func(h agedObject, o schema.Object) int { return compareObjects(h.Object, o) })
		return ok
	}
	return r.hasKind(o) && bytes.Equal(r.objects[at].Data, o.Data) // one of a kind, but for exemplars
}

// hasKind reports whether the row has an object of a kind at an instant.
func (r *reconciler) hasKind(o schema.Object) bool {
	at := r.firstOf(o)
	return at < len(r.objects) && r.objects[at].Offset == o.Offset && r.objects[at].Kind == o.Kind
}

// firstOf is where the objects of an instant and kind begin in the row.
func (r *reconciler) firstOf(o schema.Object) int {
	at, _ := slices.BinarySearchFunc(r.objects, o, func(h agedObject, o schema.Object) int {
		return cmp.Or(cmp.Compare(h.Offset, o.Offset), cmp.Compare(h.Kind, o.Kind))
	})
	return at
}
