package row

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// settling decides which samples of a row that is read, and of those that are pending, stay.
type settling struct {
	rewriting
	candidates   []candidate
	lost         [][]uint32 // offsets of the points that each cell loses, ascending, by cell
	won          []schema.Point
	wonAges      []own.Age
	objects      []agedObject // that the row will have
	dropped      bool         // an object of the row goes
	whole        bool         // all points of the row are put anew
	beaten       int64        // the latest acknowledgement of what loses to the pending samples
	fresh        []own.Object
	freshSamples int // of fresh: samples, in order
}

// begin lets all pending points win: no other process has written to the row.
func (r *settling) begin(p *Pending) {
	r.candidates, r.objects = r.candidates[:0], r.objects[:0]
	r.won = append(r.won, p.Points...)
	if !p.Now {
		r.wonAges = append(r.wonAges, p.Ages...)
	}
}

// collect lists the candidates, those of one instant together and the winner first.
func (r *settling) collect(p *Pending) {
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
func (r *settling) addPending(p *Pending, c candidate) {
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

// settle lets the winner of each instant take the place of the others.
func (r *settling) settle(p *Pending) {
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
func (r *settling) settleInstant(p *Pending, candidates []candidate) {
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
func (r *settling) standing(candidates []candidate) int {
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

// lose takes a candidate out of its cell.
func (r *settling) lose(c candidate) {
	r.mutation.Replaced = true
	if c.object == nil {
		r.lost[c.cell] = append(r.lost[c.cell], c.offset)
	} else {
		c.object.Kind = lostObject
		r.dropped = true
	}
}

// settleObjects decides which objects the row has, by the rule of Replaces: of two start times of an
// instant the newer one stays, whatever sample stands there, and exemplars share an instant.
func (r *settling) settleObjects(p *Pending) {
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
func (r *settling) wants(p *Pending, o own.Object) bool {
	if at, ok := AgeAt(p.Ages, o.Offset); ok && at <= r.deleted || r.hasObject(o) {
		return false
	}
	return o.Kind != storage.KindStartTime || r.newest(p, o.Offset) || !r.hasKind(o)
}

// newerStart reports whether the pending row brings a start time that takes the place of one of the
// row.
func (r *settling) newerStart(p *Pending, old own.Object) bool {
	start, ok := p.startTime(old.Offset)
	return ok && !bytes.Equal(start.Data, old.Data) && r.newest(p, old.Offset)
}

// newest reports whether the start time that the pending row has at an offset is newer than one of
// the row: it is if it came without a sample, or with one that takes the instant. A sample that was
// there already, or that lost to a newer one, came with an older start time.
func (r *settling) newest(p *Pending, offset uint32) bool {
	return !p.hasSample(offset) || r.takes(offset)
}

// dropDuplicates leaves one of the objects that two cells have, and of two start times of an
// instant that of the later cell.
func (r *settling) dropDuplicates() {
	slices.SortStableFunc(r.objects, func(a, b agedObject) int {
		return cmp.Or(compareNewest(a.Object, b.Object, a.age, b.age), bytes.Compare(b.Data, a.Data))
	})
	n := len(r.objects)
	r.objects = slices.CompactFunc(r.objects, func(a, b agedObject) bool { return sameObject(a.Object, b.Object) })
	r.dropped = r.dropped || len(r.objects) < n
}

// takes reports whether a pending sample takes an instant.
func (r *settling) takes(offset uint32) bool {
	if !r.stands(offset) {
		return false
	}
	if _, ok := PointAt(r.won, offset); ok {
		return true
	}
	return sampleAt(r.fresh[:r.freshSamples], offset)
}

// stands reports whether the sample that the pending row has at an offset is what the row holds.
func (r *settling) stands(offset uint32) bool {
	i, ok := slices.BinarySearchFunc(r.candidates, offset, func(c candidate, o uint32) int { return cmp.Compare(c.offset, o) })
	return ok && r.candidates[i].cell == pending
}

// hasObject reports whether the row has an object with the same bytes.
func (r *settling) hasObject(o own.Object) bool {
	at := r.firstOf(o)
	if o.Kind == storage.KindExemplar { // in the order of their bytes
		_, ok := slices.BinarySearchFunc(r.objects[at:], o, func(h agedObject, o own.Object) int { return CompareObjects(h.Object, o) })
		return ok
	}
	// one of a kind, but for exemplars
	return r.hasKind(o) && bytes.Equal(r.objects[at].Data, o.Data)
}

// hasKind reports whether the row has an object of a kind at an instant.
func (r *settling) hasKind(o own.Object) bool {
	at := r.firstOf(o)
	return at < len(r.objects) && r.objects[at].Offset == o.Offset && r.objects[at].Kind == o.Kind
}

// firstOf returns where the objects of an instant and kind begin in the row.
func (r *settling) firstOf(o own.Object) int {
	at, _ := slices.BinarySearchFunc(r.objects, o, func(h agedObject, o own.Object) int {
		return cmp.Or(cmp.Compare(h.Offset, o.Offset), cmp.Compare(h.Kind, o.Kind))
	})
	return at
}
