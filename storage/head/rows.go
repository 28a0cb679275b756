package head

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// A Row is all that the head holds of a series in an hour, in the form of the cells of the table's
// row: points and objects in order, one sample an instant.
type Row struct {
	ID      uint32
	Base    uint32 // seconds
	Points  []schema.Point
	Objects []own.Object
	// Coded, if not nil, is all of the row as a cell of columns (columns.Encoder), in place of
	// Points and Objects; First and Last are then the offsets of its points at the ends.
	Coded       []byte
	First, Last uint32
}

// RowBuffer is the memory of rows. The zero value is an empty one.
type RowBuffer struct {
	view    view
	points  []schema.Point
	objects []own.Object
	encoder columns.Encoder
	coded   []byte
}

// Reset takes the memory of all rows back.
func (b *RowBuffer) Reset() {
	b.view.reset()
	clear(b.objects)
	b.points, b.objects, b.coded = b.points[:0], b.objects[:0], b.coded[:0]
}

// row makes a row of the copies of one hour, coded if it is asked for and can be.
func (b *RowBuffer) row(id, base uint32, rows []rowView, values schema.Values, coded bool) Row {
	points, objects := len(b.points), len(b.objects)
	if c := &b.view.columns; b.plain(c, rows) {
		if coded {
			if r, ok := b.code(c, id, base, values); ok {
				return r
			}
		}
		b.addColumns(c, int64(base)*1000, values)
	} else {
		for _, e := range b.view.settled(rows) {
			b.addEntry(e, values)
		}
	}
	return Row{ID: id, Base: base, Points: b.points[points:len(b.points):len(b.points)], Objects: b.objects[objects:len(b.objects):len(b.objects)]}
}

// code makes the row of columns that are floats of one form.
func (b *RowBuffer) code(c *points, id, base uint32, values schema.Values) (r Row, ok bool) {
	n := len(c.times)
	if n > row.MaxCellPoints || len(c.integers) > 0 {
		return r, false
	}
	if len(c.doubles) > 0 {
		if c.doubles[0] != (span{0, n}) {
			return r, false
		}
		if values == schema.ValuesAuto {
			values = schema.ValuesDouble // as schema.ValuePoint has it
		}
	}
	at, begin := len(b.coded), int64(base)*1000
	if b.coded, ok = b.encoder.AppendFloats(b.coded, c.times, c.values, begin, values); !ok {
		return r, false
	}
	coded := b.coded[at:len(b.coded):len(b.coded)] // stays when the buffer grows
	return Row{ID: id, Base: base, Coded: coded, First: uint32(c.times[0] - begin), Last: uint32(c.times[n-1] - begin)}, true
}

func (b *RowBuffer) plain(c *points, rows []rowView) bool {
	c.reset()
	return b.view.plain(c, rows, math.MinInt64)
}

func (b *RowBuffer) addColumns(c *points, begin int64, values schema.Values) {
	integers, doubles := c.integers, c.doubles
	for i, t := range c.times {
		offset := uint32(t - begin)
		if len(integers) > 0 && integers[0].at == i {
			b.points = append(b.points, schema.IntPoint(offset, integers[0].value))
			integers = integers[1:]
			continue
		}
		form := storage.FormFloat
		if len(doubles) > 0 {
			form, doubles = doubles.form(i)
		}
		b.addFloat(offset, c.values[i], form, values)
	}
}

func (b *RowBuffer) addEntry(e entry, values schema.Values) {
	switch e.kind {
	case kindFloat:
		b.addFloat(e.offset, math.Float64frombits(e.bits), storage.FormFloat, values)
	case kindDouble:
		b.addFloat(e.offset, math.Float64frombits(e.bits), storage.FormDouble, values)
	case kindInteger:
		b.points = append(b.points, schema.IntPoint(e.offset, int64(e.bits)))
	default:
		b.objects = append(b.objects, own.Object{Offset: e.offset, Kind: e.kind, Data: e.data})
	}
}

func (b *RowBuffer) addFloat(offset uint32, v float64, form storage.Form, values schema.Values) {
	if p, ok := schema.ValuePoint(offset, v, form, values); ok {
		b.points = append(b.points, p)
		return
	}
	b.objects = append(b.objects, own.FloatObject(offset, v))
}
