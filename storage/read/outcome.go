package read

import (
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage"
)

// way is one way to read one metric.
type way struct {
	metric string // UID
	kind   planKind
}

// rememberedWays bounds the outcomes that are remembered.
const rememberedWays = 4096

func newOutcomes() *cache.LRU[way, storage.PlanOutcome] {
	return cache.NewLRU[way, storage.PlanOutcome](rememberedWays)
}

// outcome is what one query did so far. It is safe for concurrent use.
type outcome struct {
	mu   sync.Mutex // guards ways
	ways map[way]storage.PlanOutcome
}

func (o *outcome) add(w way, expected, read int64, took time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ways == nil {
		o.ways = map[way]storage.PlanOutcome{}
	}
	sum := o.ways[w]
	o.ways[w] = storage.PlanOutcome{RowsExpected: sum.RowsExpected + expected, RowsRead: sum.RowsRead + read, Took: max(sum.Took, took)}
}

// noteRows notes a group that was read from the table of a shared engine, and learns from it if all of
// it was read in one way.
func (r *selection) noteRows(plans []plan, members []member, took time.Duration) {
	if r.sweeps == nil {
		return
	}
	rows, kind, mixed := 0, plans[0].kind, false
	for _, p := range plans {
		asked := p.series * r.hours()
		r.outcome.add(way{members[0].tsuid[:r.o.Layout.MetricWidth], p.kind}, int64(asked), int64(asked), took)
		rows += asked
		members = members[p.series:]
		mixed = mixed || p.kind != kind
	}
	if !mixed {
		r.costs.learn(kind, rows, took)
	}
}

// note notes a sweep, and learns from it if all of it was read in one way.
func (s *sweep) note(took time.Duration) {
	members := s.members
	read, kind, mixed := int64(0), s.plans[0].kind, false
	for i := range s.plans {
		p := &s.plans[i]
		n := s.reads[i].Load()
		s.outcome.add(way{members[0].tsuid[:s.o.Layout.MetricWidth], p.kind}, p.expected(s.hours()), n, took)
		members = members[p.series:]
		read += n
		mixed = mixed || p.kind != kind
	}
	if !mixed {
		s.costs.learn(kind, int(read), took)
	}
}

// remember keeps the outcome for those who ask for plans.
func (r *selection) remember() {
	r.outcome.mu.Lock()
	defer r.outcome.mu.Unlock()
	for w, o := range r.outcome.ways {
		o.At = r.o.Now()
		r.outcomes.Put(w, o)
	}
}
