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
	// Integers are the numbers that are integers, ascending by Time, if WithIntegers is set.
	Integers     []Integer
	WithIntegers bool

	view view
}

// An Integer is the exact value of a number.
type Integer struct{ Time, Value int64 } // milliseconds

// Reset empties the buffer and keeps its memory; what was read into it before is lost.
func (p *Points) Reset() {
	p.Times, p.Values, p.Objects, p.Integers = p.Times[:0], p.Values[:0], p.Objects[:0], p.Integers[:0]
	p.view.reset()
}

// Read appends the points and objects of a series from start to end (milliseconds, inclusive).
// Integers are given as floats. The objects' Data are valid until the buffer's Reset.
func (h *Head) Read(id uint32, start, end int64, p *Points) {
	p.view.rows = p.view.rows[:0]
	h.copyRows(id, &p.view, func(r *openRow) bool { return r.overlaps(start, end) })
	p.add(&p.view, id, start, end)
}

// A Snapshot is a copy of what a head holds of some series, compressed as it is there, so that it
// can be taken of many series at little cost and read when it is needed. The zero value is an empty
// one; it is not safe for concurrent use.
type Snapshot struct{ view view }

// Taken is the part of a Snapshot that is one series'.
type Taken struct {
	id         uint32
	first, end int // rows
	points     int
}

// Reset empties the snapshot and keeps its memory.
func (s *Snapshot) Reset() { s.view.reset() }

// Size returns how many bytes of rows the snapshot holds.
func (s *Snapshot) Size() int { return len(s.view.raw) }

// Take adds the rows of a series that overlap start to end (milliseconds, inclusive), all at one
// moment.
func (h *Head) Take(id uint32, start, end int64, s *Snapshot) Taken {
	t := Taken{id: id, first: len(s.view.rows)}
	h.copyRows(id, &s.view, func(r *openRow) bool { return r.overlaps(start, end) })
	t.end = len(s.view.rows)
	for _, r := range s.view.rows[t.first:] {
		t.points += int(r.count) + (r.end-r.side)/minEntry
	}
	return t
}

// Empty reports whether the head had nothing.
func (t Taken) Empty() bool { return t.first == t.end }

// Points returns how many points there are at most.
func (t Taken) Points() int { return t.points }

// Read appends what was taken of a series from start to end as Head.Read does. The objects' Data
// are valid until the snapshot's Reset.
func (s *Snapshot) Read(t Taken, start, end int64, p *Points) {
	rows := s.view.rows
	s.view.rows = rows[t.first:t.end:t.end]
	p.add(&s.view, t.id, start, end)
	s.view.rows = rows
}

// copyRows copies the rows of a series that are wanted, all at one moment.
func (h *Head) copyRows(id uint32, v *view, want func(*openRow) bool) {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.chain(id) {
		if want(r) {
			v.add(s, r)
		}
	}
}

// add appends what the rows of a view hold.
func (p *Points) add(v *view, id uint32, start, end int64) {
	v.sort()
	for rows := range v.hours {
		p.addHour(v, id, rows, start, end)
	}
}

// addHour appends what the rows of one hour hold.
func (p *Points) addHour(v *view, id uint32, rows []rowView, start, end int64) {
	at := len(p.Times)
	c := points{times: p.Times, values: p.Values, integers: v.columns.integers[:0], doubles: v.columns.doubles[:0]}
	if v.plain(&c, rows, start) {
		p.Times, p.Values, v.columns.integers, v.columns.doubles = c.times, c.values, c.integers, c.doubles
		for _, n := range c.integers {
			p.addInteger(c.times[n.at], n.value, start, end)
		}
		p.cut(at, start, end)
		return
	}
	begin := int64(rows[0].base) * 1000
	for _, e := range v.settled(rows) {
		time := begin + int64(e.offset)
		switch {
		case time < start || time > end:
		case e.isPoint():
			p.Times, p.Values = append(p.Times, time), append(p.Values, e.float())
			if e.kind == kindInteger {
				p.addInteger(time, int64(e.bits), start, end)
			}
		default:
			p.Objects = append(p.Objects, Object{ID: id, Time: time, Kind: e.kind, Data: e.data})
		}
	}
}

// addInteger appends an integer between the bounds, if integers are asked for.
func (p *Points) addInteger(time, value, start, end int64) {
	if p.WithIntegers && start <= time && time <= end {
		p.Integers = append(p.Integers, Integer{time, value})
	}
}

// cut removes what is outside the bounds from the points after at.
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

// float returns the value of a point.
func (e entry) float() float64 {
	if e.kind == kindInteger {
		return float64(int64(e.bits))
	}
	return math.Float64frombits(e.bits)
}
