package head

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Row is all that the head holds of a series in an hour, in the form of the cells of the table's
// row: points and objects in order, one sample an instant.
type Row struct {
	ID      uint32
	Base    uint32 // seconds
	Points  []schema.Point
	Objects []schema.Object
}

// RowBuffer is the memory of rows. The zero value is an empty one.
type RowBuffer struct {
	view    view
	points  []schema.Point
	objects []schema.Object
}

// Reset takes the memory of all rows back.
func (b *RowBuffer) Reset() {
	b.view.reset()
	clear(b.objects)
	b.points, b.objects = b.points[:0], b.objects[:0]
}

// row makes a row of the copies of one hour.
func (b *RowBuffer) row(id, base uint32, rows []rowView, values schema.Values) Row {
	points, objects := len(b.points), len(b.objects)
	if c := &b.view.columns; b.plain(c, rows) {
		b.addColumns(c, int64(base)*1000, values)
	} else {
		for _, e := range b.view.settled(rows) {
			b.addEntry(e, values)
		}
	}
	return Row{ID: id, Base: base, Points: b.points[points:len(b.points):len(b.points)], Objects: b.objects[objects:len(b.objects):len(b.objects)]}
}

func (b *RowBuffer) plain(c *columns, rows []rowView) bool {
	c.reset()
	return b.view.plain(c, rows)
}

func (b *RowBuffer) addColumns(c *columns, begin int64, values schema.Values) {
	integers, doubles := c.integers, c.doubles
	for i, t := range c.times {
		offset := uint32(t - begin)
		if len(integers) > 0 && integers[0].at == i {
			b.points = append(b.points, schema.IntPoint(offset, integers[0].value))
			integers = integers[1:]
			continue
		}
		form := schema.FormFloat
		if len(doubles) > 0 {
			form, doubles = doubles.form(i)
		}
		b.addFloat(offset, c.values[i], form, values)
	}
}

func (b *RowBuffer) addEntry(e entry, values schema.Values) {
	switch e.kind {
	case kindFloat:
		b.addFloat(e.offset, math.Float64frombits(e.bits), schema.FormFloat, values)
	case kindDouble:
		b.addFloat(e.offset, math.Float64frombits(e.bits), schema.FormDouble, values)
	case kindInteger:
		b.points = append(b.points, schema.IntPoint(e.offset, int64(e.bits)))
	default:
		b.objects = append(b.objects, schema.Object{Offset: e.offset, Kind: e.kind, Data: e.data})
	}
}

func (b *RowBuffer) addFloat(offset uint32, v float64, form schema.Form, values schema.Values) {
	if p, ok := schema.ValuePoint(offset, v, form, values); ok {
		b.points = append(b.points, p)
		return
	}
	b.objects = append(b.objects, schema.FloatObject(offset, v))
}
