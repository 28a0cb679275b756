package rangeql

import (
	"context"
	"slices"
	"sync"

	"github.com/prometheus/prometheus/promql/parser/posrange"
)

// Repairs records at which steps histogram_quantile made the counts of buckets monotonic. The
// annotation of a query has one sum of all steps; a caller that keeps steps needs them apart. It
// records one evaluation.
type Repairs struct {
	mu       sync.Mutex // guards the rest
	vectors  []Repaired
	unknown  bool // some repairs are not recorded
	complete bool
}

// Repaired is the repairs of one vector of buckets, by the times of the steps in milliseconds.
type Repaired struct {
	Position posrange.PositionRange
	Steps    map[int64]Repair
}

// Repair is the repairs at one step, as the annotation reports them.
type Repair struct {
	Least, Most, Difference float64 // first and last bucket, largest difference
	Samples                 int     // how many histograms
}

// Join returns both repairs as one.
func (r Repair) Join(other Repair) Repair {
	return Repair{min(r.Least, other.Least), max(r.Most, other.Most), max(r.Difference, other.Difference), r.Samples + other.Samples}
}

type repairsKey struct{}

// WithRepairs returns a context whose query records its repairs.
func WithRepairs(ctx context.Context, r *Repairs) context.Context {
	return context.WithValue(ctx, repairsKey{}, r)
}

// Vectors returns the vectors of buckets in the order of their evaluation, also those without
// repairs. It returns false if not every repair is recorded: another engine evaluated the query, or
// a subquery has the repairs at steps of its own.
func (r *Repairs) Vectors() ([]Repaired, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.vectors, r.complete && !r.unknown
}

// finish notes that the evaluation has given the answer.
func (r *Repairs) finish() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = true
}

// visit records that a vector of buckets is evaluated.
func (r *Repairs) visit(position posrange.PositionRange) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.find(position) < 0 {
		r.vectors = append(r.vectors, Repaired{position, map[int64]Repair{}})
	}
}

// note records the repair of one histogram. known is false if it cannot be told apart from those of
// other steps or metrics.
func (r *Repairs) note(position posrange.PositionRange, at int64, one Repair, known bool) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	i := r.find(position)
	if !known || i < 0 {
		r.unknown = true
		return
	}
	steps := r.vectors[i].Steps
	if before, ok := steps[at]; ok {
		one = before.Join(one)
	}
	steps[at] = one
}

// find needs mu.
func (r *Repairs) find(position posrange.PositionRange) int {
	return slices.IndexFunc(r.vectors, func(v Repaired) bool { return v.Position == position })
}
