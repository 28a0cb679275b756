package storage

import (
	"bytes"
	"cmp"
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
	r.dropObjects(c, func(o object) bool {
		return o.Offset == p.Offset && (o.Kind.IsSample() || o.Kind == schema.ObjectStartTime && !hasStartTime(objects, p.Offset))
	})
}

func (r *row) mergeObject(c *change, n schema.Object) {
	for _, o := range r.objects {
		if o.Offset == n.Offset && o.Kind == n.Kind && bytes.Equal(o.Data, n.Data) {
			if n.Kind.IsSample() {
				c.known++
			}
			return
		}
	}
	if n.Kind != schema.ObjectExemplar {
		r.dropObjects(c, func(o object) bool {
			return o.Offset == n.Offset && (o.Kind == n.Kind || n.Kind.IsSample() && o.Kind.IsSample())
		})
	}
	if at, ok := r.pointAt(n.Offset); ok && n.Kind.IsSample() {
		r.points = slices.Delete(r.points, at, at+1)
		c.replacePoints = true
	}
	c.objects = append(c.objects, n)
}

func (r *row) dropObjects(c *change, drop func(object) bool) {
	n := len(r.objects)
	r.objects = slices.DeleteFunc(r.objects, drop)
	c.replaceObjects = c.replaceObjects || len(r.objects) < n
}

func hasStartTime(objects []schema.Object, offset uint32) bool {
	return slices.ContainsFunc(objects, func(o schema.Object) bool { return o.Offset == offset && o.Kind == schema.ObjectStartTime })
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
		return slices.ContainsFunc(cells, func(c kv.Cell) bool { return bytes.Equal(c.Qualifier, p.Qualifier) })
	})
}

// otherCells appends deletes of the cells of two kinds that no put overwrites.
func otherCells(deletes []kv.Delete, cells []kv.Cell, puts []kv.Put, a, b schema.CellKind) []kv.Delete {
	for _, c := range cells {
		if kind := schema.ClassifyCell(c.Qualifier); kind != a && kind != b {
			continue
		}
		if !slices.ContainsFunc(puts, func(p kv.Put) bool { return bytes.Equal(p.Qualifier, c.Qualifier) }) {
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
