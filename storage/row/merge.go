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

const (
	// MaxCellPoints bounds a compacted cell that we write. A TSD reads far longer ones (40 000
	// points were tried); this keeps a cell of 12 bytes a point far below HBase's 10 MB.
	MaxCellPoints = 4096
	// maxCellObjects bounds the bytes of an object cell; objects of one instant are never parted.
	maxCellObjects = 1 << 20
)

// Change is what a write does to a row that was read first.
type Change struct {
	points  []schema.Point // new instants
	objects []own.Object   // new objects
	Known   int            // points that stood there already
	// A point or object that stood there goes or changes: its cells must be written anew.
	ReplacePoints, ReplaceObjects bool
}

// Merge applies new points and objects, each sorted and with one sample per instant, to the row,
// and returns what changed: the newest write wins. Afterwards the row holds the union.
func (r *Row) Merge(points []schema.Point, objects []own.Object) Change {
	var c Change
	for _, p := range points {
		r.mergePoint(&c, p)
	}
	for _, o := range objects {
		r.mergeObject(&c, o)
	}
	r.dropGone()
	if len(c.points) > 0 {
		for _, p := range c.points {
			r.Points = append(r.Points, Point{Point: p})
		}
		slices.SortFunc(r.Points, func(a, b Point) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	if len(c.objects) > 0 {
		for _, o := range c.objects {
			r.Objects = append(r.Objects, Object{Object: o})
		}
		slices.SortFunc(r.Objects, func(a, b Object) int { return CompareObjects(a.Object, b.Object) })
	}
	return c
}

func (r *Row) mergePoint(c *Change, p schema.Point) {
	if at, ok := r.pointAt(p.Offset); ok {
		if r.Points[at].SameValue(p) {
			c.Known++
			return
		}
		r.Points[at].Point = p
		c.ReplacePoints = true
	} else {
		c.points = append(c.points, p)
	}
	r.replaceObjects(c, p.Offset, Number)
}

func (r *Row) mergeObject(c *Change, n own.Object) {
	at, ok := slices.BinarySearchFunc(r.Objects, n, func(o Object, n own.Object) int { return CompareObjects(o.Object, n) })
	if ok && r.Objects[at].written != gone {
		if n.Kind.IsSample() {
			c.Known++
		}
		return
	}
	if n.Kind != storage.KindExemplar { // of which an instant may have many
		r.replaceObjects(c, n.Offset, n.Kind)
	}
	if Replaces(n.Kind, Number) {
		if at, ok := r.pointAt(n.Offset); ok {
			r.Points[at].written, c.ReplacePoints = gone, true
		}
	}
	c.objects = append(c.objects, n)
}

// gone is when that was written which dropGone takes out of the row.
const gone = math.MinInt64

func (r *Row) dropGone() {
	r.Points = slices.DeleteFunc(r.Points, func(p Point) bool { return p.written == gone })
	r.Objects = slices.DeleteFunc(r.Objects, func(o Object) bool { return o.written == gone })
}

// replaceObjects drops the objects of an instant whose place a new datum takes.
func (r *Row) replaceObjects(c *Change, offset uint32, newer storage.Kind) {
	at, _ := slices.BinarySearchFunc(r.Objects, offset, func(o Object, offset uint32) int { return cmp.Compare(o.Offset, offset) })
	for ; at < len(r.Objects) && r.Objects[at].Offset == offset; at++ {
		if Replaces(newer, r.Objects[at].Kind) {
			r.Objects[at].written, c.ReplaceObjects = gone, true
		}
	}
}

// Mutation writes the change to a row that has the cells: new cells in addition to the old ones,
// or, where something that stood there changes, one cell in place of all. The row must be merged.
func (r *Row) Mutation(key []byte, cells []kv.Cell, c Change) kv.Mutation {
	m := kv.Mutation{Key: key}
	if c.ReplacePoints {
		all := make([]schema.Point, len(r.Points))
		for i, p := range r.Points {
			all[i] = p.WithOurUnit()
		}
		m.Puts = appendPointCells(m.Puts, all)
		m.Deletes = otherCells(m.Deletes, cells, m.Puts, schema.CellData, schema.CellAppend)
	} else {
		m.Puts = appendPointCells(m.Puts, c.points)
	}
	if len(c.objects) == 0 && !c.ReplaceObjects {
		return m
	}
	puts := appendObjectCells(nil, c.objects)
	if c.ReplaceObjects || collides(puts, cells) {
		all := make([]own.Object, len(r.Objects))
		for i, o := range r.Objects {
			all[i] = o.Object
		}
		puts = appendObjectCells(nil, all)
		m.Deletes = otherCells(m.Deletes, cells, puts, schema.CellObject, schema.CellObject)
	}
	m.Puts = append(m.Puts, puts...)
	return m
}

// collides reports whether a cell to put would overwrite one that is there: object cells are named
// after their first object only.
func collides(puts []kv.Put, cells []kv.Cell) bool {
	return slices.ContainsFunc(puts, func(p kv.Put) bool {
		_, ok := slices.BinarySearchFunc(cells, p.Qualifier, func(c kv.Cell, q []byte) int { return bytes.Compare(c.Qualifier, q) })
		return ok
	})
}

// otherCells appends deletes of the cells of two kinds that no put overwrites.
func otherCells(deletes []kv.Delete, cells []kv.Cell, puts []kv.Put, a, b schema.CellKind) []kv.Delete {
	put := make([][]byte, len(puts))
	for i := range puts {
		put[i] = puts[i].Qualifier
	}
	slices.SortFunc(put, bytes.Compare)
	for _, c := range cells {
		if kind := schema.ClassifyCell(c.Qualifier); kind != a && kind != b {
			continue
		}
		if _, ok := slices.BinarySearchFunc(put, c.Qualifier, bytes.Compare); !ok {
			deletes = append(deletes, kv.Delete{Qualifier: c.Qualifier})
		}
	}
	return deletes
}

// Cells makes the cells of sorted points and objects.
func Cells(points []schema.Point, objects []own.Object) []kv.Put {
	return appendObjectCells(appendPointCells(nil, points), objects)
}

// appendPointCells appends the cells of sorted points, a compacted one for each MaxCellPoints.
func appendPointCells(puts []kv.Put, points []schema.Point) []kv.Put {
	puts = slices.Grow(puts, (len(points)+MaxCellPoints-1)/MaxCellPoints)
	for chunk := range slices.Chunk(points, MaxCellPoints) {
		q, v := schema.AppendCell(nil, nil, chunk)
		puts = append(puts, kv.Put{Qualifier: q, Value: v})
	}
	return puts
}

// appendObjectCells appends the cells of sorted objects.
func appendObjectCells(puts []kv.Put, objects []own.Object) []kv.Put {
	for len(objects) > 0 {
		n, size := 0, 0
		for n < len(objects) && (size < maxCellObjects || objects[n].Offset == objects[n-1].Offset) {
			size += len(objects[n].Data) + 8
			n++
		}
		q, v := own.AppendObjectCell(nil, nil, objects[:n])
		puts = append(puts, kv.Put{Qualifier: q, Value: v})
		objects = objects[n:]
	}
	return puts
}
