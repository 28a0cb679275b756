package tablecopy

import (
	"context"
	"errors"
	"hash/maphash"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
)

// FollowOptions are what a copy of a running system needs in addition.
type FollowOptions struct {
	Options
	// Changes tells what changes in the source.
	Changes Follower
	// Since returns the Source of the points of a query from a time on.
	Since func(start int64) (Source, error)
	// Target reads the target, and Deleter deletes in it, if what was deleted in the source is deleted there, too; else nil.
	// TargetSince is Since of the target.
	Target      Source
	TargetSince func(start int64) (Source, error)
	Deleter     Deleter
	// Start and End bound what is copied.
	Start, End int64
	// Pause is between two rounds.
	Pause time.Duration
	// Rest is how often all parts but the points are copied again.
	Rest time.Duration
	// Round is told of each round.
	Round func(Round)
}

// A Round is what a round has copied.
type Round struct {
	Total
	Pruned int64 // points that were deleted in the target
	// Behind is how old the target is: everything older that the source had is there.
	Behind time.Duration
	Last   bool
}

// Follow copies all that a source has, and then what changes in it, until ctx ends; then once more. What changed between two runs
// with one state is copied too, if the source still knows it; otherwise all is copied again.
func Follow(ctx context.Context, o FollowOptions) (Progress, error) {
	kept, err := openState(o.State, stateDoc{From: o.FromName, To: o.ToName, What: o.What})
	if err != nil {
		return Progress{}, err
	}
	f := &following{o: o, run: newRun(o.Options, kept)}
	err = f.all(ctx)
	return f.progress(), err
}

// following is a copy of a running system.
type following struct {
	*run
	o      FollowOptions
	rested time.Time // when the rest was copied last
}

func (f *following) all(ctx context.Context) error {
	if f.state.doc.Moment == "" {
		c, err := f.changes(ctx, "")
		if err != nil {
			return err
		}
		f.state.change(func(doc *stateDoc) { doc.Moment = c.Moment })
	}
	if err := f.run.all(ctx); err != nil {
		return err
	}
	f.rested = f.begun
	for {
		last := ctx.Err() != nil
		if err := f.round(context.WithoutCancel(ctx), last); err != nil || last {
			return errors.Join(err, f.state.save())
		}
		if err := f.state.save(); err != nil {
			return err
		}
		retry.Sleep(ctx, f.o.Pause)
	}
}

func (f *following) changes(ctx context.Context, since string) (c Changes, err error) {
	err = f.again(ctx, func() (err error) { c, err = f.o.Changes.Changes(ctx, since); return err })
	return c, err
}

// round copies what has changed since the last one.
func (f *following) round(ctx context.Context, last bool) error {
	begin := f.Now()
	c, err := f.changes(ctx, f.state.doc.Moment)
	if err != nil {
		return err
	}
	before, pruned := f.state.total(), int64(0)
	if c.Forgotten {
		f.Failed(ErrForgotten)
		c.Spans = append(c.Spans, Span{"", f.o.Start, f.o.End})
		c.Deleted = append(c.Deleted, Span{"", f.o.Start, f.o.End})
	}
	if c.Recent > 0 {
		c.Spans = append(c.Spans, Span{"", c.Recent, f.o.End})
	}
	c.Spans = append(c.Spans, f.state.again()...) // of a run that was interrupted
	for _, s := range c.Spans {
		if err := f.span(ctx, s, f.o.Since, f.copyRange); err != nil {
			return err
		}
	}
	if f.o.Deleter != nil {
		if pruned, err = f.prune(ctx, c.Deleted); err != nil {
			return err
		}
	}
	if last || c.Forgotten || f.Now().Sub(f.rested) >= f.o.Rest {
		if err := f.rest(ctx); err != nil {
			return err
		}
		f.rested = f.Now()
	}
	f.state.change(func(doc *stateDoc) { doc.Moment, doc.Again = c.Moment, nil })
	after := f.state.total()
	f.o.Round(Round{
		Total: Total{after.Points - before.Points, after.Series - before.Series, after.LostN - before.LostN}, Pruned: pruned, Behind: f.Now().Sub(begin), Last: last,
	})
	return nil
}

// prune deletes in the target what was deleted in the source, in some times. It returns how many points these were.
func (f *following) prune(ctx context.Context, deleted []Span) (int64, error) {
	compare := &comparison{from: f.From, to: f.o.Target, seed: maphash.MakeSeed()}
	var pruned atomic.Int64
	known, err := f.knownMetrics(ctx, deleted)
	if err != nil {
		return 0, err
	}
	for _, s := range deleted {
		// By the ranges of the target: the source may have no points there any more.
		err := f.span(ctx, s, f.o.TargetSince, func(ctx context.Context, about pipeline.Range) error {
			if s.Metric == "" && !known[about.Name] {
				return nil // a metric that the target has from others
			}
			n, err := compare.prune(ctx, about, f.o.Deleter, f.copyLater)
			pruned.Add(n)
			return err
		})
		if err != nil {
			return 0, err
		}
	}
	for _, s := range f.state.again() {
		if err := f.span(ctx, s, f.o.Since, f.copyRange); err != nil {
			return 0, err
		}
	}
	return pruned.Load(), nil
}

// knownMetrics returns the metrics that the source has ever had, if there are spans of any metric. UIDs stay when all points of a metric
// are deleted.
func (f *following) knownMetrics(ctx context.Context, spans []Span) (known map[string]bool, err error) {
	if !slices.ContainsFunc(spans, func(s Span) bool { return s.Metric == "" }) {
		return nil, nil
	}
	err = f.again(ctx, func() error {
		known = map[string]bool{}
		return f.From.Read(ctx, pipeline.Range{Part: PartNames, To: math.MaxInt64}, func(b *Block) error {
			for i := range b.Names {
				if b.Names[i].Kind == storage.MetricName {
					known[b.Names[i].Name] = true
				}
			}
			return nil
		})
	})
	return known, err
}

// copyLater has a time copied again in this round, or in the next one if this one is interrupted.
func (f *following) copyLater(s Span) error {
	f.state.change(func(doc *stateDoc) { doc.Again = append(doc.Again, s) })
	return f.state.save()
}

// span calls use with the ranges of points that a store has in a time, several at once.
func (f *following) span(ctx context.Context, s Span, since func(start int64) (Source, error), use func(context.Context, pipeline.Range) error) error {
	s.From, s.To = max(s.From, f.o.Start), min(s.To, f.o.End, storage.MaxTime)
	if s.From > s.To {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.Parallel)
	if s.Metric != "" {
		group.Go(func() error {
			return use(ctx, pipeline.Range{Part: PartPoints, Name: s.Metric, From: s.From, To: s.To})
		})
		return group.Wait()
	}
	store, err := since(s.From)
	if err != nil {
		return err
	}
	err = eachRange(ctx, store, PartPoints, func(about pipeline.Range) {
		if about.From > s.To {
			return
		}
		about.To = min(about.To, s.To)
		group.Go(func() error { return use(ctx, about) })
	})
	return errors.Join(group.Wait(), err)
}

// copyRange copies a range.
func (f *following) copyRange(ctx context.Context, about pipeline.Range) error {
	return f.copy(ctx, &about)
}

// rest copies all parts but the points.
func (f *following) rest(ctx context.Context) error {
	parts, err := f.From.Parts(ctx)
	if err != nil {
		return err
	}
	for _, part := range parts {
		if part == PartPoints {
			continue
		}
		group, ctx := errgroup.WithContext(ctx)
		group.SetLimit(f.Parallel)
		err := eachRange(ctx, f.From, part, func(about pipeline.Range) {
			group.Go(func() error { return f.copyRange(ctx, about) })
		})
		if err := errors.Join(group.Wait(), err); err != nil {
			return err
		}
	}
	return nil
}
