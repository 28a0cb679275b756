package pipeline

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
	"github.com/tsdbridge/tsdbridge/internal/rejections"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// sinkOptions are what a sink needs. All fields but Appends are wanted.
type sinkOptions struct {
	Appender storage.Appender
	// Paths returns the series of a Graphite name, plain or tagged. It must accept every name and
	// be safe for concurrent use.
	Paths func(name string) storage.Series
	// Names decides which names are taken, and what becomes of them; nil: all are, as they are.
	Names *Rules
	// CacheEntries is how many series are found by their names as they are sent.
	CacheEntries int
	// Appends is how many appends run at once; 0: 4.
	Appends int
	// MaxFuture is --carbon.max-future: how far ahead of the clock a point may be; 0: no limit, as
	// in carbon.
	MaxFuture time.Duration

	Refused    *rejections.Log // may be nil
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// sink stores points under their Graphite names. It is the Sink of carbon's listeners.
type sink struct {
	*ingest.Ingest
	o        sinkOptions
	refused  *refusedNames
	counters ingest.Counters
	filtered filteredCounters
}

var _ carbon.Sink = (*sink)(nil)

// newSink returns a sink over a store.
func newSink(o sinkOptions) *sink {
	in := &sink{o: o, refused: newRefusedNames(o.Refused), counters: newSinkCounters(o.Registerer), filtered: newFilteredCounters(o.Registerer)}
	in.Ingest = in.newIngest()
	return in
}

func (in *sink) newIngest() *ingest.Ingest {
	return ingest.New(ingest.Options{
		Appender: in.o.Appender, CacheEntries: in.o.CacheEntries, Appends: in.o.Appends, MaxFuture: in.o.MaxFuture, Now: in.o.Now,
	})
}

// asNamed returns a sink over the same store, with the same counters, that stores points under their names
// as they are.
func (in *sink) asNamed() *sink {
	named := *in
	named.o.Names = nil
	named.Ingest = named.newIngest()
	return &named
}

// errRefusedLately keeps a name from the store that refused it a short while ago.
var errRefusedLately = errors.New("the name was refused a short while ago")

// Write implements carbon.Sink. Points of names that the store refuses are counted, and no error.
func (in *sink) Write(ctx context.Context, points []carbon.Point) error {
	if len(points) == 0 {
		return nil
	}
	j := in.Job()
	defer j.Release()
	in.fill(ctx, j, points)
	err := in.Store(ctx, j)
	in.counters.Count(j, err)
	j.EachRefusedSeries(func(name string, err error) { in.refused.add(ctx, name, err, in.o.Now()) })
	if err != nil && storage.IsRefusal(err) {
		in.refused.addPoints(ctx, len(points), points[0].Name, err)
		return nil
	}
	return err
}

// fill adds points to a job, except those that are refused without asking the store.
func (in *sink) fill(ctx context.Context, j *ingest.Job, points []carbon.Point) {
	early := 0
	var firstEarly []byte // its name
	j.Begin()
	latest := j.Latest / 1000
	for i := range points {
		p := &points[i]
		if p.Time > latest {
			if early++; firstEarly == nil {
				firstEarly = p.Name
			}
			continue
		}
		ref := j.Find(p.Name)
		if ref == 0 {
			if err := j.Missing(p.Name, 0, func(name string) (storage.Series, error) { return in.series(ctx, name) }); err != nil {
				if !in.filtered.count(err) {
					j.Refused++
				}
				continue
			}
		}
		j.Batch.Add(ref, p.Time*1000, p.Value)
	}
	j.End()
	if j.Refused += early; early > 0 {
		in.refused.addPoints(ctx, early, firstEarly,
			fmt.Errorf("%w: more than %v in the future (--carbon.max-future)", storage.ErrInvalid, in.o.MaxFuture))
	}
}

// series returns the series of a name, unless the store refused it lately or a list drops it.
func (in *sink) series(ctx context.Context, sent string) (storage.Series, error) {
	if in.refused.holds(sent, in.o.Now()) {
		return storage.Series{}, errRefusedLately
	}
	_, name, err := in.o.Names.Of(sent)
	if err != nil {
		if !isFiltered(err) {
			in.refused.add(ctx, sent, err, in.o.Now())
		}
		return storage.Series{}, err
	}
	return in.o.Paths(name), nil
}
