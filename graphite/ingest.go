package graphite

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/storage"
)

// IngestOptions are what an Ingest needs. All fields but Appends are wanted.
type IngestOptions struct {
	Appender storage.Appender
	// Paths is the series of a Graphite name, plain or tagged. It must answer every name, and is called by several at once.
	Paths        func(name string) storage.Series
	CacheEntries int // series found by their names as they are sent
	Appends      int // appends at once; 0: 4

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

const (
	defaultAppends = 4
	// groupPoints bounds the points that one append takes of several writes.
	groupPoints = 64 << 10
)

// Ingest stores points under their Graphite names. It is the Sink of carbon's listeners.
//
// Writes are committed in groups: while all appends allowed are under way, those that come wait together, and the first of them
// appends for all. So many connections with a few points each cost the store no more than one with many.
type Ingest struct {
	o       IngestOptions
	cache   *storage.RefCache
	jobs    chan *ingestJob // those that are idle
	refused ingestRefused
	metrics *ingestMetrics

	mu      sync.Mutex   // guards all below, and the groups
	forming *ingestGroup // the group that takes more writes; nil: none
}

var _ carbon.Sink = (*Ingest)(nil)

// NewIngest returns an Ingest over a store.
func NewIngest(o IngestOptions) *Ingest {
	if o.Appends == 0 {
		o.Appends = defaultAppends
	}
	in := &Ingest{
		o: o, cache: storage.NewRefCache(o.CacheEntries), jobs: make(chan *ingestJob, o.Appends),
		refused: ingestRefused{logger: o.Logger}, metrics: newIngestMetrics(o.Registerer),
	}
	for range o.Appends {
		in.jobs <- newIngestJob(in)
	}
	return in
}

// ingestWrite is one call of Write.
type ingestWrite struct {
	points  []carbon.Point
	refused int   // points
	err     error // nothing is known to be stored
}

// ingestGroup is writes that are stored together.
type ingestGroup struct {
	writes []*ingestWrite
	points int
	begun  bool          // the writes are being stored, none can leave
	done   chan struct{} // closed when each write knows what became of it
}

// Write implements carbon.Sink. Points of names that the store refuses are counted, and no error.
func (in *Ingest) Write(ctx context.Context, points []carbon.Point) error {
	if len(points) == 0 {
		return nil
	}
	w := &ingestWrite{points: points}
	g, leads := in.join(w)
	if leads {
		in.lead(ctx, g)
		return w.err
	}
	select {
	case <-g.done:
		return w.err
	case <-ctx.Done():
	}
	if in.leave(g, w) {
		return ctx.Err()
	}
	<-g.done // the points are in use
	return w.err
}

// join adds a write to the group that is forming, or begins one, which the caller leads.
func (in *Ingest) join(w *ingestWrite) (g *ingestGroup, leads bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	g = in.forming
	if g == nil || g.points+len(w.points) > groupPoints {
		g, leads = &ingestGroup{done: make(chan struct{})}, true
		in.forming = g
	}
	g.writes = append(g.writes, w)
	g.points += len(w.points)
	return g, leads
}

// leave takes a write out of a group again, unless it is too late.
func (in *Ingest) leave(g *ingestGroup, w *ingestWrite) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if g.begun {
		return false
	}
	g.writes = slices.DeleteFunc(g.writes, func(other *ingestWrite) bool { return other == w })
	g.points -= len(w.points)
	return true
}

// lead waits for its turn, and stores what has joined the group until then.
func (in *Ingest) lead(ctx context.Context, g *ingestGroup) {
	defer close(g.done)
	select {
	case j := <-in.jobs:
		j.store(ctx, in.begin(g))
		in.jobs <- j
	case <-ctx.Done():
		for _, w := range in.begin(g) {
			w.err = ctx.Err()
			in.metrics.count(w)
		}
	}
}

// begin closes a group for those who would join or leave.
func (in *Ingest) begin(g *ingestGroup) []*ingestWrite {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.forming == g {
		in.forming = nil
	}
	g.begun = true
	return g.writes
}
