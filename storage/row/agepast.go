package row

import (
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// past tells when the points came that a TSD's compactions put together. It knows that from the
// cells that the compactions deleted, as far as the engine still has them, and from the cells of
// ages of such cells.
type past struct {
	tombstones tombstones
	cells      []deletedCell
	points     []pastPoint // of the cells, in the order of offsets and of the times of the cells
	// of cells of ages whose cell of points is gone, the latest of each offset
	loose []own.Age
	// when the cells of an offset were deleted by their qualifiers, if there are loose ages
	erased []own.Age

	hidden, order []int // scratch
	// scratch: the points that ageOf has looked at, and for each first tombstone of a qualifier the
	// number of the last of them for which a version of that qualifier was taken
	asked int
	taken []int
}

// deletedCell is a cell that is hidden and was deleted by its qualifier.
type deletedCell struct {
	agedCell
	tombstones tombstones // of its qualifier
	qualifier  int        // the index of the first of them
	gone       int64      // when it was deleted by its qualifier
}

// pastPoint is a point of a deleted cell.
type pastPoint struct {
	schema.Point
	cell int   // of past.cells
	age  int64 // when it was acknowledged
}

const (
	// pastMost bounds the points of the past that are looked at: older ones count as forgotten.
	pastMost = 1 << 17
	// pastDeep bounds the cells that are looked at for one point.
	pastDeep = 64
)

// load reads the past of a row whose cells were read, and gives those their ages.
func (p *past) load(r *agedRow, ages []agedCell) {
	p.cells, p.points, p.loose, p.hidden = p.cells[:0], p.points[:0], p.loose[:0], p.hidden[:0]
	h := r.history
	p.tombstones = p.tombstones.load(h.Deletes)
	if len(ages) == 0 && len(h.Hidden) == 0 {
		return
	}
	ages, arrivals := splitAges(ages) // append cells lose their ages when these are deleted
	p.taken = slices.Grow(p.taken[:0], len(p.tombstones))[:len(p.tombstones)]
	broken := len(r.Broken) // no reader meets what is hidden
	defer func() { r.Broken = r.Broken[:broken] }()
	for i, c := range h.Hidden {
		switch kind := schema.ClassifyCell(c.Qualifier); {
		case kind == schema.CellAges:
			if a, ok := r.decode(c); ok && !own.OfArrivals(c.Value) {
				ages = append(ages, a)
			}
		case isSamples(kind):
			p.hidden = append(p.hidden, i)
		}
	}
	p.pair(r, ages, arrivals)
	p.erase()
	p.loadDeleted(r, ages)
	p.ageDeleted(r)
}

// ageDeleted gives the points of the deleted cells their ages. The points that a cell took over are
// of cells that were deleted before it, so those come first.
func (p *past) ageDeleted(r *agedRow) {
	for from := 0; from < len(p.points); {
		to := from + 1
		for to < len(p.points) && p.points[to].Offset == p.points[from].Offset {
			to++
		}
		had := p.points[max(from, to-pastDeep):to]
		p.order = p.order[:0]
		for i := range p.points[from:to] {
			p.points[from+i].age = p.cells[p.points[from+i].cell].Time
		}
		for i := range had {
			p.order = append(p.order, i)
		}
		slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(p.cells[had[a].cell].gone, p.cells[had[b].cell].gone) })
		for _, i := range p.order {
			c := &p.cells[had[i].cell]
			had[i].age = r.ageWith(&c.agedCell, had[i].Point, c.gone, had)
		}
		from = to
	}
}

// isSamples reports whether cells of a kind may have a cell of ages.
func isSamples(k schema.CellKind) bool {
	return k == schema.CellData || k == schema.CellAppend || k == schema.CellObject
}

// pair gives the cells that were put with a cell of ages what it holds, and keeps what the other
// cells of ages hold.
func (p *past) pair(r *agedRow, ages, arrivals []agedCell) {
	if len(ages)+len(arrivals) == 0 {
		return
	}
	slices.SortFunc(arrivals, func(a, b agedCell) int { return cmp.Compare(a.Time, b.Time) })
	slices.SortFunc(ages, func(a, b agedCell) int { return cmp.Compare(a.Time, b.Time) })
	paired := make([]bool, len(ages))
	for i := range r.cells {
		c := &r.cells[i]
		if c.kind == schema.CellAppend {
			c.ages, c.agesCell = agesOfArrivals(c, arrivals)
		} else if at, ok := agesPutAt(ages, c.Time); ok {
			c.ages, paired[at] = ages[at].ages, true
		}
	}
	for _, i := range p.hidden {
		if at, ok := agesPutAt(ages, r.history.Hidden[i].Time); ok {
			paired[at] = true
		}
	}
	for i, a := range ages {
		if !paired[i] {
			p.loose = append(p.loose, a.ages...)
		}
	}
	slices.SortFunc(p.loose, func(a, b own.Age) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.Time, a.Time)) })
	p.loose = slices.CompactFunc(p.loose, func(a, b own.Age) bool { return a.Offset == b.Offset })
}

// splitAges parts the cells of ages of append cells from the others.
func splitAges(all []agedCell) (ages, arrivals []agedCell) {
	for i := range all {
		if own.OfArrivals(all[i].Value) {
			arrivals = append(arrivals, all[i])
		} else {
			ages = append(ages, all[i])
		}
	}
	return ages, arrivals
}

// agesPutAt finds the cell of ages that was put at a time.
func agesPutAt(ages []agedCell, time int64) (int, bool) {
	return slices.BinarySearchFunc(ages, time, func(a agedCell, t int64) int { return cmp.Compare(a.Time, t) })
}

// loadDeleted reads the hidden cells that were deleted by their qualifiers, the latest first.
func (p *past) loadDeleted(r *agedRow, ages []agedCell) {
	if len(p.tombstones) == 0 {
		return
	}
	hidden := r.history.Hidden
	slices.SortFunc(p.hidden, func(a, b int) int { return cmp.Compare(hidden[b].Time, hidden[a].Time) })
	for _, i := range p.hidden {
		first, end := p.tombstones.span(hidden[i].Qualifier)
		tombstones := p.tombstones[first:end]
		if len(tombstones) == 0 || len(p.points) > pastMost {
			continue
		}
		c, ok := r.decode(hidden[i])
		if !ok {
			continue
		}
		if at, ok := agesPutAt(ages, c.Time); ok {
			c.ages = ages[at].ages
		}
		p.cells = append(p.cells, deletedCell{c, tombstones, first, tombstones.deletedAt(c.Time)})
		for _, point := range c.points {
			p.points = append(p.points, pastPoint{Point: point, cell: len(p.cells) - 1})
		}
	}
	slices.SortStableFunc(p.points, func(a, b pastPoint) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.cell, a.cell))
	})
}

// erase lists when cells of points were deleted by their qualifiers, as compactions do: HBase
// forgets the cells before it forgets their deletions.
func (p *past) erase() {
	p.erased = p.erased[:0]
	if len(p.loose) == 0 {
		return
	}
	for _, d := range p.tombstones {
		if d.Exact || schema.ClassifyCell(d.Qualifier) != schema.CellData || len(p.erased) > pastMost {
			continue
		}
		for offset := range schema.Offsets(d.Qualifier) {
			p.erased = append(p.erased, own.Age{Offset: offset, Time: d.Time})
		}
	}
	slices.SortFunc(p.erased, func(a, b own.Age) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Time, b.Time)) })
}

// erasedBetween reports whether a cell with a point at an offset was deleted by its qualifier after
// a time and before another. A cell that was put at the first is a compaction's then: what
// tsdbridge replaces is deleted up to its own time, which is before.
func (p *past) erasedBetween(offset uint32, put, gone int64) bool {
	at, _ := slices.BinarySearchFunc(p.erased, own.Age{Offset: offset, Time: put + 1}, func(a, b own.Age) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(a.Time, b.Time))
	})
	return at < len(p.erased) && p.erased[at].Offset == offset && p.erased[at].Time < gone
}

func (p *past) empty() bool { return len(p.points) == 0 && len(p.loose) == 0 }

// at returns the points at an offset, the latest pastDeep of them.
func (p *past) at(offset uint32) []pastPoint {
	compare := func(o pastPoint, offset uint32) int { return cmp.Compare(o.Offset, offset) }
	from, _ := slices.BinarySearchFunc(p.points, offset, compare)
	to, _ := slices.BinarySearchFunc(p.points, offset+1, compare)
	return p.points[max(from, to-pastDeep):to]
}

// tookOver returns when a point of a cell that a compaction may have made was acknowledged, given
// when the cell was deleted and what the past has at the offset. The compaction read one version of
// each qualifier, the latest: older ones were hidden before, although its deletions cover them too.
func (p *past) tookOver(r *agedRow, c *agedCell, point schema.Point, gone int64, had []pastPoint) int64 {
	before := int64(0)
	if at, ok := AgeAt(p.loose, point.Offset); ok && p.erasedBetween(point.Offset, c.Time, gone) {
		before = at
	}
	p.asked++
	for i := range slices.Backward(had) {
		h := &p.cells[had[i].cell]
		if h.Time < c.Time && p.taken[h.qualifier] != p.asked && had[i].SameValue(point) && h.compacted(c.Time, gone) {
			before = max(before, had[i].age)
			p.taken[h.qualifier] = p.asked
		}
	}
	switch {
	case before == 0:
		return c.Time
	case r.erasing:
		return min(before, c.Time)
	}
	return min(max(before, r.deleted+1), c.Time)
}

// writtenAgain returns when a point of a cell was last written once more with the same value, by a
// writer whose cell a TSD's compaction deleted since the cell had the point already; 0: never.
func (p *past) writtenAgain(c *agedCell, point schema.Point, gone int64, had []pastPoint) int64 {
	again := int64(0)
	for i := range had {
		h := &p.cells[had[i].cell]
		if h.Time > c.Time && h.Time < h.gone && h.gone < gone && had[i].SameValue(point) {
			again = max(again, had[i].age)
		}
	}
	return again
}

// compacted reports whether a cell was deleted by the TSD's compaction that put another one: after
// that was put and before it was gone itself. What tsdbridge replaces is deleted up to its own
// time, which is before.
func (b *deletedCell) compacted(put, gone int64) bool {
	for _, d := range b.tombstones.since(put + 1) {
		if d.Time >= gone {
			break
		}
		if !d.Exact {
			return true
		}
	}
	if gone != math.MaxInt64 {
		return false
	}
	for _, d := range b.tombstones.since(b.Time) {
		if d.Time > b.Time {
			break
		}
		if d.Exact {
			return true
		}
	}
	return false
}
