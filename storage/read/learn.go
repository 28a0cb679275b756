package read

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

const (
	// lastCosts is how many observations of a cost count: the last ones.
	lastCosts = 15
	// fewestCosts is how many there must be for a cost to be known.
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

	mu            sync.Mutex // guards all below
	get, row, tag observations
}

// observations are microseconds a row.
type observations struct {
	last [lastCosts]float64
	n    int // so far
}

// now returns the costs to plan with. A way that was not used lately is taken to be as slow, relative to the
// engine's figure, as the fastest of the others: load slows all ways, and one that nobody used must not look better
// for that.
func (c *learnedCosts) now() kv.Costs {
	c.mu.Lock()
	defer c.mu.Unlock()
	costs := c.engine
	get, row, tag := c.get.slowness(costs.Get), c.row.slowness(costs.Row), c.tag.slowness(costs.Tag)
	others := 0.0
	for _, slowness := range []float64{get, row, tag} {
		if slowness > 0 && (others == 0 || slowness < others) {
			others = slowness
		}
	}
	others = cmp.Or(others, 1)
	get, row, tag = cmp.Or(get, others), cmp.Or(row, others), cmp.Or(tag, others)
	costs.Get *= get
	costs.Near *= get
	costs.Row *= row
	costs.Suffix *= row // a row that is read in vain comes over the network too
	costs.Tag *= tag
	return costs
}

// slowness is the median relative to the engine's figure, within bounds; 0: there are too few observations.
func (o *observations) slowness(engine float64) float64 {
	if o.n < fewestCosts || engine <= 0 {
		return 0
	}
	seen := slices.Sorted(slices.Values(o.last[:min(o.n, lastCosts)]))
	return min(max(seen[len(seen)/2]/engine, 1.0/costBound), costBound)
}

// learn notes that a read of some rows in one way took a time. Rows by key teach one cost, whether they are near to
// each other or not: a cluster that was slow when it was asked for the ones is not better asked for the others.
func (c *learnedCosts) learn(kind planKind, rows int, took time.Duration) {
	if rows < fewestRows {
		return
	}
	each := float64(took.Nanoseconds()) / 1000 / float64(rows)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch kind {
	case planRows:
		c.get.add(each)
	case planNear:
		c.get.add(each * c.engine.Get / max(c.engine.Near, 1e-9))
	case planRange:
		c.row.add(each)
	case planRegexp:
		c.tag.add(each)
	}
}

func (o *observations) add(each float64) {
	o.last[o.n%lastCosts] = each
	o.n++
}
