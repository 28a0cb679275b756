package aggregate

import (
	"math"
	"slices"
)

// A Group aggregates its members. Members are added in the order of their TSUIDs, of which results
// depend in the last bits.
type Group struct {
	Aggregator Aggregator
	Rate       bool // members are rates
	// Start and End bound the instants of results; members hold points at or after Start.
	Start, End int64

	members []Span
}

// Add adds a member.
func (g *Group) Add(s Span) {
	from, _ := slices.BinarySearch(s.Times, g.Start)
	s = s.from(from)
	if s.Len() == 0 {
		return
	}
	g.members = append(g.members, s)
}

// Result returns a point for each instant at which a member has one. Rates begin with the second
// one of a member. From its first point to its last a member also counts at the instants of others:
// with its interpolation, or if it is a rate with the rate before, the first included.
func (g *Group) Result() Span {
	r := &result{group: g, times: g.instants()}
	if len(r.times) == 0 {
		return Span{}
	}
	r.classify()
	return r.compute()
}

// instants returns the times of results.
func (g *Group) instants() (times []int64) {
	for _, m := range g.members {
		mine := m.Times
		if g.Rate {
			mine = mine[1:]
		}
		end, _ := slices.BinarySearch(mine, g.End+1)
		times = union(times, mine[:end])
	}
	return times
}

// union returns the times of both, in order. It may return a itself.
func union(a, b []int64) []int64 {
	switch {
	case len(a) == 0:
		return b
	case len(b) == 0 || slices.Equal(a, b):
		return a
	}
	out := make([]int64, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			out, a = append(out, a[0]), a[1:]
		case a[0] > b[0]:
			out, b = append(out, b[0]), b[1:]
		default:
			out, a, b = append(out, a[0]), a[1:], b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// A result is what a group's Result needs.
type result struct {
	group  *Group
	times  []int64
	floats []bool // at which times a member's current or next point is a float; nil: all
}

// classify finds the times at which a TSD computes with integers: no point that a member has at
// the moment, or will have next, is a float.
func (r *result) classify() {
	noLongs := func(m Span) bool { return m.IsLong == nil }
	if r.group.Rate || !slices.ContainsFunc(r.group.members, func(m Span) bool { return !noLongs(m) }) {
		return
	}
	r.floats = make([]bool, len(r.times))
	for i := range r.group.members {
		m := &r.group.members[i]
		if noLongs(*m) {
			r.mark(math.MinInt64, m.Times[m.Len()-1]+1)
			continue
		}
		for j, isLong := range m.IsLong {
			if !isLong {
				r.markFloat(m, j)
			}
		}
	}
}

// markFloat marks the times from the point before a float until the point after it.
func (r *result) markFloat(m *Span, j int) {
	from, to := int64(math.MinInt64), m.Times[j]+1
	if j > 0 {
		from = m.Times[j-1]
	}
	if j+1 < m.Len() {
		to = m.Times[j+1]
	}
	r.mark(from, to)
}

// mark marks the times from one to before another.
func (r *result) mark(from, to int64) {
	k, _ := slices.BinarySearch(r.times, from)
	for ; k < len(r.times) && r.times[k] < to; k++ {
		r.floats[k] = true
	}
}

func (r *result) isFloat(k int) bool { return r.floats == nil || r.floats[k] }

// compute aggregates instant by instant.
func (r *result) compute() Span {
	g := r.group
	places := make([]int, len(g.members)) // of the current point of each member; -1: not begun
	for i := range places {
		places[i] = -1
	}
	if g.Rate {
		clear(places)
	}
	var out Span
	doubles, longs := make([]float64, 0, len(places)), make([]int64, 0, len(places))
	for k, t := range r.times {
		doubles, longs = doubles[:0], longs[:0]
		for i := range g.members {
			m := &g.members[i]
			for places[i]+1 < m.Len() && m.Times[places[i]+1] <= t {
				places[i]++
			}
			j := places[i]
			if j < 0 || j == m.Len()-1 && (m.Times[j] < t || g.Rate && j == 0) {
				continue
			}
			if r.isFloat(k) {
				doubles = append(doubles, g.double(m, j, t))
			} else {
				longs = append(longs, g.long(m, j, t))
			}
		}
		if r.isFloat(k) {
			out.Add(t, g.Aggregator.doubles(doubles))
		} else {
			out.AddLong(t, g.Aggregator.longs(longs))
		}
	}
	return out
}

// double returns what a member has at an instant from its point j to the next one.
func (g *Group) double(m *Span, j int, t int64) float64 {
	if g.Rate || m.Times[j] == t {
		return m.Values[j]
	}
	y0, y1 := m.Values[j], m.Values[j+1]
	x0, x1 := m.Times[j], m.Times[j+1]
	switch g.Aggregator.Interpolation {
	case Zero:
		return 0
	case Greatest:
		return math.MaxFloat64
	case Least:
		return -math.MaxFloat64
	case Previous:
		return y0
	}
	return y0 + float64(float64(t-x0)*(y1-y0)/float64(x1-x0))
}

func (g *Group) long(m *Span, j int, t int64) int64 {
	if m.Times[j] == t {
		return m.Longs[j]
	}
	switch g.Aggregator.Interpolation {
	case Zero:
		return 0
	case Greatest:
		return math.MaxInt64
	case Least:
		return math.MinInt64
	case Previous:
		return m.Longs[j]
	}
	return m.Longs[j] + (t-m.Times[j])*(m.Longs[j+1]-m.Longs[j])/(m.Times[j+1]-m.Times[j])
}
