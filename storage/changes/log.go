// Package changes tells those who keep what they have computed from points which points have
// changed since. It knows times and metrics: no value, no series. It remembers nothing of times
// that nobody keeps anything of, and it never names a time later than the first one that changed.
package changes

import (
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Recent is how long a point counts as recent. Points of all series arrive there all the time, so
// that a change is noted for all metrics at once.
const Recent = 5 * time.Minute

// Log notes which points change. All writers to a store report to one Log, after the points can be
// read and before they are acknowledged. The methods of a nil Log do nothing. It is safe for
// concurrent use.
type Log struct {
	metric func(storage.Ref) string // UID of the metric of a series
	now    func() time.Time

	// What is watched, in milliseconds, both included: all readings lie between. Written under mu.
	from, to atomic.Int64

	mu       sync.Mutex // guards the rest
	moment   uint64
	readings map[*Reading]struct{}
	all      marks            // of all metrics
	recent   marks            // those of them that are of recent points
	spans    spans            // those that are of whole times
	renamed  uint64           // the moment of the last change of names; 0: there was none
	metrics  map[string]marks // by UID
}

// New returns a log that nobody reads yet. metric returns the UID of the metric of a series.
func New(metric func(storage.Ref) string, now func() time.Time) *Log {
	l := &Log{metric: metric, now: now, readings: map[*Reading]struct{}{}, metrics: map[string]marks{}}
	l.watchLess()
	return l
}

// Batch notes that a batch was appended, or may have been.
func (l *Log) Batch(b *storage.Batch) {
	if l == nil {
		return
	}
	from, to := l.from.Load(), l.to.Load()
	if from > to || !l.touches(b, from, to) {
		return
	}
	n := noting{log: l, recent: l.now().Add(-Recent).UnixMilli(), first: math.MaxInt64}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, t := range b.Times {
		if t >= from && t <= to {
			n.point(b.Refs[i], t)
		}
	}
	for i := range b.Objects {
		if t := b.Objects[i].Time; t >= from && t <= to {
			n.point(b.Objects[i].Ref, t)
		}
	}
	if n.first != math.MaxInt64 {
		l.all.note(l.moment, n.first)
		l.recent.note(l.moment, n.first)
	}
}

// touches reports whether a batch has a time that is watched.
func (l *Log) touches(b *storage.Batch, from, to int64) bool {
	for _, t := range b.Times {
		if t >= from && t <= to {
			return true
		}
	}
	for i := range b.Objects {
		if t := b.Objects[i].Time; t >= from && t <= to {
			return true
		}
	}
	return false
}

// noting notes the points of a batch.
type noting struct {
	log    *Log
	recent int64 // points from here on count for all metrics
	first  int64 // of these

	// The last series, its metric, and the first time that is noted for it.
	ref    storage.Ref
	metric string
	noted  int64
}

func (n *noting) point(ref storage.Ref, t int64) {
	if t >= n.recent {
		n.first = min(n.first, t)
		return
	}
	if ref != n.ref {
		n.ref, n.metric, n.noted = ref, n.log.metric(ref), math.MaxInt64
	}
	if t >= n.noted {
		return
	}
	n.noted = t
	m := n.log.metrics[n.metric]
	if m.note(n.log.moment, t) {
		n.log.metrics[n.metric] = m
	}
}

// Times notes that any points between two times may have changed, both included, in milliseconds.
func (l *Log) Times(from, to int64) {
	if l == nil || to < l.from.Load() || from > l.to.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all.note(l.moment, from)
	l.spans.note(l.moment, from, to)
}

// Names notes that any series may have got another name.
func (l *Log) Names() {
	if l == nil {
		return
	}
	l.Times(0, math.MaxInt64)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.renamed = l.moment
}
