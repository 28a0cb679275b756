package graphite

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/ingest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// IngestOptions are what an Ingest needs. All fields but Appends are wanted.
type IngestOptions struct {
	Appender storage.Appender
	// Paths is the series of a Graphite name, plain or tagged. It must answer every name, and is called by several at once.
	Paths        func(name string) storage.Series
	CacheEntries int // series found by their names as they are sent
	Appends      int // appends at once; 0: 4
	// MaxFuture is --carbon.max-future: how far ahead of the clock a point may be; 0: any time, as in carbon.
	MaxFuture time.Duration

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

const defaultAppends = 4

// Ingest stores points under their Graphite names. It is the Sink of carbon's listeners.
//
// Writes that come at once are stored in groups.
type Ingest struct {
	o       IngestOptions
	cache   atomic.Pointer[ingest.Cache]
	groups  *ingest.Groups[*ingestJob, *ingestWrite]
	refused ingestRefused
	metrics *ingestMetrics
}

var _ carbon.Sink = (*Ingest)(nil)

// NewIngest returns an Ingest over a store.
func NewIngest(o IngestOptions) *Ingest {
	if o.Appends == 0 {
		o.Appends = defaultAppends
	}
	in := &Ingest{
		o: o, refused: ingestRefused{logger: o.Logger}, metrics: newIngestMetrics(o.Registerer),
	}
	in.DropCaches()
	jobs := make([]*ingestJob, o.Appends)
	for i := range jobs {
		jobs[i] = newIngestJob(in)
	}
	in.groups = ingest.NewGroups(jobs, func(w *ingestWrite) int { return len(w.points) }, in.commit, in.abandon)
	return in
}

// DropCaches forgets which series names have: all are resolved again when they are met.
func (in *Ingest) DropCaches() { in.cache.Store(ingest.NewCache(in.o.CacheEntries)) }

// ingestWrite is one call of Write.
type ingestWrite struct {
	points  []carbon.Point
	refused int   // points
	err     error // nothing is known to be stored
}

// Write implements carbon.Sink. Points of names that the store refuses are counted, and no error.
func (in *Ingest) Write(ctx context.Context, points []carbon.Point) error {
	if len(points) == 0 {
		return nil
	}
	w := &ingestWrite{points: points}
	if err := in.groups.Do(ctx, w); err != nil {
		return err
	}
	return w.err
}

func (in *Ingest) commit(ctx context.Context, j *ingestJob, writes []*ingestWrite) *ingestJob {
	j.store(ctx, writes)
	return j
}

func (in *Ingest) abandon(writes []*ingestWrite, err error) {
	for _, w := range writes {
		w.err = err
		in.metrics.count(w)
	}
}
