package block

import (
	"sync"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// slabValues is how many values a slab holds, unless one series needs more.
const slabValues = 16 << 10

// slabPool keeps the slabs of blocks that are no longer used.
//
//nolint:gochecknoglobals // a pool has no visible state.
var slabPool = sync.Pool{New: func() any { return new([slabValues]float64) }}

// An Arena is the memory of a block's values, taken from the budget of the query. Only one
// goroutine calls its methods; each goroutine that fills a block has its own, which are joined.
type Arena struct {
	Account *query.Account
	pooled  []*[slabValues]float64
	rest    []float64 // of the newest slab
	large   int64     // bytes outside of slabs
}

// Take returns n values whose contents are not defined.
func (a *Arena) Take(n int) ([]float64, error) {
	if n > slabValues {
		if err := a.TakeBytes(int64(n) * 8); err != nil {
			return nil, err
		}
		return make([]float64, n), nil
	}
	if len(a.rest) < n {
		if err := a.Account.Take(slabValues * 8); err != nil {
			return nil, err
		}
		slab := slabPool.Get().(*[slabValues]float64)
		a.pooled = append(a.pooled, slab)
		a.rest = slab[:]
	}
	values := a.rest[:n:n]
	a.rest = a.rest[n:]
	return values, nil
}

// SeriesBytes is about what a series takes besides its values: the row, and labels of its own.
const SeriesBytes = 256

// TakeSeries takes the memory of n series.
func (a *Arena) TakeSeries(n int) error { return a.TakeBytes(int64(n) * SeriesBytes) }

// TakeBytes takes memory that is not in the arena, until the arena is freed.
func (a *Arena) TakeBytes(n int64) error {
	if err := a.Account.Take(n); err != nil {
		return err
	}
	a.large += n
	return nil
}

// GiveBack makes the values free that were taken last, but for the first kept.
func (a *Arena) GiveBack(values []float64, kept int) {
	if n := len(values); n <= slabValues && kept < n {
		used := slabValues - len(a.rest)
		a.rest = a.pooled[len(a.pooled)-1][used-(n-kept):]
	}
}

// Join moves the memory of another arena to this one.
func (a *Arena) Join(o *Arena) {
	a.pooled = append(a.pooled, o.pooled...)
	a.large += o.large
	o.pooled, o.rest, o.large = nil, nil, 0
}

// Reuse ends the use of all values, and keeps the newest slab for others.
func (a *Arena) Reuse() {
	a.Account.Give(a.large)
	a.large = 0
	if len(a.pooled) == 0 {
		return
	}
	last := len(a.pooled) - 1
	for _, slab := range a.pooled[:last] {
		slabPool.Put(slab)
	}
	a.Account.Give(int64(last) * slabValues * 8)
	a.pooled[0] = a.pooled[last]
	a.pooled, a.rest = a.pooled[:1], a.pooled[0][:]
}

// Free ends the use of all values.
func (a *Arena) Free() {
	for _, slab := range a.pooled {
		slabPool.Put(slab)
	}
	a.Account.Give(a.large + int64(len(a.pooled))*slabValues*8)
	a.pooled, a.rest, a.large = nil, nil, 0
}
