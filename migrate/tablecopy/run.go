package tablecopy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
)

// Options are what a copy needs.
type Options struct {
	From Source
	To   Target
	// FromName, ToName and What name both stores, and what is copied, for the state.
	FromName, ToName, What string
	// State is the file that keeps how far the copy is; empty: nothing does.
	State string
	// Parallel is how many ranges are copied at once.
	Parallel int
	// Rate bounds the points that are copied in a second; 0: nothing does.
	Rate int
	// Patience is how long a store that fails is asked again.
	Patience time.Duration
	Failed   func(error) // of a store, which is asked again
	Lost     func(Loss)
	Progress func(Progress)
	Every    time.Duration
	Now      func() time.Time
}

// Progress is how far a copy is.
type Progress struct {
	Total        // of all runs with this state
	Before Total // of earlier runs
	At     pipeline.Range
	Took   time.Duration
}

// Rate returns points for each second of this run.
func (p Progress) Rate() float64 {
	return float64(p.Points-p.Before.Points) / max(p.Took.Seconds(), 0.001)
}

// String prints one line.
func (p Progress) String() string {
	s := fmt.Sprintf("%d series, %d points, %.0f/s", p.Series, p.Points, p.Rate())
	if p.At.Part != "" {
		s += ", at " + p.At.Part
	}
	if p.At.Name != "" && p.At.Part != PartSeries && p.At.Part != PartArchives {
		s += " of " + p.At.Name + " from " + time.UnixMilli(p.At.From).UTC().Format("2006/01/02")
	}
	if p.LostN > 0 {
		s += fmt.Sprintf(", %d lost", p.LostN)
	}
	return s
}

// Run copies all that a source has. When it returns without an error, all of it is durable but for what is counted as lost.
// After an error the state says what is durable.
func Run(ctx context.Context, o Options) (Progress, error) {
	kept, err := openState(o.State, stateDoc{From: o.FromName, To: o.ToName, What: o.What})
	if err != nil {
		return Progress{}, fmt.Errorf("state: %w", err)
	}
	r := newRun(o, kept)
	err = r.all(ctx)
	return r.progress(), err
}

func newRun(o Options, kept *state) *run {
	r := &run{Options: o, state: kept, begun: o.Now(), before: kept.total()}
	if o.Rate > 0 {
		r.limit = rate.NewLimiter(rate.Limit(o.Rate), o.Rate)
	}
	return r
}

// A run is one copy.
type run struct {
	Options
	state  *state
	begun  time.Time
	before Total
	limit  *rate.Limiter // nil: there is none

	mu     sync.Mutex // guards what follows; held while ranges are asked for
	ranges []pipeline.Range
	ended  bool // the part has no others
	last   atomic.Pointer[pipeline.Range]
}

func (r *run) progress() Progress {
	p := Progress{Total: r.state.total(), Before: r.before, Took: r.Now().Sub(r.begun)}
	if at := r.last.Load(); at != nil {
		p.At = *at
	}
	return p
}

// saveEvery is how often the state is written while something changes.
const saveEvery = 500 * time.Millisecond

// all copies what the state does not have yet.
func (r *run) all(ctx context.Context) error {
	if r.state.doc.Done {
		return nil
	}
	var parts []string
	if err := r.again(ctx, func() (err error) { parts, err = r.From.Parts(ctx); return err }); err != nil {
		return err
	}
	at := 0
	if part := r.state.doc.After.Part; part != "" {
		if at = slices.Index(parts, part); at < 0 {
			return fmt.Errorf("the source has no longer the part %q that the state is at", part)
		}
	}
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(watch) })
	var err error
	for ; at < len(parts) && err == nil; at++ {
		err = r.part(ctx, parts[at])
	}
	stop()
	watching.Wait()
	if err == nil {
		r.state.change(func(doc *stateDoc) { doc.Done = true })
	}
	if saved := r.state.save(); saved != nil {
		err = errors.Join(err, fmt.Errorf("state: %w", saved))
	}
	return err
}

// watch writes the state, and tells of the progress, until ctx ends.
func (r *run) watch(ctx context.Context) {
	told := r.begun
	for retry.Sleep(ctx, saveEvery) {
		_ = r.state.save() // the end of the copy tells of an error that stays
		if r.Progress != nil && r.Now().Sub(told) >= r.Every {
			told = r.Now()
			r.Progress(r.progress())
		}
	}
}

// part copies a part.
func (r *run) part(ctx context.Context, part string) error {
	var open []*pipeline.Range
	r.state.change(func(doc *stateDoc) {
		if doc.After.Part != part {
			doc.After, doc.Open = pipeline.Range{Part: part}, nil
		}
		open = slices.Clone(doc.Open)
	})
	r.ranges, r.ended = nil, false
	group, ctx := errgroup.WithContext(ctx)
	var mu sync.Mutex // guards open
	next := func() (*pipeline.Range, error) {
		mu.Lock()
		if len(open) > 0 {
			defer mu.Unlock()
			one := open[0]
			open = open[1:]
			return one, nil
		}
		mu.Unlock()
		return r.take(ctx)
	}
	for range r.Parallel {
		group.Go(func() error {
			for {
				about, err := next()
				if err != nil || about == nil {
					return err
				}
				if err := r.copy(ctx, about); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// take begins the next range; nil: there are no more.
func (r *run) take(ctx context.Context) (*pipeline.Range, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ranges) == 0 && !r.ended {
		err := r.again(ctx, func() (err error) {
			r.ranges, err = r.From.Ranges(ctx, r.state.doc.After)
			return err
		})
		if err != nil {
			return nil, err
		}
		r.ended = len(r.ranges) == 0
	}
	if r.ended {
		return nil, nil //nolint:nilnil // it is an answer
	}
	next := r.ranges[0]
	r.ranges = r.ranges[1:]
	open := next
	r.state.change(func(doc *stateDoc) {
		doc.After = next
		doc.Open = append(doc.Open, &open)
	})
	r.last.Store(&next)
	return &open, nil
}

// copy copies what is left of an open range. The state changes the range.
func (r *run) copy(ctx context.Context, about *pipeline.Range) error {
	err := r.againFrom(ctx, about, func() error {
		err := r.From.Read(ctx, *about, func(b *Block) error { return r.give(ctx, about, b) })
		if failed, ok := errors.AsType[targetError](err); ok {
			return pipeline.FinalError{Err: failed.error} // it was asked again
		}
		return err
	})
	if err != nil {
		return err
	}
	r.state.change(func(doc *stateDoc) {
		doc.Open = slices.DeleteFunc(doc.Open, func(one *pipeline.Range) bool { return one == about })
	})
	return nil
}

// A targetError is an error of the target.
type targetError struct{ error }

// give puts a block of a range.
func (r *run) give(ctx context.Context, about *pipeline.Range, b *Block) error {
	points := b.Points()
	if err := r.wait(ctx, points); err != nil {
		return err
	}
	lost := b.Lost
	if !b.empty() {
		err := r.again(ctx, func() error {
			more, err := r.To.Put(ctx, b)
			lost = slices.Concat(b.Lost, more)
			return err
		})
		if err != nil {
			return targetError{err}
		}
	}
	for _, one := range r.state.lose(lost) {
		if r.Lost != nil {
			r.Lost(one)
		}
	}
	r.state.change(func(doc *stateDoc) {
		doc.Points += points
		if about.Part == PartSeries {
			doc.Series += int64(len(b.Series))
		}
		if b.Rest != nil {
			*about = *b.Rest
		}
	})
	return nil
}

// wait returns when so many points may be copied.
func (r *run) wait(ctx context.Context, points int64) error {
	if r.limit == nil {
		return nil
	}
	for points > 0 {
		some := min(points, int64(r.limit.Burst()))
		if err := r.limit.WaitN(ctx, int(some)); err != nil {
			return err
		}
		points -= some
	}
	return nil
}

// The pauses before a store that fails is asked again.
const firstPause, lastPause = 100 * time.Millisecond, 10 * time.Second

// again tries something until it succeeds, fails for good, or has failed for longer than the patience.
func (r *run) again(ctx context.Context, try func() error) error {
	return r.againFrom(ctx, &pipeline.Range{}, try)
}

// againFrom is again for what goes on in a range: the patience begins anew where it gets on.
func (r *run) againFrom(ctx context.Context, about *pipeline.Range, try func() error) error {
	begin, pause, at := r.Now(), firstPause, *about
	for {
		err := try()
		if *about != at {
			begin, pause, at = r.Now(), firstPause, *about
		}
		_, final := errors.AsType[pipeline.FinalError](err)
		if err == nil || final || ctx.Err() != nil || r.Now().Sub(begin)+pause > r.Patience {
			return err
		}
		if r.Failed != nil && pause >= lastPause/2 {
			r.Failed(err)
		}
		if !retry.Sleep(ctx, pause) {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}
