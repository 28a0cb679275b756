package rangeql

import "sync"

// minPart is the smallest number of series that is worth another goroutine.
const minPart = 32

// partSamples is about how many samples one part should hold, and partPoints how many points it may
// have.
const (
	partSamples = 1 << 17
	partPoints  = 1 << 17
)

// partition cuts series into parts, sized by what the parts before held. Safe for concurrent use.
type partition struct {
	workers, total, most int

	mu      sync.Mutex
	from    int
	series  int // in parts that were read
	samples int
	before  <-chan struct{}
}

// part is the series [from, to). Its results are committed after the channel before is closed; then
// committed is closed.
type part struct {
	from, to  int
	before    <-chan struct{}
	committed chan struct{}
}

func newPartition(total, steps, workers int) *partition {
	first := make(chan struct{})
	close(first)
	return &partition{workers: max(1, workers), total: total, most: max(1, partPoints/steps), before: first}
}

// next returns the next part, and false if there is none.
func (p *partition) next() (part, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from == p.total {
		return part{}, false
	}
	out := part{from: p.from, to: p.from + p.size(), before: p.before, committed: make(chan struct{})}
	p.from, p.before = out.to, out.committed
	return out, true
}

// size returns how many series the next part has.
func (p *partition) size() int {
	rest := p.total - p.from
	share := max(minPart, (rest+p.workers-1)/p.workers)
	const first = 256 // while nothing is known of the series
	size := first
	if p.samples > 0 {
		size = max(1, int(int64(partSamples)*int64(p.series)/int64(p.samples)))
	}
	return min(size, share, p.most, rest)
}

// done records how many samples a part held.
func (p *partition) done(read part, samples int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.series += read.to - read.from
	p.samples += samples
}
