package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// ImportOptions are what an import needs.
type ImportOptions struct {
	Files []string // Stdin is the standard input
	Stdin io.Reader
	Store Store
	// Skip goes on after bad lines.
	Skip bool
	// Parallel is how many files are read at once; BlockBytes is the size of a block.
	Parallel, BlockBytes int
	// Patience is how long a store that fails is asked again.
	Patience time.Duration
	// State is the file that keeps how much is durable; empty: nothing does. Target names the store.
	State, Target string
	// Bad is told of bad lines, of the first ones; Progress of the progress, each Every.
	Bad      func(file string, bad BadLine)
	Failed   func(error) // of the store, which is asked again
	Progress func(Progress)
	Every    time.Duration
	Now      func() time.Time
}

// DefaultImportOptions returns the options for what is imported by lines.
func DefaultImportOptions() ImportOptions {
	return ImportOptions{Parallel: 4, BlockBytes: 2 << 20, Patience: 2 * time.Minute, Every: time.Second, Now: time.Now}
}

// A BadLineError ends an import at a bad line.
type BadLineError struct {
	File string
	Bad  BadLine
}

// Error names the line.
func (e *BadLineError) Error() string { return e.Bad.in(e.File) }

func (b BadLine) in(file string) string {
	return fmt.Sprintf("%s:%d: %s: %q", file, b.Line, b.Reason, b.Text)
}

// A FinalError of a Store is for good: the block is not stored again.
type FinalError struct{ Err error }

// Error returns the text of the error.
func (e FinalError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e FinalError) Unwrap() error { return e.Err }

// Import imports files. When it returns without an error, all points are durable, except those of the
// bad lines that are counted. After an error, what is durable is durable, and the state says what.
func Import(ctx context.Context, o ImportOptions) (Progress, error) {
	for i, name := range o.Files {
		if slices.Contains(o.Files[:i], name) {
			return Progress{}, fmt.Errorf("%s is given twice", name)
		}
	}
	kept, err := openState(o.State, o.Target)
	if err != nil {
		return Progress{}, fmt.Errorf("state: %w", err)
	}
	r := &run{ImportOptions: o, state: kept, begun: o.Now()}
	r.shown.Store(shownLines)
	err = r.all(ctx)
	return r.progress(), errors.Join(err, kept.save())
}

// run is an import.
type run struct {
	ImportOptions
	state *state
	begun time.Time

	points, bad, done, shown atomic.Int64
	before                   int64 // points of earlier runs

	mu      sync.Mutex // guards what follows
	sources []*source  // that are or were open
	sizes   []int64    // of all files; nil: one is unknown
}

// shownLines is how many bad lines are told of.
const shownLines = 1000

func (r *run) progress() Progress {
	p := Progress{Files: len(r.Files), Done: int(r.done.Load()), Points: r.points.Load(), Before: r.before, Bad: r.bad.Load(), Took: r.Now().Sub(r.begun)}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sources {
		p.Read += s.taken.Load()
	}
	for _, size := range r.sizes {
		p.Size += size
	}
	return p
}

func (r *run) all(ctx context.Context) error {
	states := make([]*fileState, len(r.Files))
	for i, name := range r.Files {
		var err error
		if states[i], err = r.state.of(name); err != nil {
			return err
		}
		r.before += states[i].Points
	}
	r.sizes = sizesOf(r.Files, states)
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(watch) })
	defer watching.Wait()
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.Parallel)
	for i, name := range r.Files {
		group.Go(func() error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := r.file(ctx, name, states[i]); err != nil {
				if bad, ok := errors.AsType[*BadLineError](err); ok {
					return bad
				}
				return fmt.Errorf("%s: %w", name, err)
			}
			r.done.Add(1)
			return nil
		})
	}
	return group.Wait()
}

// saveEvery is how often the state is written while something changes.
const saveEvery = 200 * time.Millisecond

// watch writes the state, and tells of the progress, until ctx ends.
func (r *run) watch(ctx context.Context) {
	told := r.begun
	for retry.Sleep(ctx, saveEvery) {
		_ = r.state.saveChanged() // the end of the import tells of an error that stays
		if r.Progress != nil && r.Now().Sub(told) >= r.Every {
			told = r.Now()
			r.Progress(r.progress())
		}
	}
}

// file imports one file.
func (r *run) file(ctx context.Context, name string, kept *fileState) error {
	if kept.Done && kept.Size > 0 && kept.Size == sizeOf(name) {
		return nil
	}
	s, err := open(name, r.Stdin)
	if err != nil {
		return plainCause(err)
	}
	defer func() { _ = s.close() }() // it was only read
	r.mu.Lock()
	r.sources = append(r.sources, s)
	r.mu.Unlock()
	text := bufio.NewReaderSize(s.text, headBytes)
	s.text = text
	err = nil
	r.state.change(func() { err = kept.recognize(text) })
	if err == nil {
		err = s.skip(kept.Bytes)
	}
	if err == nil {
		err = r.blocks(ctx, name, kept, s)
	}
	if err == nil {
		r.state.change(func() { kept.Done, kept.Size = true, s.size })
	}
	return err
}

// blocks stores what follows in a file. The next block is read while one is being stored.
func (r *run) blocks(ctx context.Context, name string, kept *fileState, s *source) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	full, free := make(chan filled), make(chan []byte, 2)
	for range cap(free) {
		free <- make([]byte, 0, r.BlockBytes)
	}
	go s.fill(ctx, free, full) // not waited for: a read of the standard input may last for ever
	for {
		var next filled
		select {
		case next = <-full:
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(next.block) > 0 {
			if err := r.block(ctx, name, kept, next.block); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(next.err, io.EOF):
			return nil
		case next.err != nil:
			return fmt.Errorf("after line %d: %w", kept.Lines, next.err)
		}
		free <- next.block
	}
}

// filled is a block, and why none follows.
type filled struct {
	block []byte
	err   error
}

// fill reads blocks into free memory until the text or ctx ends.
func (s *source) fill(ctx context.Context, free <-chan []byte, full chan<- filled) {
	cut := cutter{text: s.text}
	for {
		var next filled
		select {
		case next.block = <-free:
		case <-ctx.Done():
			return
		}
		next.block, next.err = cut.next(next.block)
		select {
		case full <- next:
		case <-ctx.Done():
			return
		}
		if next.err != nil {
			return
		}
	}
}

// block stores one block.
func (r *run) block(ctx context.Context, name string, kept *fileState, block []byte) error {
	stored, err := r.store(ctx, block)
	if err != nil {
		return err
	}
	first := kept.Lines
	for i := range stored.Shown {
		stored.Shown[i].Line += int(first)
	}
	ends := !r.Skip && stored.Bad > 0
	if ends {
		stored.Bad = 0 // it was not skipped
	}
	r.state.change(func() {
		kept.Bytes += int64(stored.Bytes)
		kept.Lines += int64(stored.Lines)
		kept.Points += int64(stored.Points)
		kept.Bad += int64(stored.Bad)
	})
	r.points.Add(int64(stored.Points))
	r.bad.Add(int64(stored.Bad))
	if ends && len(stored.Shown) > 0 {
		return &BadLineError{name, stored.Shown[0]}
	}
	for _, bad := range stored.Shown {
		if r.Bad != nil && r.shown.Add(-1) >= 0 {
			r.Bad(name, bad)
		}
	}
	if !ends && stored.Bytes != len(block) {
		return fmt.Errorf("after line %d: the store took %d bytes of %d", kept.Lines, stored.Bytes, len(block))
	}
	return nil
}

// The pauses between attempts to store a block.
const (
	firstPause = 125 * time.Millisecond
	lastPause  = 4 * time.Second
)

// store stores a block, again and again while the store fails, as long as patience allows.
func (r *run) store(ctx context.Context, block []byte) (Stored, error) {
	whole := slices.Clone(block) // the store may overwrite it
	var stored Stored
	err := Asking{r.Patience, r.Failed, r.Now}.Again(ctx, func() (err error) {
		copy(block, whole)
		stored, err = r.Store(ctx, block, r.Skip)
		return err
	})
	return stored, err
}

// Asking is how long a store that fails is asked again, and who is told; nil: nobody.
type Asking struct {
	Patience time.Duration
	Failed   func(error)
	Now      func() time.Time
}

// Again calls try, again and again while it fails, as long as patience allows. It does not try again after
// a FinalError.
func (a Asking) Again(ctx context.Context, try func() error) error {
	begin, pause := a.Now(), firstPause
	for {
		err := try()
		_, final := errors.AsType[FinalError](err)
		if err == nil || final || ctx.Err() != nil || a.Now().Sub(begin)+pause > a.Patience {
			return err
		}
		if a.Failed != nil && pause == lastPause/2 {
			a.Failed(err)
		}
		if !retry.Sleep(ctx, pause) {
			return err
		}
		pause = min(2*pause, lastPause)
	}
}

// Hint is what to do about an import that ended early.
func Hint(o ImportOptions) string {
	if o.State == "" {
		return "importing the same points again is harmless; with --state=FILE a repeated import goes on where it was interrupted"
	}
	return "the same command goes on where this one ended (--state=" + o.State + ")"
}

// Lines prints bad lines, as Bad of an import.
func Lines(w io.Writer) func(file string, bad BadLine) {
	var mu sync.Mutex
	return func(file string, bad BadLine) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(w, strings.ToValidUTF8(bad.in(file), "?"))
	}
}
