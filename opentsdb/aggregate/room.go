package aggregate

import "slices"

// Room is memory for the downsampled points of many series. It is for one goroutine; spans that were made in
// it stay valid. Series with the same times share these. A nil Room makes each span by itself.
type Room struct {
	times  []int64
	values []float64
	size   int     // of the next piece, in points
	last   []int64 // times of the last span
}

// The sizes of pieces grow, so that a query of few points takes little.
const (
	firstRoom = 256
	mostRoom  = 16 << 10
)

// take returns an empty span with the capacity for n points.
func (r *Room) take(n int) Span {
	if r == nil {
		return Span{Times: make([]int64, 0, n), Values: make([]float64, 0, n)}
	}
	if cap(r.values)-len(r.values) < n {
		r.size = min(max(2*r.size, firstRoom), mostRoom)
		r.values = make([]float64, 0, max(n, r.size))
	}
	if cap(r.times)-len(r.times) < n {
		r.times = make([]int64, 0, max(n, r.size))
	}
	t, v := len(r.times), len(r.values)
	return Span{Times: r.times[t : t : t+n], Values: r.values[v : v : v+n]}
}

// keep takes back what a span does not need of what it took last, all of its times if those of the span before are the same.
func (r *Room) keep(s *Span) {
	if r == nil {
		return
	}
	r.values = r.values[:len(r.values)+len(s.Values)]
	s.Values = slices.Clip(s.Values)
	if equal(s.Times, r.last) {
		s.Times = r.last
		return
	}
	r.times = r.times[:len(r.times)+len(s.Times)]
	s.Times = slices.Clip(s.Times)
	r.last = s.Times
}
