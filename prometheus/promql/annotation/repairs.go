package annotation

import (
	"context"
	"sync"

	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"
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

// RepairsFrom returns where the query of a context records its repairs, nil if it does not.
func RepairsFrom(ctx context.Context) *Repairs {
	r, _ := ctx.Value(repairsKey{}).(*Repairs)
	return r
}

// Vectors returns the vectors of buckets in the order in which their annotations are merged, also those
// without repairs. It returns false if not every repair is recorded: another engine evaluated the query, or
// a subquery has the repairs at steps of its own.
func (r *Repairs) Vectors() ([]Repaired, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.vectors, r.complete && !r.unknown
}

// SetComplete records that the evaluation has given the answer.
func (r *Repairs) SetComplete() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.complete = true
}

// Add records the repairs of a vector of buckets.
func (r *Repairs) Add(one Repaired) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.vectors = append(r.vectors, one)
}

// SetIncomplete records that some repairs cannot be distinguished from those of other steps or metrics.
func (r *Repairs) SetIncomplete() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unknown = true
}

// Annotations returns the annotations that the library makes of the repairs at the steps from one to
// another, both included.
func (r Repaired) Annotations(first, last, step int64) annotations.Annotations {
	var all annotations.Annotations
	r.AddTo(&all, "", first, last, step)
	return all
}

// AddTo merges the annotations of a metric into others. The library merges what it has found so far anew at
// each step, so that its number of samples doubles with each; it is what its users see.
func (r Repaired) AddTo(all *annotations.Annotations, name string, first, last, step int64) {
	var found annotations.Annotations
	for t := first; t <= last; t += step {
		if one, ok := r.Steps[t]; ok {
			found.Merge(one.annotations(name, r.Position, t))
		}
		all.Merge(found)
	}
}

// annotations returns those of one step.
func (r Repair) annotations(name string, position posrange.PositionRange, t int64) annotations.Annotations {
	var all annotations.Annotations
	for range r.Samples {
		all.Add(annotations.NewHistogramQuantileForcedMonotonicityInfo(name, position, t, r.Least, r.Most, r.Difference))
	}
	return all
}
