package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// A Piece is a part of what is imported that is stored as a whole, such as a file.
type Piece struct {
	Name string
	Size int64 // bytes that are read
	Held int64 // bytes of memory while it is stored
	// Mark tells more about what is stored than the name: where it has changed since another run, a state is
	// refused. Empty: nothing does.
	Mark string
}

// PiecesOptions are what an import in pieces needs.
type PiecesOptions struct {
	// Pieces are ordered by their names, and the same in each run with a state.
	Pieces []Piece
	// Store makes the points of a piece durable, and returns when they are. It may be called again for
	// the same piece in another run. A SkipError skips the piece, another error ends the import.
	Store func(ctx context.Context, piece int) (points int64, err error)
	// Parallel is how many pieces are stored at once, HeldBytes the memory for all of them.
	Parallel  int
	HeldBytes int64
	// Patience is how long a store that fails is asked again; see Again.
	Patience time.Duration
	// State is the file that keeps which pieces are durable; empty: nothing does. Source and Target name what
	// is read and the store, and What what is imported: the state of an import of other things is refused.
	State, Source, Target, What string
	// Skipped is told of pieces that are skipped, Failed of a store that is asked again, Progress of the
	// progress, each Every.
	Skipped  func(name string, err error)
	Failed   func(error)
	Progress func(Progress)
	Every    time.Duration
	Now      func() time.Time
}

func (o *PiecesOptions) asking() Asking { return Asking{o.Patience, o.Failed, o.Now} }

// Again calls try, again and again while it fails, as long as patience allows. It does not try again after
// a FinalError.
func (o *PiecesOptions) Again(ctx context.Context, try func() error) error {
	return o.asking().Again(ctx, try)
}

// ImportPieces imports pieces. When it returns without an error, all points are durable but those of the
// pieces that were skipped.
func ImportPieces(ctx context.Context, o PiecesOptions) (Progress, error) {
	t := &piecesRun{PiecesOptions: o, begun: o.Now(), memory: semaphore.NewWeighted(o.HeldBytes)}
	var err error
	if t.state, err = openTreeState(o); err != nil {
		return Progress{}, fmt.Errorf("state: %w", err)
	}
	if err := t.state.begin(o.Pieces); err != nil {
		return Progress{}, err
	}
	err = t.all(ctx)
	return t.progress(), errors.Join(err, t.state.save())
}

// piecesRun is an import in pieces.
type piecesRun struct {
	PiecesOptions
	state  *treeState
	begun  time.Time
	memory *semaphore.Weighted

	mu   sync.Mutex // guards what follows
	read int64      // bytes of pieces that are done
	done int
	now  Progress // points and skipped pieces of this run
}

func (t *piecesRun) progress() Progress {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.now
	p.Files, p.Done, p.Read, p.Took = len(t.Pieces), t.done, t.read, t.Now().Sub(t.begun)
	for _, f := range t.Pieces {
		p.Size += f.Size
	}
	var skipped int64
	p.Before, skipped = t.state.before()
	p.Size -= t.state.doneBytes
	p.Skipped += skipped
	return p
}

func (t *piecesRun) all(ctx context.Context) error {
	watch, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { t.watch(watch) })
	defer watching.Wait()
	defer stop()
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(t.Parallel)
	for i, f := range t.Pieces {
		if t.state.isDone(i) {
			t.mu.Lock()
			t.done++
			t.mu.Unlock()
			continue
		}
		held := min(f.Held, t.HeldBytes)
		if err := t.memory.Acquire(groupCtx, held); err != nil {
			break
		}
		group.Go(func() error {
			defer t.memory.Release(held)
			if err := t.piece(groupCtx, i); err != nil {
				return fmt.Errorf("%s: %w", f.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return ctx.Err()
}

// watch writes the state, and tells of the progress, until ctx ends.
func (t *piecesRun) watch(ctx context.Context) {
	for told := t.begun; retry.Sleep(ctx, saveEvery); {
		_ = t.state.saveChanged() // the end of the import tells of an error that stays
		if t.Progress != nil && t.Now().Sub(told) >= t.Every {
			told = t.Now()
			t.Progress(t.progress())
		}
	}
}

// piece imports one piece.
func (t *piecesRun) piece(ctx context.Context, i int) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := t.Pieces[i]
	points, err := t.Store(ctx, i)
	skip, skipped := errors.AsType[SkipError](err)
	if err != nil && !skipped {
		return err
	}
	if skipped {
		points = skip.Points
		if t.Skipped != nil {
			t.Skipped(f.Name, skip.Err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.done++
	t.read += f.Size
	t.now.Points += points
	if skipped {
		t.now.Skipped++
	}
	t.state.finish(i, points, skipped)
	return nil
}
