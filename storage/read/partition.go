package read

import "sync"

const (
	// fewestPart is the smallest number of series that is worth another goroutine, however short the
	// range is; fewestPoints the smallest number of points, by estimate: these take some ten
	// microseconds to read, and what is done with them takes longer.
	fewestPart   = 32
	fewestPoints = 16 << 10
	// fewestNewest is likewise where the newest sample of each series is read alone, which takes a
	// tenth of a microsecond or two in the head.
	fewestNewest = 512
	// clusterPart is the smallest number of rows of a cluster that is worth another request. A
	// region server reads the rows of a request one after the other, at about 10 us each from its
	// cache, and a request costs as much as 10 to 30 rows.
	clusterPart = 128
	// firstPart is how many series the first parts have, while nothing is known of them.
	firstPart = 256
	// partSamples is about how many samples a part should hold.
	partSamples = 128 << 10
)

// partition cuts the series of a query into parts, sized by what the parts before held. It is safe
// for concurrent use.
type partition struct {
	workers, total int
	// The series of a part: at least, while nothing is known of them, and at most.
	fewest, first, most int

	mu      sync.Mutex // guards all below
	from    int
	series  int // in parts that were read
	samples int
	before  <-chan struct{}
}

// orderedPart is the series [from, to). They are committed after the channel before is closed; then
// committed is closed.
type orderedPart struct {
	from, to  int
	before    <-chan struct{}
	committed chan struct{}
}

// newPartition cuts the series of a selection.
func newPartition(r *selection, workers int) *partition {
	begin := make(chan struct{})
	close(begin)
	p := &partition{workers: workers, total: len(r.q.Refs), fewest: r.fewestPart(), most: r.q.PartSeries, before: begin}
	p.first = min(firstPart, max(fewestSeries, groupSamples/r.perSeries))
	if p.most <= 0 {
		p.most = p.total
	}
	return p
}

// fewestPart returns the smallest number of series that is worth a part.
func (r *selection) fewestPart() int {
	if r.newestAlone() {
		return fewestNewest
	}
	if r.o.DB.Local != nil {
		return min(fewestPart, max(1, fewestPoints/r.perSeries))
	}
	return max(fewestPart, clusterPart/r.hours())
}

// next returns the next part, and false if there is none.
func (p *partition) next() (orderedPart, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.from == p.total {
		return orderedPart{}, false
	}
	out := orderedPart{from: p.from, to: p.from + p.size(), before: p.before, committed: make(chan struct{})}
	p.from, p.before = out.to, out.committed
	return out, true
}

// size returns how many series the next part has.
func (p *partition) size() int {
	rest := p.total - p.from
	share := max(p.fewest, (rest+p.workers-1)/p.workers)
	size := p.first
	if p.samples > 0 {
		size = max(1, int(int64(partSamples)*int64(p.series)/int64(p.samples)))
	}
	return min(size, share, p.most, groupSeries, rest)
}

// done records how many samples a part held.
func (p *partition) done(read orderedPart, samples int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.series += read.to - read.from
	p.samples += samples
}
