package read

import (
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

const (
	// lastCosts is how many observations of a cost count: the last ones.
	lastCosts = 15
	// fewestCosts is how many there must be; with fewer, the engine's own figure is used.
	fewestCosts = 5
	// costBound is how many times larger or smaller than the engine's figure a learned one may be.
	costBound = 8
	// fewestRows is how many rows a read must have to tell what one costs.
	fewestRows = 64
)

// learnedCosts are what reading cost this cluster lately. A cost is the median of its last
// observations, so an outlier, or several, changes nothing, and it is bounded around the engine's
// own figure, so a cluster in trouble makes no way of reading look free or forbidden for ever. It
// is safe for concurrent use.
type learnedCosts struct {
	engine kv.Costs

	mu                  sync.Mutex // guards all below
	get, near, row, tag observations
}

// observations are microseconds a row.
type observations struct {
	last [lastCosts]float64
	n    int // so far
}

// now returns the costs to plan with.
func (c *learnedCosts) now() kv.Costs {
	c.mu.Lock()
	defer c.mu.Unlock()
	costs := c.engine
	costs.Get = c.get.of(costs.Get)
	costs.Near = c.near.of(costs.Near)
	row := c.row.of(costs.Row)
	// A row that is read in vain comes over the network too.
	costs.Suffix *= row / max(costs.Row, 1e-9)
	costs.Row = row
	costs.Tag = c.tag.of(costs.Tag)
	return costs
}

// of returns the observations of the cost that decides about a way; nil: it is not learned.
func (c *learnedCosts) of(kind planKind) *observations {
	switch kind {
	case planRows:
		return &c.get
	case planNear:
		return &c.near
	case planRange:
		return &c.row
	case planRegexp:
		return &c.tag
	}
	return nil
}

// of is the median within bounds.
func (o *observations) of(engine float64) float64 {
	if o.n < fewestCosts {
		return engine
	}
	seen := slices.Sorted(slices.Values(o.last[:min(o.n, lastCosts)]))
	return min(max(seen[len(seen)/2], engine/costBound), engine*costBound)
}

// learn notes that a read of some rows took a time. o is one of the observations of c.
func (c *learnedCosts) learn(o *observations, rows int, took time.Duration) {
	if rows < fewestRows {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o.last[o.n%lastCosts] = float64(took.Nanoseconds()) / 1000 / float64(rows)
	o.n++
}
