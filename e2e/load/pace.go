package load

import (
	"math"
	"slices"
	"sync"
)

// pace keeps the lanes of one run within maxAhead steps of the slowest.
type pace struct {
	mu    sync.Mutex // guards all below
	moved sync.Cond
	steps []int // of each lane; math.MaxInt: it has left
	free  bool  // no lane waits any more
}

func newPace(lanes int) *pace {
	p := &pace{steps: make([]int, lanes)}
	p.moved.L = &p.mu
	return p
}

// wait returns when the lane may send what belongs to the step.
func (p *pace) wait(lane, step int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.steps[lane] != step {
		p.steps[lane] = step
		p.moved.Broadcast()
	}
	for !p.free && step > slices.Min(p.steps)+maxAhead {
		p.moved.Wait()
	}
}

// leave lets the others go on without the lane.
func (p *pace) leave(lane int) { p.set(func() { p.steps[lane] = math.MaxInt }) }

// release lets all go on.
func (p *pace) release() { p.set(func() { p.free = true }) }

func (p *pace) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.moved.Broadcast()
}
