package rangeql

import (
	"sync"

	"github.com/prometheus/prometheus/promql"
)

// slabPoints is how many points a slab has room for, unless one series needs more.
const slabPoints = 16 << 10

// slabPool keeps the slabs of answers that were sent.
//
//nolint:gochecknoglobals // a pool has no visible state.
var slabPool = sync.Pool{New: func() any { return new([slabPoints]promql.FPoint) }}

// slabs are the memory of an answer's points. Only one goroutine calls their methods; each worker
// has its own slabs, which are joined at the end.
type slabs struct {
	pooled []*[slabPoints]promql.FPoint
	rest   []promql.FPoint // of the newest slab, length 0
}

// take returns an empty slice with capacity for n points. It is used until give.
func (s *slabs) take(n int) []promql.FPoint {
	if n > slabPoints {
		return make([]promql.FPoint, 0, n)
	}
	if cap(s.rest) < n {
		slab := slabPool.Get().(*[slabPoints]promql.FPoint)
		s.pooled = append(s.pooled, slab)
		s.rest = slab[:0]
	}
	return s.rest
}

// give keeps the points that were appended to what take returned.
func (s *slabs) give(points []promql.FPoint) []promql.FPoint {
	n := len(points)
	if s.rest != nil && cap(points) == cap(s.rest) {
		s.rest = points[n:]
	}
	return points[:n:n]
}

// join moves the slabs of another to these.
func (s *slabs) join(o *slabs) {
	s.pooled = append(s.pooled, o.pooled...)
	o.pooled, o.rest = nil, nil
}

// reuse ends the use of all points, and keeps the newest slab for others.
func (s *slabs) reuse() {
	if len(s.pooled) == 0 {
		return
	}
	last := len(s.pooled) - 1
	for _, slab := range s.pooled[:last] {
		slabPool.Put(slab)
	}
	s.pooled[0] = s.pooled[last]
	s.pooled, s.rest = s.pooled[:1], s.pooled[0][:0]
}

// free ends the use of all points.
func (s *slabs) free() {
	for _, slab := range s.pooled {
		slabPool.Put(slab)
	}
	s.pooled, s.rest = nil, nil
}
