package relay

import (
	"sync"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
)

const (
	// gatherBytes is how many bytes of points may wait for the spool. More are dropped.
	gatherBytes = 16 << 20
	// gatherEnough is how many are not kept waiting for more.
	gatherEnough = 1 << 20
)

// gather is points on their way to the spool.
type gather struct {
	some, enough chan struct{} // hold one when there are points, and when there are enough

	mu   sync.Mutex // guards all below
	held gathered
}

// gathered are points one after the other, as appendPoint writes them.
type gathered struct {
	points []byte
	first  int64 // milliseconds: when the first one came
}

func (g *gather) init() { g.some, g.enough = make(chan struct{}, 1), make(chan struct{}, 1) }

// put adds points. It returns how many there is no place for.
func (g *gather) put(points []carbon.Point, now int64) (dropped int) {
	if len(points) == 0 {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.held.points) == 0 {
		g.held.first = now
	}
	for i, p := range points {
		if len(g.held.points)+len(p.Name) > gatherBytes {
			dropped = len(points) - i
			break
		}
		g.held.points = appendPoint(g.held.points, p)
	}
	signal(g.some)
	if len(g.held.points) >= gatherEnough {
		signal(g.enough)
	}
	return dropped
}

// take returns all points, and keeps the memory of others for the next.
func (g *gather) take(empty gathered) gathered {
	g.mu.Lock()
	defer g.mu.Unlock()
	taken := g.held
	if cap(empty.points) > 4*gatherEnough {
		empty.points = nil
	}
	g.held = gathered{points: empty.points[:0]}
	return taken
}

// signal puts one into a channel that holds one.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
