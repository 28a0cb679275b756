package read

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/row"
)

// join adds what the head holds to what the table holds, both in order. The points of h are p's n,
// of the table, then the head's, in one piece of memory, which is all there is to do where they are
// in order. The head's is newer: its sample takes the place of the table's at the same instant,
// with the start time; exemplars share an instant.
func join(p *storage.Points, h *head.Points, n int, q *storage.Query) {
	h.Objects = slices.DeleteFunc(h.Objects, func(o head.Object) bool { return !q.Wants(o.Kind) })
	if !q.Samples {
		h.Times, h.Values = h.Times[:n], h.Values[:n]
	}
	joinIntegers(p, h, n)
	if len(p.Objects) == 0 && len(h.Objects) == 0 && (n == 0 || n == len(h.Times) || h.Times[n-1] < h.Times[n]) {
		p.Times, p.Values = h.Times, h.Values
		p.Space(n, distanceOf(p.Times[n:]))
		return
	}
	p.Distance = 0
	p.Times, p.Values = h.Times[:n], h.Values[:n]
	h.Times, h.Values = h.Times[n:], h.Values[n:]
	objects := make([]storage.Object, 0, len(h.Objects))
	for _, o := range h.Objects {
		objects = append(objects, storage.Object{Ref: p.Ref, Time: o.Time, Kind: o.Kind, Data: bytes.Clone(o.Data)})
	}
	newer := instants{h.Times, h.Values, objects}
	times, values := make([]int64, 0, len(p.Times)+len(h.Times)), make([]float64, 0, len(p.Times)+len(h.Times))
	at := 0
	for i, t := range p.Times {
		for at < len(h.Times) && h.Times[at] <= t {
			times, values = append(times, h.Times[at]), append(values, h.Values[at])
			at++
		}
		if !newer.sample(t) {
			times, values = append(times, t), append(values, p.Values[i])
		}
	}
	p.Times, p.Values = append(times, h.Times[at:]...), append(values, h.Values[at:]...)
	for _, o := range p.Objects {
		if !newer.replace(o) {
			objects = append(objects, o)
		}
	}
	slices.SortStableFunc(objects, func(a, b storage.Object) int {
		return cmp.Or(cmp.Compare(a.Time, b.Time), cmp.Compare(a.Kind, b.Kind), bytes.Compare(a.Data, b.Data))
	})
	p.Objects = objects
}

// joinIntegers adds the head's integers to those of the table whose instants have no newer sample.
// The head's points are those of h after the first n.
func joinIntegers(p *storage.Points, h *head.Points, n int) {
	if len(p.Integers) == 0 && len(h.Integers) == 0 {
		return
	}
	newer := instants{times: h.Times[n:]}
	for _, o := range h.Objects {
		newer.objects = append(newer.objects, storage.Object{Time: o.Time, Kind: o.Kind})
	}
	kept := slices.DeleteFunc(p.Integers, func(i storage.Integer) bool { return newer.sample(i.Time) })
	for _, i := range h.Integers {
		kept = append(kept, storage.Integer(i))
	}
	slices.SortFunc(kept, func(a, b storage.Integer) int { return cmp.Compare(a.Time, b.Time) })
	p.Integers = kept
}

// distanceOf returns the distance between neighbouring times if it is always the same, else 0.
func distanceOf(times []int64) int64 {
	if len(times) < 2 {
		return 0
	}
	distance := times[1] - times[0]
	for i := 2; i < len(times); i++ {
		if times[i]-times[i-1] != distance {
			return 0
		}
	}
	return distance
}

// instants are points and objects in the order of their times.
type instants struct {
	times   []int64
	values  []float64
	objects []storage.Object
}

// sample reports whether there is a sample at an instant.
func (s instants) sample(time int64) bool {
	if _, ok := slices.BinarySearch(s.times, time); ok {
		return true
	}
	return s.has(time, func(o storage.Object) bool { return o.Kind.IsSample() })
}

// replace reports whether one of these takes the place of an older object, or is the same exemplar.
func (s instants) replace(old storage.Object) bool {
	if at, ok := slices.BinarySearch(s.times, old.Time); ok && row.Replaces(row.KindOf(s.values[at]), old.Kind) {
		return true
	}
	return s.has(old.Time, func(o storage.Object) bool {
		return row.Replaces(o.Kind, old.Kind) || o.Kind == old.Kind && bytes.Equal(o.Data, old.Data)
	})
}

func (s instants) has(time int64, is func(storage.Object) bool) bool {
	at, _ := slices.BinarySearchFunc(s.objects, time, func(o storage.Object, t int64) int { return cmp.Compare(o.Time, t) })
	for ; at < len(s.objects) && s.objects[at].Time == time; at++ {
		if is(s.objects[at]) {
			return true
		}
	}
	return false
}
