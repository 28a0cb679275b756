package fsck

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/fsutil"
)

// A Source checks stretches: a Checker, or one in another process.
type Source interface {
	Plan(ctx context.Context, q Query, n int) ([]Stretch, error)
	Check(ctx context.Context, s Stretch, q Query, report func(Step) error) error
}

// RunOptions are how a check runs.
type RunOptions struct {
	Query
	// Parallel is how many stretches are checked at once, at most MaxParallel.
	Parallel int
	// State names the file that keeps how far the check is; "": it is not kept.
	State string
	// Target names the tables in the state: another run with it must be about the same.
	Target string
	// Found is called for each finding, Progress every now and then; neither at the same time twice.
	Found    func(Finding)
	Progress func(Progress)
	Every    time.Duration // between two calls of Progress
	Now      func() time.Time
}

// Progress is how far a check is.
type Progress struct {
	Stretches, Done int
	Rows, Cells     int64
	Findings        int64
	Share           float64 // of the keys that are checked, by what is known of their places
	Took, Left      time.Duration
}

// String prints one line.
func (p Progress) String() string {
	text := fmt.Sprintf("%d rows, %d cells, %d findings, %d of %d stretches, %.1f %%", p.Rows, p.Cells, p.Findings, p.Done, p.Stretches, 100*p.Share)
	if p.Left > 0 {
		text += fmt.Sprintf(", about %v left", p.Left)
	}
	return text
}

// A Report is what a check has found, in this run and in those before it with its state.
type Report struct {
	Rows  int64 `json:"rows"`
	Cells int64 `json:"cells"`
	Tally Tally `json:"tally"`
}

// MaxParallel bounds the stretches that are checked at once.
const MaxParallel = 256

const (
	// maxStretches bounds those of a state that is read.
	maxStretches = 1 << 20
	// saveEvery is how often the state is saved.
	saveEvery = time.Second
)

// stateDoc is the file of a state.
type stateDoc struct {
	Target    string          `json:"target"`
	Query     Query           `json:"query"`
	Stretches []*stretchState `json:"stretches"`
	Report    Report          `json:"report"`
}

// stretchState is how far a stretch is.
type stretchState struct {
	Stretch
	At   []byte `json:"at,omitempty"` // all before is checked
	Done bool   `json:"done,omitempty"`
}

// run is one Run.
type run struct {
	o      RunOptions
	source Source
	begin  time.Time

	mu    sync.Mutex // guards what follows
	doc   stateDoc
	dirty bool
	first float64 // the share when the run began
}

// ErrState means that a state is of another check.
var ErrState = errors.New("it is the state of another check")

// Run checks what a query asks for. After an error the state, if there is one, tells where the same
// call goes on. A row that was being checked then is checked again.
func Run(ctx context.Context, source Source, o RunOptions) (Report, error) {
	r := &run{o: o, source: source, begin: o.Now(), doc: stateDoc{Target: o.Target, Query: o.Query, Report: Report{Tally: Tally{}}}}
	if err := r.open(ctx); err != nil {
		return r.doc.Report, err
	}
	r.first = r.share()
	err := r.all(ctx)
	return r.doc.Report, errors.Join(err, r.save())
}

// open reads the state, or makes the stretches.
func (r *run) open(ctx context.Context) error {
	if r.o.State != "" {
		var doc stateDoc
		found, err := fsutil.ReadState(r.o.State, &doc)
		switch {
		case found && err != nil:
			return fmt.Errorf("%s is not the state of a check: %w", r.o.State, err)
		case err != nil:
			return err
		case found:
			return r.resume(&doc)
		}
	}
	const perWorker = 8 // so that all are busy to the end, and progress shows
	stretches, err := r.source.Plan(ctx, r.o.Query, r.o.Parallel*perWorker)
	if err != nil {
		return err
	}
	for _, s := range stretches {
		r.doc.Stretches = append(r.doc.Stretches, &stretchState{Stretch: s, At: s.From})
	}
	r.dirty = true
	return r.save() // that it can be written shows before anything is checked
}

// resume goes on with a state.
func (r *run) resume(doc *stateDoc) error {
	same := doc.Target == r.o.Target && slices.Equal(doc.Query.Metrics, r.o.Metrics) && slices.Equal(doc.Query.Tables, r.o.Tables) && slices.Equal(doc.Query.Fix, r.o.Fix) &&
		doc.Query.From == r.o.From && doc.Query.Before == r.o.Before
	if !same || len(doc.Stretches) > maxStretches || slices.Contains(doc.Stretches, nil) {
		return fmt.Errorf("%s: %w", r.o.State, ErrState)
	}
	if doc.Report.Tally == nil {
		doc.Report.Tally = Tally{}
	}
	for k, c := range doc.Report.Tally {
		if c == nil {
			return fmt.Errorf("%s: %w: no counts of %s", r.o.State, ErrState, k)
		}
	}
	r.doc = *doc
	return nil
}

// all checks the stretches that are left.
func (r *run) all(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.o.Parallel + 1)
	ended := make(chan struct{})
	group.Go(func() error { return r.tick(ctx, ended) })
	var workers sync.WaitGroup
	for _, s := range r.doc.Stretches {
		if s.Done {
			continue
		}
		workers.Add(1)
		group.Go(func() error {
			defer workers.Done()
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return r.stretch(ctx, s)
		})
	}
	go func() {
		workers.Wait()
		close(ended)
	}()
	return group.Wait()
}

// stretch checks one stretch from where it was left.
func (r *run) stretch(ctx context.Context, s *stretchState) error {
	rest := s.Stretch
	rest.From = s.At
	err := r.source.Check(ctx, rest, r.o.Query, func(step Step) error {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, f := range step.Findings {
			r.o.Found(f)
		}
		if len(step.At) > 0 {
			s.At = step.At
		}
		r.doc.Report.Rows += step.Rows
		r.doc.Report.Cells += step.Cells
		r.doc.Report.Tally.add(step.Findings)
		r.dirty = true
		return nil
	})
	if err != nil {
		return err
	}
	r.mu.Lock()
	s.Done, r.dirty = true, true
	r.mu.Unlock()
	return nil
}

// tick saves the state and reports the progress until all is done.
func (r *run) tick(ctx context.Context, ended <-chan struct{}) error {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for told := time.Now(); ; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ended:
			return nil
		case <-ticker.C:
		}
		if r.o.Progress != nil && time.Since(told) >= r.o.Every {
			told = time.Now()
			r.o.Progress(r.progress())
		}
		if err := r.save(); err != nil {
			return err
		}
	}
}

// save writes the state, if something has changed.
func (r *run) save() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.o.State == "" || !r.dirty {
		return nil
	}
	r.dirty = false
	return fsutil.WriteState(r.o.State, r.doc)
}

func (r *run) progress() Progress {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := Progress{Stretches: len(r.doc.Stretches), Rows: r.doc.Report.Rows, Cells: r.doc.Report.Cells, Share: r.share(), Took: r.o.Now().Sub(r.begin)}
	p.Findings, _ = r.doc.Report.Tally.All()
	for _, s := range r.doc.Stretches {
		if s.Done {
			p.Done++
		}
	}
	if gained := p.Share - r.first; gained > 0.001 {
		p.Left = time.Duration(float64(p.Took) * (1 - p.Share) / gained).Round(time.Second)
	}
	return p
}

// share returns which part of the stretches is checked, by the places of their keys.
func (r *run) share() float64 {
	if len(r.doc.Stretches) == 0 {
		return 1
	}
	sum := 0.0
	for _, s := range r.doc.Stretches {
		if s.Done {
			sum++
		} else {
			sum += between(s.From, s.To, s.At)
		}
	}
	return sum / float64(len(r.doc.Stretches))
}

// between returns which part of the way from one key to another a third one is, 0 to 1.
func between(from, to, at []byte) float64 {
	const width = 24
	number := func(b []byte) *big.Int {
		padded := make([]byte, width)
		copy(padded, b)
		return new(big.Int).SetBytes(padded)
	}
	if len(to) == 0 {
		to = slices.Repeat([]byte{0xFF}, width)
	}
	lo := number(from)
	all, done := new(big.Int).Sub(number(to), lo), new(big.Int).Sub(number(at), lo)
	if all.Sign() <= 0 || done.Sign() <= 0 {
		return 0
	}
	share, _ := new(big.Rat).SetFrac(done, all).Float64()
	return min(share, 1)
}
