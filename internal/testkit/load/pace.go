package load

import (
	"math"
	"slices"
	"sync"
)

// pace lets no lane of a run get more than maxAhead steps ahead of the slowest.
type pace struct {
	mu    sync.Mutex // guards all below
	moved sync.Cond
	steps []int // of each lane; math.MaxInt: it has ended
	free  bool  // no lane needs to wait
}

func newPace(lanes int) *pace {
	p := &pace{steps: make([]int, lanes)}
	p.moved.L = &p.mu
	return p
}

// wait returns when the lane may send the samples of the step.
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

// leave ends a lane: the others do not wait for it any longer.
func (p *pace) leave(lane int) { p.set(func() { p.steps[lane] = math.MaxInt }) }

// release lets all lanes continue without waiting.
func (p *pace) release() { p.set(func() { p.free = true }) }

func (p *pace) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.moved.Broadcast()
}
