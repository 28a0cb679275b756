package row

import (
	"bytes"
	"cmp"
	"math"
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
	agedRow
	candidates   []candidate
	lost         [][]uint32 // offsets of the points that each cell loses, ascending, by cell
	won          []schema.Point
	wonAges      []own.Age
	objects      []agedObject // that the row will have
	dropped      bool         // an object of the row goes
	clock        int64
	whole        bool  // all points of the row are put anew
	compacts     bool  // nothing new is put
	beaten       int64 // the latest acknowledgement of what loses to the pending samples
	fresh        []own.Object
	freshSamples int // of fresh: samples, in order
	noted        []notedAges
	mutation     Reconciled
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

// begin lets all pending points win: no other process has written to the row.
func (r *Reconciler) begin(p *Pending) {
	r.candidates, r.objects = r.candidates[:0], r.objects[:0]
	r.won = append(r.won, p.Points...)
	if !p.Now {
		r.wonAges = append(r.wonAges, p.Ages...)
	}
}

// collect lists the candidates, those of one instant together and the winner first.
func (r *Reconciler) collect(p *Pending) {
	r.candidates = r.candidates[:0]
	for i := range r.cells {
		c := &r.cells[i]
		for _, point := range c.points {
			r.candidates = append(r.candidates, candidate{offset: point.Offset, age: r.ageOf(c, point), cell: i, point: point})
		}
		for j := range c.objects {
			if o := &c.objects[j]; o.Kind.IsSample() {
				r.candidates = append(r.candidates, candidate{offset: o.Offset, age: c.objectAge(*o), cell: i, object: o})
			}
		}
	}
	for _, point := range p.Points {
		r.addPending(p, candidate{offset: point.Offset, point: point})
	}
	for i := range p.Objects {
		if o := &p.Objects[i]; o.Kind.IsSample() {
			r.addPending(p, candidate{offset: o.Offset, object: o})
		}
	}
	slices.SortStableFunc(r.candidates, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.offset, b.offset), cmp.Compare(b.age, a.age), compareBool(b.cell == pending, a.cell == pending), compareCandidates(a, b))
	})
}

// addPending adds a candidate of the pending row, if the row was not deleted since.
func (r *Reconciler) addPending(p *Pending, c candidate) {
	c.cell, c.age = pending, math.MaxInt64
	if !p.Now {
		at, ok := AgeAt(p.Ages, c.offset)
		if c.age = at; !ok {
			c.age = p.Clock
		}
	}
	if c.age <= r.deleted {
		r.mutation.Known++
		return
	}
	r.candidates = append(r.candidates, c)
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

// settle lets the winner of each instant take the place of the others.
func (r *Reconciler) settle(p *Pending) {
	for i := 0; i < len(r.candidates); {
		j := i + 1
		for j < len(r.candidates) && r.candidates[j].offset == r.candidates[i].offset {
			j++
		}
		r.settleInstant(p, r.candidates[i:j])
		i = j
	}
}

// settleInstant takes the candidates of one instant, the winner first.
func (r *Reconciler) settleInstant(p *Pending, candidates []candidate) {
	winner := candidates[0]
	keep := r.standing(candidates)
	for i, c := range candidates {
		switch {
		case c.cell == pending && (i > 0 || keep >= 0):
			r.mutation.Known++
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
	if winner.cell != pending || !p.Now {
		r.wonAges = append(r.wonAges, own.Age{Offset: winner.offset, Time: winner.age})
	}
}

// standing returns which candidate of an instant stays in its cell, -1 if none does: then the
// winner is put. That is a pending winner that was not put before, and every point of a row that is
// put anew as a whole. Claims that do not stay leave their cells even if they have the winner's
// value: OpenTSDB's fsck reports an instant that stands in two cells, whatever the values. A cell
// that has the instant twice loses it whole.
func (r *Reconciler) standing(candidates []candidate) int {
	winner := candidates[0]
	if r.whole && winner.object == nil {
		return -1
	}
	for i, c := range candidates {
		if c.cell != pending && (i == 0 || winner.cell == pending && c.age == winner.age && c.same(winner)) {
			if twiceIn(candidates, c.cell) {
				return -1
			}
			return i
		}
	}
	return -1
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

// lose takes a candidate out of its cell.
func (r *Reconciler) lose(c candidate) {
	r.mutation.Replaced = true
	if c.object == nil {
		r.lost[c.cell] = append(r.lost[c.cell], c.offset)
	} else {
		c.object.Kind = lostObject
		r.dropped = true
	}
}

// lostObject marks an object that lost its instant. No object has this kind.
const lostObject = Number

// settleObjects decides which objects the row has, by the rule of Replaces: of two start times of an
// instant the newer one stays, whatever sample stands there, and exemplars share an instant.
func (r *Reconciler) settleObjects(p *Pending) {
	r.objects, r.freshSamples = r.objects[:0], len(r.fresh)
	for i := range r.cells {
		for _, o := range r.cells[i].objects {
			switch {
			case o.Kind == lostObject:
			case o.Kind == storage.KindStartTime && r.newerStart(p, o):
				r.dropped = true
			default:
				r.objects = append(r.objects, agedObject{o, r.cells[i].objectAge(o)})
			}
		}
	}
	r.dropDuplicates()
	for _, o := range p.Objects {
		if !o.Kind.IsSample() && r.wants(p, o) {
			r.fresh = append(r.fresh, o)
		}
	}
	slices.SortFunc(r.fresh, CompareObjects)
}

// wants reports whether an object of the pending row that is no sample is to be put.
func (r *Reconciler) wants(p *Pending, o own.Object) bool {
	if at, ok := AgeAt(p.Ages, o.Offset); ok && at <= r.deleted || r.hasObject(o) {
		return false
	}
	return o.Kind != storage.KindStartTime || r.newest(p, o.Offset) || !r.hasKind(o)
}

// newerStart reports whether the pending row brings a start time that takes the place of one of the
// row.
func (r *Reconciler) newerStart(p *Pending, old own.Object) bool {
	start, ok := p.startTime(old.Offset)
	return ok && !bytes.Equal(start.Data, old.Data) && r.newest(p, old.Offset)
}

// newest reports whether the start time that the pending row has at an offset is newer than one of
// the row: it is if it came without a sample, or with one that takes the instant. A sample that was
// there already, or that lost to a newer one, came with an older start time.
func (r *Reconciler) newest(p *Pending, offset uint32) bool {
	return !p.hasSample(offset) || r.takes(offset)
}

// dropDuplicates leaves one of the objects that two cells have, and of two start times of an
// instant that of the later cell.
func (r *Reconciler) dropDuplicates() {
	slices.SortStableFunc(r.objects, func(a, b agedObject) int {
		return cmp.Or(compareNewest(a.Object, b.Object, a.age, b.age), bytes.Compare(b.Data, a.Data))
	})
	n := len(r.objects)
	r.objects = slices.CompactFunc(r.objects, func(a, b agedObject) bool { return sameObject(a.Object, b.Object) })
	r.dropped = r.dropped || len(r.objects) < n
}

// takes reports whether a pending sample takes an instant.
func (r *Reconciler) takes(offset uint32) bool {
	if !r.stands(offset) {
		return false
	}
	if _, ok := PointAt(r.won, offset); ok {
		return true
	}
	return sampleAt(r.fresh[:r.freshSamples], offset)
}

// sampleAt reports whether one of some objects, in their order, is the sample at an offset: samples
// come first of an instant.
func sampleAt(objects []own.Object, offset uint32) bool {
	at, ok := slices.BinarySearchFunc(objects, offset, func(o own.Object, offset uint32) int { return cmp.Compare(o.Offset, offset) })
	return ok && objects[at].Kind.IsSample()
}

// stands reports whether the sample that the pending row has at an offset is what the row holds.
func (r *Reconciler) stands(offset uint32) bool {
	i, ok := slices.BinarySearchFunc(r.candidates, offset, func(c candidate, o uint32) int { return cmp.Compare(c.offset, o) })
	return ok && r.candidates[i].cell == pending
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

// hasObject reports whether the row has an object with the same bytes.
func (r *Reconciler) hasObject(o own.Object) bool {
	at := r.firstOf(o)
	if o.Kind == storage.KindExemplar { // in the order of their bytes
		_, ok := slices.BinarySearchFunc(r.objects[at:], o, func(h agedObject, o own.Object) int { return CompareObjects(h.Object, o) })
		return ok
	}
	// one of a kind, but for exemplars
	return r.hasKind(o) && bytes.Equal(r.objects[at].Data, o.Data)
}

// hasKind reports whether the row has an object of a kind at an instant.
func (r *Reconciler) hasKind(o own.Object) bool {
	at := r.firstOf(o)
	return at < len(r.objects) && r.objects[at].Offset == o.Offset && r.objects[at].Kind == o.Kind
}

// firstOf returns where the objects of an instant and kind begin in the row.
func (r *Reconciler) firstOf(o own.Object) int {
	at, _ := slices.BinarySearchFunc(r.objects, o, func(h agedObject, o own.Object) int {
		return cmp.Or(cmp.Compare(h.Offset, o.Offset), cmp.Compare(h.Kind, o.Kind))
	})
	return at
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
