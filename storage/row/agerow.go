package row

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// agedCell is a cell of points or objects in a row of a shared table, and when what it holds was
// acknowledged.
type agedCell struct {
	kv.Cell
	kind    schema.CellKind
	points  []schema.Point
	objects []own.Object
	// of the cell of ages that was put with it; nil: none was. What it does not list is of the time
	// of the cell.
	ages     []own.Age
	agesCell *kv.Cell // of an append cell: it holds the ages
}

// agedRow is a row of a shared table with its past: what each cell holds, when that was
// acknowledged, and when the row was deleted. It keeps its memory from row to row.
type agedRow struct {
	cells   []agedCell // that are read
	deleted int64      // when the row was last deleted, milliseconds; 0: never
	Broken  []BrokenCell
	history *kv.History
	past    past
	// erasing means that points count as acknowledged when they were, although the row was deleted
	// since: a TSD that was compacting the row put them again. Elsewhere they count as put after that.
	erasing bool
	slab    []schema.Point // of all cells, one after the other

	// of cells, the one that a TSD's compaction leaves, which is going to delete the others of
	// points; nil: none
	compaction *agedCell
	sources    []pastPoint // scratch
}

// BrokenCell is a cell that cannot be read.
type BrokenCell struct {
	Qualifier []byte
	Err       error
}

// slabKept is how many points a row keeps the memory of for the next.
const slabKept = 1 << 16

// load reads a row.
func (r *agedRow) load(h *kv.History) {
	erasing := r.erasing
	clear(r.cells)
	if cap(r.slab) > slabKept {
		r.slab, r.past, r.sources = nil, past{}, nil
	}
	*r = agedRow{erasing: erasing, cells: r.cells[:0], Broken: r.Broken[:0], history: h, past: r.past, slab: r.slab[:0], sources: r.sources}
	for _, d := range h.Deletes {
		if d.Qualifier == nil && !d.Exact {
			r.deleted = max(r.deleted, d.Time)
		}
	}
	var ages []agedCell
	for _, c := range h.Cells {
		switch a, ok := r.decode(c); {
		case !ok:
		case a.kind == schema.CellAges:
			ages = append(ages, a)
		default:
			r.cells = append(r.cells, a)
		}
	}
	r.past.load(r, ages)
	r.findCompaction()
}

// decode returns what a cell of points, objects or ages holds; ok is false for others.
func (r *agedRow) decode(c kv.Cell) (a agedCell, ok bool) {
	a, err := agedCell{Cell: c, kind: schema.ClassifyCell(c.Qualifier)}, error(nil)
	start := len(r.slab)
	switch a.kind {
	case schema.CellData:
		if r.slab, err = schema.DecodeData(r.slab, c.Qualifier, c.Value); len(r.slab) > start+1 {
			r.slab[start] = r.slab[start].FromFirst()
		}
	case schema.CellAppend:
		r.slab, err = schema.DecodeAppend(r.slab, c.Value)
	case schema.CellObject:
		a.objects, err = own.DecodeObjects(nil, c.Qualifier, c.Value)
	case schema.CellAges:
		a.ages, err = own.DecodeAges(nil, c.Qualifier, c.Value)
	case schema.CellAnnotation, schema.CellHistogram, schema.CellUnknown:
		return a, false
	}
	if err != nil {
		r.Broken = append(r.Broken, BrokenCell{c.Qualifier, err})
		r.slab = r.slab[:start]
		return a, false
	}
	a.points = r.slab[start:len(r.slab):len(r.slab)]
	return a, true
}

// ageOf returns when the point at an offset of a cell was acknowledged, as well as that is known. A
// cell of points that a TSD's compaction made has the time of the compaction: what was there before
// tells when its points came.
func (r *agedRow) ageOf(c *agedCell, p schema.Point) int64 {
	return r.ageWith(c, p, math.MaxInt64, r.past.at(p.Offset))
}

// ageWith is ageOf for a cell that was deleted at a time, given what the past has at the offset.
func (r *agedRow) ageWith(c *agedCell, p schema.Point, gone int64, had []pastPoint) int64 {
	age, ok := AgeAt(c.ages, p.Offset)
	switch {
	case ok:
	case c.ages != nil || len(c.points) < 2 || r.past.empty():
		age = c.Time
	default:
		age = r.past.tookOver(r, c, p, gone, had)
	}
	return max(age, r.past.writtenAgain(c, p, gone, had))
}

// objectAge returns when an object of a cell was acknowledged.
func (c *agedCell) objectAge(o own.Object) int64 {
	if at, ok := AgeAt(c.ages, o.Offset); ok && o.Kind.IsSample() {
		return at
	}
	return c.Time
}

// AgeAt returns when the point at an offset was acknowledged; false if ages do not contain it.
func AgeAt(ages []own.Age, offset uint32) (int64, bool) {
	i, ok := slices.BinarySearchFunc(ages, offset, func(a own.Age, o uint32) int { return cmp.Compare(a.Offset, o) })
	if !ok {
		return 0, false
	}
	return ages[i].Time, true
}

// tombstones are the deletions of cells by their qualifiers, in the order of those and their times.
type tombstones []kv.Tombstone

// load takes the deletions of a row.
func (g tombstones) load(all []kv.Tombstone) tombstones {
	g = g[:0]
	for _, d := range all {
		if d.Qualifier != nil {
			g = append(g, d)
		}
	}
	slices.SortFunc(g, func(a, b kv.Tombstone) int {
		return cmp.Or(bytes.Compare(a.Qualifier, b.Qualifier), cmp.Compare(a.Time, b.Time))
	})
	return g
}

// of returns the deletions of a qualifier.
func (g tombstones) of(qualifier []byte) tombstones {
	from, to := g.span(qualifier)
	return g[from:to]
}

// span returns where the deletions of a qualifier begin and end.
func (g tombstones) span(qualifier []byte) (from, to int) {
	from, _ = slices.BinarySearchFunc(g, qualifier, func(d kv.Tombstone, q []byte) int { return bytes.Compare(d.Qualifier, q) })
	for to = from; to < len(g) && bytes.Equal(g[to].Qualifier, qualifier); to++ {
	}
	return from, to
}

// since returns those of one qualifier at or after a time.
func (g tombstones) since(time int64) tombstones {
	at, _ := slices.BinarySearchFunc(g, time, func(d kv.Tombstone, t int64) int { return cmp.Compare(d.Time, t) })
	return g[at:]
}

// deletedAt returns when a cell was deleted by its qualifier, whose deletions these are; after all
// time if it was not.
func (g tombstones) deletedAt(time int64) int64 {
	for _, d := range g.since(time) {
		if !d.Exact {
			return d.Time
		}
	}
	return math.MaxInt64
}
