package row

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// maxAppended bounds the append cell that we write, in bytes: it is read and written again as a whole
// with each write to its row. More points are put next to it.
const maxAppended = 1 << 20

// Appended is what a mutation of a Reconciler that appends depends on: the append cell, as it was
// read.
func Appended(cells []kv.Cell) *kv.Expected {
	expected := &kv.Expected{Qualifier: schema.ArrivalsQualifier()}
	for i := range cells {
		if bytes.Equal(cells[i].Qualifier, expected.Qualifier) {
			expected.Value = cells[i].Value
		}
	}
	return expected
}

// putAppended puts the points that won into the append cell of the row, in the order of time, with
// those that it has. It leaves the points to other cells if this one cannot be read or would be too
// large.
func (r *Reconciler) putAppended(stamp int64) {
	at := slices.IndexFunc(r.cells, func(c agedCell) bool { return c.kind == schema.CellAppend })
	loses := at >= 0 && len(r.lost[at]) > 0
	if r.brokenAppended() || len(r.won) == 0 && !loses {
		return
	}
	points, ages := slices.Clone(r.won), slices.Clone(r.wonAges)
	if at >= 0 {
		left := r.left(at)
		points, ages = append(points, left...), append(ages, agesOf(r, &r.cells[at], left)...)
	}
	slices.SortFunc(points, func(a, b schema.Point) int { return cmp.Compare(a.Offset, b.Offset) })
	value := schema.AppendArrivals(nil, points)
	if len(value) > maxAppended {
		return
	}
	if at >= 0 {
		r.lost[at] = nil // this is done here
		r.dropAges(&r.cells[at])
	}
	if len(points) == 0 {
		r.delete(&r.cells[at])
		return
	}
	puts := []kv.Put{{Qualifier: schema.ArrivalsQualifier(), Value: value}}
	stamp = r.freeToWrite(puts, cmp.Or(stamp, r.clock))
	r.put(puts, stamp)
	r.noteAppended(points, ages, stamp)
	r.won = r.won[:0]
	r.wonAges = slices.DeleteFunc(r.wonAges, func(a own.Age) bool { return !sampleAt(r.fresh, a.Offset) })
}

// brokenAppended reports whether the row has an append cell that cannot be read.
func (r *Reconciler) brokenAppended() bool {
	return slices.ContainsFunc(r.Broken, func(b BrokenCell) bool { return schema.ClassifyCell(b.Qualifier) == schema.CellAppend })
}

// left returns the points of a cell that stay in it.
func (r *Reconciler) left(cell int) []schema.Point {
	c, lost := &r.cells[cell], r.lost[cell]
	left := make([]schema.Point, 0, len(c.points))
	for _, p := range c.points {
		if _, gone := slices.BinarySearch(lost, p.Offset); !gone {
			left = append(left, p)
		}
	}
	return left
}

// noteAppended remembers when each point of the append cell was acknowledged: now, if ages do not
// tell. A TSD that appends to the cell changes its stamp; what it finds there keeps its times by
// these ages.
func (r *rewriting) noteAppended(points []schema.Point, known []own.Age, stamp int64) {
	slices.SortFunc(known, func(a, b own.Age) int { return cmp.Compare(a.Offset, b.Offset) })
	ages := make([]own.Age, len(points))
	for i, p := range points {
		age, ok := AgeAt(known, p.Offset)
		if !ok {
			age = stamp
		}
		ages[i] = own.Age{Offset: p.Offset, Time: age}
	}
	r.noted = append(r.noted, notedAges{stamp: stamp, ages: ages, arrivals: true})
}

// dropAges deletes the cell of ages of an append cell that is put anew, unless other cells of the row
// have the stamp too.
func (r *rewriting) dropAges(c *agedCell) {
	if c.agesCell == nil || !slices.ContainsFunc(r.history.Cells, func(held kv.Cell) bool {
		return held.Time == c.agesCell.Time && bytes.Equal(held.Qualifier, c.agesCell.Qualifier)
	}) {
		return // none, or it is deleted already
	}
	for i := range r.cells {
		if o := &r.cells[i]; o != c && o.Time == c.agesCell.Time {
			return
		}
	}
	r.mutation.Deletes = kv.DeletesOf(r.mutation.Deletes, []kv.Cell{*c.agesCell})
}

// agesOfArrivals returns the ages of an append cell to which a TSD appended since we put it with a
// cell of ages, and that cell: what we put comes first, point for point, and what arrived since is of
// the time of the cell. ages are those of append cells, in the order of their
// times.
func agesOfArrivals(c *agedCell, ages []agedCell) ([]own.Age, *kv.Cell) {
	arrivals, err := schema.DecodeArrivals(nil, c.Value)
	if err != nil {
		return nil, nil
	}
	for i := range slices.Backward(ages) {
		a := &ages[i]
		if a.Time <= c.Time && len(a.ages) > 0 && beginsWith(arrivals, a.ages) {
			return without(a.ages, arrivals[len(a.ages):]), &a.Cell
		}
	}
	return nil, nil
}

// beginsWith reports whether the first points are those of some ages.
func beginsWith(points []schema.Point, ages []own.Age) bool {
	if len(points) < len(ages) {
		return false
	}
	for i, a := range ages {
		if points[i].Offset != a.Offset {
			return false
		}
	}
	return true
}

// without returns the ages of those offsets that no point has.
func without(ages []own.Age, points []schema.Point) []own.Age {
	offsets := make(map[uint32]bool, len(points))
	for _, p := range points {
		offsets[p.Offset] = true
	}
	return slices.DeleteFunc(slices.Clone(ages), func(a own.Age) bool { return offsets[a.Offset] })
}
