package head

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// place is an instant of a series.
type place struct {
	id   uint32
	time int64
}

// model is what a head and a table must hold together: a plain map, written one datum after the
// other.
type model map[place]*instant

// instant is the data of a place.
type instant struct {
	sample    datum // of kind 0: none
	exemplars map[string]bool
	starts    string // "" : none
}

// datum is a point or a histogram.
type datum struct {
	kind storage.Kind
	bits uint64
	data string
}

func (m model) at(id uint32, time int64) *instant {
	in := m[place{id, time}]
	if in == nil {
		in = &instant{exemplars: map[string]bool{}}
		m[place{id, time}] = in
	}
	return in
}

// write is the rule of row.Replaces for samples.
func (in *instant) write(d datum) {
	if in.sample == d {
		return
	}
	in.sample = d
}

func (in *instant) object(kind storage.Kind, data string) {
	switch kind {
	case storage.KindExemplar:
		in.exemplars[data] = true
	case storage.KindStartTime:
		in.starts = data
	default:
		in.write(datum{kind: kind, data: data})
	}
}

// append writes a batch: samples in their order, then exemplars and start times.
func (m model) append(b *Batch) {
	next := 0
	points := func(to int) {
		for ; next < to; next++ {
			d := datum{kind: kindFloat, bits: math.Float64bits(b.Values[next])}
			if b.Forms != nil && b.Forms[next] == storage.FormInteger {
				d.kind = kindInteger
			} else if b.Forms != nil {
				d.kind = kindOf(b.Values[next], b.Forms[next] == storage.FormDouble)
			}
			m.at(b.IDs[next], b.Times[next]).write(d)
		}
	}
	for _, o := range b.Objects {
		if o.Kind == storage.KindHistogram {
			points(o.After)
			m.at(o.ID, o.Time).object(o.Kind, string(o.Data))
		}
	}
	points(len(b.IDs))
	for _, o := range b.Objects {
		if o.Kind != storage.KindHistogram {
			m.at(o.ID, o.Time).object(o.Kind, string(o.Data))
		}
	}
}

// lines formats the model's data of a series between two times, as a read of numbers (exact false)
// or as rows would return it.
func (m model) lines(id uint32, start, end int64, exact bool) []string {
	var lines []string
	for p, in := range m {
		if p.id != id || p.time < start || p.time > end {
			continue
		}
		switch d := in.sample; {
		case d.kind == 0:
		case d.kind == storage.KindHistogram:
			lines = append(lines, objectLine(p.time, d.kind, d.data))
		case exact && d.kind == kindInteger:
			lines = append(lines, fmt.Sprintf("%d integer %d", p.time, int64(d.bits)))
		case d.kind == kindInteger:
			lines = append(lines, floatLine(p.time, float64(int64(d.bits))))
		case exact && d.kind == kindDouble:
			lines = append(lines, "double "+floatLine(p.time, math.Float64frombits(d.bits)))
		default:
			lines = append(lines, floatLine(p.time, math.Float64frombits(d.bits)))
		}
		for _, e := range slices.Sorted(maps.Keys(in.exemplars)) {
			lines = append(lines, objectLine(p.time, storage.KindExemplar, e))
		}
		if in.starts != "" {
			lines = append(lines, objectLine(p.time, storage.KindStartTime, in.starts))
		}
	}
	sort.Strings(lines)
	return lines
}

func floatLine(time int64, v float64) string {
	return fmt.Sprintf("%d float %x %v", time, math.Float64bits(v), v)
}

func objectLine(time int64, kind storage.Kind, data string) string {
	return fmt.Sprintf("%d object %d %q", time, kind, data)
}

// pointsLines formats the points of a read; points out of order are an error.
func pointsLines(p *Points) ([]string, error) {
	var lines []string
	for i, t := range p.Times {
		if i > 0 && t <= p.Times[i-1] {
			return nil, fmt.Errorf("time %d after %d", t, p.Times[i-1])
		}
		lines = append(lines, floatLine(t, p.Values[i]))
	}
	for i, o := range p.Objects {
		if i > 0 && (o.Time < p.Objects[i-1].Time || o.Time == p.Objects[i-1].Time && o.Kind < p.Objects[i-1].Kind) {
			return nil, fmt.Errorf("object %+v after %+v", o, p.Objects[i-1])
		}
		lines = append(lines, objectLine(o.Time, o.Kind, string(o.Data)))
	}
	sort.Strings(lines)
	return lines, nil
}

// each visits the data of a row, in its order.
func (r Row) each(see func(time int64, d datum)) error {
	begin := int64(r.Base) * 1000
	if r.Coded != nil {
		var d columns.Decoder
		points, err := d.AppendPoints(nil, r.Coded)
		if err != nil || len(r.Points)+len(r.Objects) > 0 {
			return fmt.Errorf("coded row beside %d points and %d objects: %w", len(r.Points), len(r.Objects), err)
		}
		if r.First != points[0].Offset || r.Last != points[len(points)-1].Offset {
			return fmt.Errorf("coded row from %d to %d, want %d to %d", r.First, r.Last, points[0].Offset, points[len(points)-1].Offset)
		}
		r.Points = points
	}
	for i, p := range r.Points {
		if i > 0 && p.Offset <= r.Points[i-1].Offset {
			return fmt.Errorf("offset %d after %d", p.Offset, r.Points[i-1].Offset)
		}
		const eightBytes = 0xF
		d := datum{kind: kindOf(p.Float(), p.Flags == eightBytes), bits: math.Float64bits(p.Float())}
		if p == schema.IntPoint(p.Offset, p.Int()) {
			d = datum{kind: kindInteger, bits: uint64(p.Int())}
		}
		see(begin+int64(p.Offset), d)
	}
	for i, o := range r.Objects {
		if i > 0 && (o.Offset < r.Objects[i-1].Offset || o.Offset == r.Objects[i-1].Offset &&
			(o.Kind < r.Objects[i-1].Kind || o.Kind == r.Objects[i-1].Kind && string(o.Data) <= string(r.Objects[i-1].Data))) {
			return fmt.Errorf("object %+v after %+v", o, r.Objects[i-1])
		}
		d := datum{kind: o.Kind, data: string(o.Data)}
		if v, err := o.Float(); err == nil {
			d = datum{kind: kindFloat, bits: math.Float64bits(v)}
		}
		see(begin+int64(o.Offset), d)
	}
	return nil
}

// put writes a row over what a model holds: the table after the put.
func (m model) put(r Row) error {
	return r.each(func(time int64, d datum) {
		if in := m.at(r.ID, time); (entry{kind: d.kind}).isPoint() {
			in.write(d)
		} else {
			in.object(d.kind, d.data)
		}
	})
}

func (m model) clone() model {
	c := model{}
	for p, in := range m {
		copied := *in
		copied.exemplars = maps.Clone(in.exemplars)
		c[p] = &copied
	}
	return c
}

// diff is empty when the lists are the same.
func diff(got, want []string) string {
	var out strings.Builder
	for _, l := range got {
		if !slices.Contains(want, l) {
			fmt.Fprintf(&out, "  too much: %s\n", l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			fmt.Fprintf(&out, "  missing:  %s\n", l)
		}
	}
	if out.Len() == 0 && len(got) != len(want) {
		fmt.Fprintf(&out, "  %d lines, want %d\n", len(got), len(want))
	}
	return out.String()
}
