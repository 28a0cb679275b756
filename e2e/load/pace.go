package load

import (
	"math"
	"slices"
	"sync"
)

// pace keeps lanes within maxAhead steps of the slowest.
type pace struct {
	mu    sync.Mutex // guards all below
	moved sync.Cond
	steps []int // of each lane; math.MaxInt: it has left
	free  bool  // nobody waits any more
}

func newPace(lanes int) *pace {
	p := &pace{steps: make([]int, lanes)}
	p.moved.L = &p.mu
	return p
}

// reset lets all lanes begin again, at the step of the slowest.
func (p *pace) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = false
	clear(p.steps)
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
