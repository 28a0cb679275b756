package storage

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// agedCell is a cell of points or objects in a row of a shared table, and when what it holds was acknowledged.
type agedCell struct {
	kv.Cell
	kind    schema.CellKind
	points  []schema.Point
	objects []schema.Object
	ages    []schema.Age // of the cell of ages that was put with it; nil: all are of the time of the cell
}

// agedRow is a row of a shared table with its past: what each cell says, when that was acknowledged, and when the row was deleted.
type agedRow struct {
	cells   []agedCell // that are read
	hidden  []agedCell // overwritten or deleted, as far as the engine still has them
	loose   []agedCell // cells of ages whose cell of points is gone: a TSD's compaction replaced it
	deleted int64      // when the row was last deleted, milliseconds; 0: never
	broken  []broken
	history *kv.History
}

// broken is a cell that cannot be read.
type broken struct {
	qualifier []byte
	err       error
}

// load reads a row.
func (r *agedRow) load(h *kv.History) {
	*r = agedRow{cells: r.cells[:0], hidden: r.hidden[:0], loose: r.loose[:0], broken: r.broken[:0], history: h}
	for _, d := range h.Deletes {
		if d.Qualifier == nil && !d.Exact {
			r.deleted = max(r.deleted, d.Time)
		}
	}
	var ages []agedCell
	r.cells, ages = r.decode(r.cells, ages, h.Cells)
	if len(h.Hidden) > 0 {
		r.hidden, ages = r.decode(r.hidden, ages, h.Hidden)
	}
	for _, a := range ages {
		paired := pair(r.cells, a)
		if hidden := pair(r.hidden, a); !paired && !hidden {
			r.loose = append(r.loose, a)
		}
	}
}

// pair gives the cells that were put with a cell of ages what it says, and reports whether there are any.
func pair(cells []agedCell, ages agedCell) (found bool) {
	for i := range cells {
		if cells[i].Time == ages.Time {
			cells[i].ages, found = ages.ages, true
		}
	}
	return found
}

// decode appends what cells say: those of points and objects to held, those of ages to ages.
func (r *agedRow) decode(held, ages []agedCell, cells []kv.Cell) (heldNow, agesNow []agedCell) {
	for _, c := range cells {
		a, err := agedCell{Cell: c, kind: schema.ClassifyCell(c.Qualifier)}, error(nil)
		switch a.kind {
		case schema.CellData:
			a.points, err = schema.DecodeData(nil, c.Qualifier, c.Value)
		case schema.CellAppend:
			a.points, err = schema.DecodeAppend(nil, c.Value)
		case schema.CellObject:
			a.objects, err = schema.DecodeObjects(nil, c.Qualifier, c.Value)
		case schema.CellAges:
			a.ages, err = schema.DecodeAges(nil, c.Qualifier, c.Value)
		case schema.CellAnnotation, schema.CellHistogram, schema.CellUnknown:
			continue
		}
		switch {
		case err != nil:
			r.broken = append(r.broken, broken{c.Qualifier, err})
		case a.kind == schema.CellAges:
			ages = append(ages, a)
		default:
			held = append(held, a)
		}
	}
	return held, ages
}

// ageOf returns when the point at an offset of a cell was acknowledged, as well as that is known. A cell of points that a TSD's compaction made has
// the time of the compaction: what was there before says when its points came.
func (r *agedRow) ageOf(c *agedCell, p schema.Point) int64 {
	if at, ok := ageAt(c.ages, p.Offset); ok {
		return at
	}
	if len(c.points) < 2 {
		return c.Time
	}
	before := int64(0)
	for _, a := range r.loose {
		if at, ok := ageAt(a.ages, p.Offset); ok {
			before = max(before, at)
		}
	}
	for i := range r.hidden {
		h := &r.hidden[i]
		if h.Time < c.Time && r.compacted(h, c) && h.holds(p) {
			before = max(before, r.ageOf(h, p))
		}
	}
	if before == 0 {
		return c.Time
	}
	return min(max(before, r.deleted+1), c.Time)
}

// compacted reports whether a hidden cell was deleted by the TSD's compaction that put another one: after that was put and before it was deleted itself.
// What tsdbridge replaces is deleted up to its own time, which is before.
func (r *agedRow) compacted(h, into *agedCell) bool {
	gone := r.deletedAt(into)
	for _, d := range r.history.Deletes {
		if d.Qualifier == nil || !bytes.Equal(d.Qualifier, h.Qualifier) {
			continue
		}
		if !d.Exact && d.Time > into.Time && d.Time < gone || d.Exact && d.Time == h.Time && gone == math.MaxInt64 {
			return true
		}
	}
	return false
}

// deletedAt returns when a cell was deleted by its qualifier, after all time if it was not.
func (r *agedRow) deletedAt(c *agedCell) int64 {
	at := int64(math.MaxInt64)
	for _, d := range r.history.Deletes {
		if d.Qualifier != nil && !d.Exact && d.Time >= c.Time && bytes.Equal(d.Qualifier, c.Qualifier) {
			at = min(at, d.Time)
		}
	}
	return at
}

// holds reports whether a cell has a point with the same value.
func (c *agedCell) holds(p schema.Point) bool {
	return slices.ContainsFunc(c.points, func(o schema.Point) bool { return o.Offset == p.Offset && o.SameValue(p) })
}

// objectAge returns when an object of a cell was acknowledged.
func (c *agedCell) objectAge(o schema.Object) int64 {
	if at, ok := ageAt(c.ages, o.Offset); ok && o.Kind.IsSample() {
		return at
	}
	return c.Time
}

func ageAt(ages []schema.Age, offset uint32) (int64, bool) {
	i, ok := slices.BinarySearchFunc(ages, offset, func(a schema.Age, o uint32) int { return cmp.Compare(a.Offset, o) })
	if !ok {
		return 0, false
	}
	return ages[i].Time, true
}
