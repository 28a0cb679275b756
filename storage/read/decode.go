package read

import (
	"bytes"
	"cmp"
	"errors"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// decoder appends the rows of series, each series' in order of their time, to Points.
type decoder struct {
	q       storage.Query
	table   string
	content row.Row
	coded   columns.Decoder
}

// add appends what a row holds between the query's bounds. Nothing of it is in the memory of the
// cells afterwards.
func (d *decoder) add(out *storage.Points, base uint32, cells []kv.StoredCell) error {
	if d.q.Annotations {
		addAnnotations(out, cells)
	}
	if d.q.Samples && !d.q.Integers && d.addColumns(out, base, cells) {
		return nil
	}
	before := len(out.Times)
	if err := d.addContent(out, base, cells); err != nil {
		return err
	}
	out.Space(before, 0)
	return nil
}

// addAnnotations appends the annotations of a row.
func addAnnotations(out *storage.Points, cells []kv.StoredCell) {
	for i := range cells {
		if c := &cells[i]; c.Coded == nil && schema.ClassifyCell(c.Qualifier) == schema.CellAnnotation {
			out.Annotations = append(out.Annotations, bytes.Clone(c.Value))
		}
	}
}

// addContent appends what any row holds.
func (d *decoder) addContent(out *storage.Points, base uint32, cells []kv.StoredCell) error {
	for i := range cells {
		if c := &cells[i]; c.Coded == nil && len(c.Qualifier) == 0 { // a TSD fails too
			return errors.New("a cell without a qualifier")
		}
	}
	if err := d.content.LoadStored(cells, &d.coded); err != nil {
		return err
	}
	begin := int64(base) * 1000
	if d.q.Histograms {
		d.addHistograms(cells)
	}
	objects := d.content.Objects
	if d.q.Samples {
		for _, p := range d.content.Points {
			objects = d.addObjectsBefore(out, begin, objects, p.Offset)
			time := begin + int64(p.Offset)
			d.addFloat(out, time, p.Float())
			if d.q.Integers && p.IsInt() && d.q.Start <= time && time <= d.q.End {
				out.Integers = append(out.Integers, storage.Integer{Time: time, Value: p.Int()})
			}
		}
	}
	d.addObjectsBefore(out, begin, objects, schema.RowSeconds*1000)
	return nil
}

// addHistograms adds the histograms of OpenTSDB to the objects of the row.
func (d *decoder) addHistograms(cells []kv.StoredCell) {
	n := len(d.content.Objects)
	for i := range cells {
		c := &cells[i]
		if c.Coded != nil || schema.ClassifyCell(c.Qualifier) != schema.CellHistogram {
			continue
		}
		if offset, ok := schema.ForeignOffset(c.Qualifier); ok && offset < schema.RowSeconds*1000 {
			d.content.Objects = append(d.content.Objects, row.Object{
				Object: own.Object{Offset: offset, Kind: storage.KindCoded, Data: c.Value}, Millis: len(c.Qualifier) > 3,
			})
		}
	}
	if len(d.content.Objects) > n {
		slices.SortStableFunc(d.content.Objects, func(a, b row.Object) int { return cmp.Compare(a.Offset, b.Offset) })
	}
}

// addColumns appends the points of a row straight from its cells, if points are all it holds and
// they ascend from cell to cell; else it leaves the row to add, which also tells what is wrong with
// a cell.
func (d *decoder) addColumns(out *storage.Points, base uint32, cells []kv.StoredCell) bool {
	times, values, err := out.Times, out.Values, error(nil)
	before, distance := len(times), int64(0)
	var row storage.Points
	for i := range cells {
		c := &cells[i]
		n := len(times) - before
		switch {
		case c.Coded != nil:
			times, values, distance, err = d.coded.AppendColumns(times, values, c.Coded, base)
		case schema.ClassifyCell(c.Qualifier) == schema.CellData:
			times, values, err = columns.Append(times, values, c.Qualifier, c.Value, base)
			distance = distanceOf(times[before+n:])
		default:
			switch schema.ClassifyCell(c.Qualifier) {
			case schema.CellAges, schema.CellAnnotation: // no instant stands twice, so ages do not matter
			case schema.CellHistogram:
				if d.q.Histograms {
					return false
				}
			default:
				return false
			}
		}
		if err != nil {
			return false
		}
		row.Times, row.Values = times[before:], values[len(out.Values):]
		row.Space(n, distance)
	}
	if row.Distance <= 0 && !ascends(row.Times) {
		return false
	}
	n := samples{row.Times, row.Values}.keep(d.q.Start, d.q.End)
	out.Times, out.Values = times[:before+n], values[:len(out.Values)+n]
	out.Space(before, row.Distance)
	return true
}

// keep moves the points from start to end to the front, and returns how many they are.
func (c samples) keep(start, end int64) int {
	n := len(c.times)
	if n == 0 || c.times[0] >= start && c.times[n-1] <= end {
		return n
	}
	from, _ := slices.BinarySearch(c.times, start)
	to, _ := slices.BinarySearch(c.times, end+1)
	n = max(to-from, 0)
	copy(c.times, c.times[from:from+n])
	copy(c.values, c.values[from:from+n])
	return n
}

// ascends reports whether every time is later than the one before.
func ascends(times []int64) bool {
	for i := 1; i < len(times); i++ {
		if times[i] <= times[i-1] {
			return false
		}
	}
	return true
}

// addObjectsBefore appends the objects before an offset and returns the others. No sample among
// them is at an offset of a point.
func (d *decoder) addObjectsBefore(out *storage.Points, begin int64, objects []row.Object, offset uint32) []row.Object {
	for len(objects) > 0 && objects[0].Offset < offset {
		d.addObject(out, begin+int64(objects[0].Offset), objects[0])
		objects = objects[1:]
	}
	return objects
}

func (d *decoder) addObject(out *storage.Points, time int64, o row.Object) {
	if time < d.q.Start || time > d.q.End {
		return
	}
	switch {
	case o.Kind == storage.KindFloat:
		if v, err := o.Float(); err == nil && d.q.Samples { // the length was checked by the decoder
			d.addFloat(out, time, v)
		}
	case d.q.Wants(o.Kind):
		out.Objects = append(out.Objects, storage.Object{Ref: out.Ref, Time: time, Kind: o.Kind, Millis: o.Millis, Data: bytes.Clone(o.Data)})
	}
}

func (d *decoder) addFloat(out *storage.Points, time int64, value float64) {
	if time >= d.q.Start && time <= d.q.End {
		out.Times, out.Values = append(out.Times, time), append(out.Values, value)
	}
}
