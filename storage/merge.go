package storage

import (
	"bytes"
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	// maxCellPoints bounds a compacted cell that we write. A TSD reads far longer ones (40 000 points were tried);
	// this keeps a cell of 12 bytes a point far below HBase's 10 MB.
	maxCellPoints = 4096
	// maxCellObjects bounds the bytes of an object cell; objects of one instant are never parted.
	maxCellObjects = 1 << 20
)

// change is what a write does to a row that was read first.
type change struct {
	points  []schema.Point  // new instants
	objects []schema.Object // new objects
	known   int             // points that stood there already
	// A point or object that stood there goes or changes: its cells must be written anew.
	replacePoints, replaceObjects bool
}

// merge applies new points and objects, each sorted and with one sample per instant, to the row, newest write winning, and says what
// changed. Afterwards the row holds the union.
func (r *row) merge(points []schema.Point, objects []schema.Object) change {
	var c change
	for _, p := range points {
		r.mergePoint(&c, p, objects)
	}
	for _, o := range objects {
		r.mergeObject(&c, o)
	}
	r.dropGone()
	if len(c.points) > 0 {
		for _, p := range c.points {
			r.points = append(r.points, point{Point: p})
		}
		slices.SortFunc(r.points, func(a, b point) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	if len(c.objects) > 0 {
		for _, o := range c.objects {
			r.objects = append(r.objects, object{Object: o})
		}
		slices.SortFunc(r.objects, func(a, b object) int { return compareObjects(a.Object, b.Object) })
	}
	return c
}

func (r *row) mergePoint(c *change, p schema.Point, objects []schema.Object) {
	if at, ok := r.pointAt(p.Offset); ok {
		if r.points[at].SameValue(p) {
			c.known++
			return
		}
		r.points[at].Point = p
		c.replacePoints = true
	} else {
		c.points = append(c.points, p)
	}
	// What stood at the instant as an object is gone, and the old sample's start time with it unless the new one brings its own.
	r.dropSample(c, p.Offset)
	if !hasStartTime(objects, p.Offset) {
		r.dropKind(c, p.Offset, schema.ObjectStartTime)
	}
}

func (r *row) mergeObject(c *change, n schema.Object) {
	at, ok := slices.BinarySearchFunc(r.objects, n, func(o object, n schema.Object) int { return compareObjects(o.Object, n) })
	if ok && r.objects[at].written != gone {
		if n.Kind.IsSample() {
			c.known++
		}
		return
	}
	switch {
	case n.Kind.IsSample():
		r.dropSample(c, n.Offset)
		if at, ok := r.pointAt(n.Offset); ok {
			r.points[at].written, c.replacePoints = gone, true
		}
	case n.Kind != schema.ObjectExemplar:
		r.dropKind(c, n.Offset, n.Kind)
	}
	c.objects = append(c.objects, n)
}

// gone is when that was written which dropGone takes out of the row.
const gone = math.MinInt64

func (r *row) dropGone() {
	r.points = slices.DeleteFunc(r.points, func(p point) bool { return p.written == gone })
	r.objects = slices.DeleteFunc(r.objects, func(o object) bool { return o.written == gone })
}

// dropSample drops the object that is the sample of an instant: samples stand first of its objects.
func (r *row) dropSample(c *change, offset uint32) {
	for at := r.firstObject(offset, 0); at < len(r.objects) && r.objects[at].Offset == offset && r.objects[at].Kind.IsSample(); at++ {
		r.drop(c, at)
	}
}

// dropKind drops the object of a kind, of which an instant has one.
func (r *row) dropKind(c *change, offset uint32, kind schema.ObjectKind) {
	if at := r.firstObject(offset, kind); at < len(r.objects) && r.objects[at].Offset == offset && r.objects[at].Kind == kind {
		r.drop(c, at)
	}
}

func (r *row) drop(c *change, at int) {
	r.objects[at].written, c.replaceObjects = gone, true
}

// firstObject is where the objects of an instant begin that are of a kind or a later one.
func (r *row) firstObject(offset uint32, kind schema.ObjectKind) int {
	at, _ := slices.BinarySearchFunc(r.objects, offset, func(o object, offset uint32) int {
		return cmp.Or(cmp.Compare(o.Offset, offset), cmp.Compare(o.Kind, kind))
	})
	return at
}

// hasStartTime says whether sorted objects have a start time at an offset, behind which no other kind stands.
func hasStartTime(objects []schema.Object, offset uint32) bool {
	end, _ := slices.BinarySearchFunc(objects, offset+1, func(o schema.Object, offset uint32) int { return cmp.Compare(o.Offset, offset) })
	return end > 0 && objects[end-1].Offset == offset && objects[end-1].Kind == schema.ObjectStartTime
}

// mutation writes the change to a row that has the cells: new cells beside the old ones, or, where something that
// stood there changes, one cell in place of all. The row must be merged.
func (r *row) mutation(key []byte, cells []kv.Cell, c change) kv.Mutation {
	m := kv.Mutation{Key: key}
	if c.replacePoints {
		all := make([]schema.Point, len(r.points))
		for i, p := range r.points {
			all[i] = p.WithOurUnit()
		}
		m.Puts = appendPointCells(m.Puts, all)
		m.Deletes = otherCells(m.Deletes, cells, m.Puts, schema.CellData, schema.CellAppend)
	} else {
		m.Puts = appendPointCells(m.Puts, c.points)
	}
	if len(c.objects) == 0 && !c.replaceObjects {
		return m
	}
	puts := appendObjectCells(nil, c.objects)
	if c.replaceObjects || collides(puts, cells) {
		all := make([]schema.Object, len(r.objects))
		for i, o := range r.objects {
			all[i] = o.Object
		}
		puts = appendObjectCells(nil, all)
		m.Deletes = otherCells(m.Deletes, cells, puts, schema.CellObject, schema.CellObject)
	}
	m.Puts = append(m.Puts, puts...)
	return m
}

// collides says whether a cell to put would overwrite one that is there: object cells are named after their first object only.
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

// appendPointCells appends the cells of sorted points, a compacted one for each maxCellPoints.
func appendPointCells(puts []kv.Put, points []schema.Point) []kv.Put {
	puts = slices.Grow(puts, (len(points)+maxCellPoints-1)/maxCellPoints)
	for chunk := range slices.Chunk(points, maxCellPoints) {
		q, v := schema.AppendCell(nil, nil, chunk)
		puts = append(puts, kv.Put{Qualifier: q, Value: v})
	}
	return puts
}

// appendObjectCells appends the cells of sorted objects.
func appendObjectCells(puts []kv.Put, objects []schema.Object) []kv.Put {
	for len(objects) > 0 {
		n, size := 0, 0
		for n < len(objects) && (size < maxCellObjects || objects[n].Offset == objects[n-1].Offset) {
			size += len(objects[n].Data) + 8
			n++
		}
		q, v := schema.AppendObjectCell(nil, nil, objects[:n])
		puts = append(puts, kv.Put{Qualifier: q, Value: v})
		objects = objects[n:]
	}
	return puts
}
