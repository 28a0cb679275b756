package plan

import (
	"sync"

	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// slabPoints is how many points a slab holds, unless one series needs more.
const slabPoints = 16 << 10

// pointPool keeps the slabs of answers that were sent.
//
//nolint:gochecknoglobals // a pool has no visible state.
var pointPool = sync.Pool{New: func() any { return new([slabPoints]promql.FPoint) }}

// Points are the memory of an answer's points.
type Points struct {
	account *query.Account
	pooled  []*[slabPoints]promql.FPoint
	rest    []promql.FPoint // of the newest slab, length 0
}

// pointBytes is the size of a promql.FPoint.
const pointBytes = 16

// take returns an empty slice with capacity for n points.
func (p *Points) take(n int) ([]promql.FPoint, error) {
	if n > slabPoints {
		return make([]promql.FPoint, 0, n), p.account.Take(int64(n) * pointBytes)
	}
	if cap(p.rest) < n {
		if err := p.account.Take(slabPoints * pointBytes); err != nil {
			return nil, err
		}
		slab := pointPool.Get().(*[slabPoints]promql.FPoint)
		p.pooled = append(p.pooled, slab)
		p.rest = slab[:0]
	}
	list := p.rest[:0:n]
	p.rest = p.rest[n:n]
	return list, nil
}

// Free ends the use of all points. Their memory goes back to the budget with the whole query.
func (p *Points) Free() {
	for _, slab := range p.pooled {
		pointPool.Put(slab)
	}
	p.pooled, p.rest = nil, nil
}
