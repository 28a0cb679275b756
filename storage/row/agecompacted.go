package row

import (
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// findCompaction looks for the cell that holds what all cells of points hold, and that a TSD's
// compaction leaves, which deletes the others about a second later.
func (r *agedRow) findCompaction() {
	r.compaction = nil
	if c := r.longest(); c != nil && (r.putByCompaction(c) || r.holdsAll(c)) {
		r.compaction = c
	}
}

// putByCompaction reports whether a compaction has put a cell from the others, and gives it the ages
// of those. Such a cell has the time of the compaction, and no cell of ages.
func (r *agedRow) putByCompaction(c *agedCell) bool {
	if c.ages != nil {
		return false
	}
	sources := 0
	before := r.sources[:0]
	for i := range r.cells {
		s := &r.cells[i]
		if s == c || s.kind != schema.CellData || s.Time > c.Time {
			continue
		}
		sources++
		for _, p := range s.points {
			before = append(before, pastPoint{Point: p, age: r.ageOf(s, p)})
		}
	}
	r.sources = before
	if sources < 2 || len(before) < len(c.points) {
		return false
	}
	slices.SortFunc(before, func(a, b pastPoint) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.age, a.age)) })
	ages, ok := agesOfUnion(c.points, before)
	if ok {
		c.ages = ages
	}
	return ok
}

// holdsAll reports whether other cells repeat points of a cell and hold nothing else. A compaction
// finds nothing to put then and deletes them.
func (r *agedRow) holdsAll(c *agedCell) bool {
	others := 0
	for i := range r.cells {
		s := &r.cells[i]
		if s == c || s.kind != schema.CellData {
			continue
		}
		others++
		for _, p := range s.points {
			if !c.holds(p) {
				return false
			}
		}
	}
	return others > 0
}

// holds reports whether a cell, whose points are in order, has a point.
func (c *agedCell) holds(p schema.Point) bool {
	at, ok := PointAt(c.points, p.Offset)
	return ok && c.points[at].SameValue(p)
}

// longest returns the cell of most points, the latest of several, if there is one of more than one;
// else nil.
func (r *agedRow) longest() *agedCell {
	var c *agedCell
	for i := range r.cells {
		o := &r.cells[i]
		if o.kind == schema.CellData && len(o.points) > 1 &&
			(c == nil || cmp.Or(cmp.Compare(len(o.points), len(c.points)), cmp.Compare(o.Time, c.Time)) > 0) {
			c = o
		}
	}
	return c
}

// agesOfUnion returns when points were acknowledged, if they are exactly those of the cells before,
// which are in the order of their offsets and ages, the latest first.
func agesOfUnion(points []schema.Point, before []pastPoint) ([]own.Age, bool) {
	ages := make([]own.Age, 0, len(points))
	for _, p := range points {
		if len(before) == 0 || before[0].Offset != p.Offset {
			return nil, false
		}
		ages = append(ages, own.Age{Offset: p.Offset, Time: before[0].age})
		for len(before) > 0 && before[0].Offset == p.Offset {
			if !before[0].SameValue(p) {
				return nil, false
			}
			before = before[1:]
		}
	}
	return ages, len(before) == 0
}
