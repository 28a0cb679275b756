package head

import (
	"math"
	"sort"
)

// Points are points of one series in ascending order of time. The zero value is an empty buffer.
type Points struct {
	Times   []int64 // numbers: milliseconds
	Values  []float64
	Objects []Object // ascending by Time, then Kind

	view view
}

// Reset empties the buffer and keeps its memory; what was read into it before is lost.
func (p *Points) Reset() {
	p.Times, p.Values, p.Objects = p.Times[:0], p.Values[:0], p.Objects[:0]
	p.view.reset()
}

// Read appends the points and objects of a series from start to end (milliseconds, inclusive). Integers are given as floats. The objects' Data are
// good until the buffer's Reset.
func (h *Head) Read(id uint32, start, end int64, p *Points) {
	p.view.rows = p.view.rows[:0]
	h.copyRows(id, &p.view, func(r *row) bool { return r.begin() <= end && r.begin()+hour > start })
	p.view.sort()
	for rows := range p.view.hours {
		p.add(id, rows, start, end)
	}
}

// copyRows copies the rows of a series that are wanted, all at one moment.
func (h *Head) copyRows(id uint32, v *view, want func(*row) bool) {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.chain(id) {
		if want(r) {
			v.add(s, r)
		}
	}
}

// add appends what the rows of one hour hold.
func (p *Points) add(id uint32, rows []rowView, start, end int64) {
	at := len(p.Times)
	c := columns{times: p.Times, values: p.Values, integers: p.view.columns.integers[:0]}
	if p.view.plain(&c, rows) {
		p.Times, p.Values, p.view.columns.integers = c.times, c.values, c.integers
		p.cut(at, start, end)
		return
	}
	begin := int64(rows[0].base) * 1000
	for _, e := range p.view.settled(rows) {
		time := begin + int64(e.offset)
		switch {
		case time < start || time > end:
		case e.isPoint():
			p.Times, p.Values = append(p.Times, time), append(p.Values, e.float())
		default:
			p.Objects = append(p.Objects, Object{ID: id, Time: time, Kind: e.kind, Data: e.data})
		}
	}
}

// cut removes what is outside the bounds from the points behind at.
func (p *Points) cut(at int, start, end int64) {
	times := p.Times[at:]
	if len(times) == 0 || times[0] >= start && times[len(times)-1] <= end {
		return
	}
	first := sort.Search(len(times), func(i int) bool { return times[i] >= start })
	n := sort.Search(len(times), func(i int) bool { return times[i] > end }) - first
	n = max(n, 0)
	copy(times, times[first:first+n])
	copy(p.Values[at:], p.Values[at+first:at+first+n])
	p.Times, p.Values = p.Times[:at+n], p.Values[:at+n]
}

// float is the value of a point.
func (e entry) float() float64 {
	if e.kind == kindInteger {
		return float64(int64(e.bits))
	}
	return math.Float64frombits(e.bits)
}
