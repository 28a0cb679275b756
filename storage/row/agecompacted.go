package row

import (
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// findCompaction looks for the cell that a TSD's compaction has put and whose sources it has not
// deleted yet; it does so about a second later. Such a cell has the time of the compaction. Its
// sources, which are still in the row, tell when its points came.
func (r *agedRow) findCompaction() {
	r.compaction = nil
	c := r.longest()
	if c == nil {
		return
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
		return
	}
	slices.SortFunc(before, func(a, b pastPoint) int { return cmp.Or(cmp.Compare(a.Offset, b.Offset), cmp.Compare(b.age, a.age)) })
	if ages, ok := agesOfUnion(c.points, before); ok {
		c.ages, r.compaction = ages, c
	}
}

// longest returns the cell of most points, the latest of several, if a compaction may have made it;
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
	if c == nil || c.ages != nil {
		return nil
	}
	return c
}

// agesOfUnion returns when points were acknowledged, if they are exactly those of the cells before,
// which are in the order of their offsets and ages, the latest first.
func agesOfUnion(points []schema.Point, before []pastPoint) ([]schema.Age, bool) {
	ages := make([]schema.Age, 0, len(points))
	for _, p := range points {
		if len(before) == 0 || before[0].Offset != p.Offset {
			return nil, false
		}
		ages = append(ages, schema.Age{Offset: p.Offset, Time: before[0].age})
		for len(before) > 0 && before[0].Offset == p.Offset {
			if !before[0].SameValue(p) {
				return nil, false
			}
			before = before[1:]
		}
	}
	return ages, len(before) == 0
}
