package storage

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// decoder appends the rows of one series, in order of their time, to Points.
type decoder struct {
	q       Query
	table   string
	content row
}

// add appends what a row holds between the query's bounds.
func (d *decoder) add(out *Points, base uint32, r kv.Row) error {
	if err := d.content.load(r.Cells); err != nil {
		return fmt.Errorf("row %x of %s: %w", r.Key, d.table, err)
	}
	begin := int64(base) * 1000
	objects := d.content.objects
	if d.q.Samples {
		for _, p := range d.content.points {
			objects = d.addObjectsBefore(out, begin, objects, p.Offset)
			d.addFloat(out, begin+int64(p.Offset), p.Float())
		}
	}
	d.addObjectsBefore(out, begin, objects, schema.RowSeconds*1000)
	return nil
}

// addObjectsBefore appends the objects before an offset and returns the others. No sample among them is at an offset of a point.
func (d *decoder) addObjectsBefore(out *Points, begin int64, objects []object, offset uint32) []object {
	for len(objects) > 0 && objects[0].Offset < offset {
		d.addObject(out, begin+int64(objects[0].Offset), objects[0])
		objects = objects[1:]
	}
	return objects
}

func (d *decoder) addObject(out *Points, time int64, o object) {
	if time < d.q.Start || time > d.q.End {
		return
	}
	switch {
	case o.Kind == schema.ObjectFloat:
		if v, err := o.Float(); err == nil && d.q.Samples { // the length was checked by the decoder
			d.addFloat(out, time, v)
		}
	case o.Kind == schema.ObjectExemplar && d.q.Exemplars, o.Kind != schema.ObjectExemplar && d.q.Samples:
		out.Objects = append(out.Objects, Object{Ref: out.Ref, Time: time, Kind: Kind(o.Kind), Data: o.Data})
	}
}

func (d *decoder) addFloat(out *Points, time int64, value float64) {
	if time >= d.q.Start && time <= d.q.End {
		out.Times, out.Values = append(out.Times, time), append(out.Values, value)
	}
}

func (p *Points) size() int { return len(p.Times) + len(p.Objects) }

func (p *Points) reset(ref Ref) {
	p.Ref, p.Times, p.Values, p.Objects = ref, p.Times[:0], p.Values[:0], p.Objects[:0]
}
