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

// Reserve takes memory for so many members.
func (g *Group) Reserve(members int) { g.members = slices.Grow(g.members, members) }

// Result returns a point for each instant at which a member has one. Rates begin with the second
// one of a member. From its first point to its last a member also counts at the instants of others:
// with its interpolation, or if it is a rate with the rate before, the first included.
//
// As with a TSD the work grows with the instants times the members. pause is called from time to
// time; its error ends the computation.
func (g *Group) Result(pause func() error) (Span, error) {
	r := &result{group: g, times: g.instants()}
	if len(r.times) == 0 {
		return Span{}, nil
	}
	r.classify()
	if f := g.Aggregator.fold; f != nil && r.floats == nil {
		return r.fold(f, pause)
	}
	return r.compute(pause)
}

// instants returns the times of results.
func (g *Group) instants() (times []int64) {
	var first []int64
	for _, m := range g.members {
		mine := m.Times
		if g.Rate {
			mine = mine[1:]
		}
		end, _ := slices.BinarySearch(mine, g.End+1)
		switch mine = mine[:end]; {
		case first == nil:
			first = mine
		case !equal(first, mine): // most members have the times of the first one
			times = append(times, mine...)
		}
	}
	if times == nil {
		return first
	}
	times = append(times, first...)
	slices.Sort(times)
	return slices.Compact(times)
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

// block is how many instants are computed together, so that a member's points are read in pieces.
const block = 16

// pauseAfter is about how many values are aggregated between two pauses.
const pauseAfter = 1 << 20

// compute aggregates instant by instant.
func (r *result) compute(pause func() error) (out Span, err error) {
	every := max(1, pauseAfter/(block*len(r.group.members)))
	b := newValues(len(r.group.members))
	places := r.places()
	for from, n := 0, 0; from < len(r.times); from, n = from+block, n+1 {
		if n%every == 0 {
			if err := pause(); err != nil {
				return Span{}, err
			}
		}
		to := min(from+block, len(r.times))
		b.reset()
		for i := range r.group.members {
			places[i] = r.gather(b, i, places[i], from, to)
		}
		for k := from; k < to; k++ {
			if r.isFloat(k) {
				out.Add(r.times[k], r.group.Aggregator.doubles(b.doubles[k-from]))
			} else {
				out.AddLong(r.times[k], r.group.Aggregator.longs(b.longs[k-from]))
			}
		}
	}
	return out, nil
}

// places returns those of the points that members have before the first instant; -1: not begun.
func (r *result) places() []int {
	places := make([]int, len(r.group.members))
	if !r.group.Rate {
		for i := range places {
			places[i] = -1
		}
	}
	return places
}

// current goes on from point j of a member to the one that it has at an instant. It is not ok if the member
// has none.
func (g *Group) current(m *Span, j int, t int64) (place int, ok bool) {
	last := m.Len() - 1
	for j < last && m.Times[j+1] <= t {
		j++
	}
	return j, j >= 0 && (j < last || m.Times[j] >= t && (!g.Rate || j > 0))
}

// values are what members have at the instants of a block, in the order of the members.
type values struct {
	doubles [block][]float64
	longs   [block][]int64
}

func newValues(members int) *values {
	v := &values{}
	for k := range block {
		v.doubles[k] = make([]float64, 0, members)
	}
	return v
}

func (v *values) reset() {
	for k := range block {
		v.doubles[k], v.longs[k] = v.doubles[k][:0], v.longs[k][:0]
	}
}

// gather adds what a member has at some instants, and returns the place of its current point.
func (r *result) gather(b *values, member, j, from, to int) int {
	g := r.group
	m := &g.members[member]
	last := m.Len() - 1
	if r.floats == nil && (!g.Rate || last > 0) {
		if at := m.at(j, r.times[from:to]); at >= 0 {
			for k, v := range m.Values[at : at+to-from] {
				b.doubles[k] = append(b.doubles[k], v)
			}
			return at + to - from - 1
		}
	}
	for k := from; k < to; k++ {
		t := r.times[k]
		var ok bool
		if j, ok = g.current(m, j, t); !ok {
			continue
		}
		if r.isFloat(k) {
			b.doubles[k-from] = append(b.doubles[k-from], g.double(m, j, t))
		} else {
			b.longs[k-from] = append(b.longs[k-from], g.long(m, j, t))
		}
	}
	return j
}

// at returns where a member has points at some instants and at no others between them, as most have; -1 if it
// has not. Point j, if not -1, is the last one at or before the first instant, or the one before that.
func (s *Span) at(j int, times []int64) int {
	at := max(j, 0)
	if at < s.Len() && s.Times[at] < times[0] {
		at++
	}
	if at+len(times) > s.Len() || !equal(s.Times[at:at+len(times)], times) {
		return -1
	}
	return at
}

// equal reports whether times are equal, which they are if they are the same memory.
func equal(a, b []int64) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0]) || slices.Equal(a, b)
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
