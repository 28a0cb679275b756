package copying

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/transfer"
)

// FollowOptions are what a copy of a running system needs in addition.
type FollowOptions struct {
	Options
	// Changes tells what changes in the source.
	Changes Follower
	// Since returns the Source of the points of a query from a time on.
	Since func(start int64) (Source, error)
	// Target reads the target, and Deleter deletes in it, if what was deleted in the source is deleted there, too; else nil.
	Target  Source
	Deleter Deleter
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
	for _, s := range c.Spans {
		if err := f.span(ctx, s, f.copyRange); err != nil {
			return err
		}
	}
	if f.o.Deleter != nil {
		compare := &comparison{from: f.From, to: f.o.Target, seed: maphash.MakeSeed()}
		var mu sync.Mutex // guards pruned
		for _, s := range c.Deleted {
			err := f.span(ctx, s, func(ctx context.Context, about transfer.Range) error {
				n, err := compare.prune(ctx, about, f.o.Deleter)
				mu.Lock()
				defer mu.Unlock()
				pruned += n
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	if last || c.Forgotten || f.Now().Sub(f.rested) >= f.o.Rest {
		if err := f.rest(ctx); err != nil {
			return err
		}
		f.rested = f.Now()
	}
	f.state.change(func(doc *stateDoc) { doc.Moment = c.Moment })
	after := f.state.total()
	f.o.Round(Round{
		Total: Total{after.Points - before.Points, after.Series - before.Series, after.LostN - before.LostN}, Pruned: pruned, Behind: f.Now().Sub(begin), Last: last,
	})
	return nil
}

// span calls use with the ranges of points in a time, several at once.
func (f *following) span(ctx context.Context, s Span, use func(context.Context, transfer.Range) error) error {
	s.From, s.To = max(s.From, f.o.Start), min(s.To, f.o.End, storage.MaxTime)
	if s.From > s.To {
		return nil
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(f.Parallel)
	if s.Metric != "" {
		group.Go(func() error {
			return use(ctx, transfer.Range{Part: PartPoints, Name: s.Metric, From: s.From, To: s.To})
		})
		return group.Wait()
	}
	source, err := f.o.Since(s.From)
	if err != nil {
		return err
	}
	err = eachRange(ctx, source, PartPoints, func(about transfer.Range) {
		if about.From > s.To {
			return
		}
		about.To = min(about.To, s.To)
		group.Go(func() error { return use(ctx, about) })
	})
	return errors.Join(group.Wait(), err)
}

// copyRange copies a range.
func (f *following) copyRange(ctx context.Context, about transfer.Range) error {
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
		err := eachRange(ctx, f.From, part, func(about transfer.Range) {
			group.Go(func() error { return f.copyRange(ctx, about) })
		})
		if err := errors.Join(group.Wait(), err); err != nil {
			return err
		}
	}
	return nil
}
