package tree

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/retry"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// FollowOptions are what a Follower needs. All fields are wanted.
type FollowOptions struct {
	// Every is how often it looks for trees that are new.
	Every time.Duration
	// Rows is true when the forest keeps no index: the table is then asked what hangs on trees.
	Rows bool
	// Series is about how many series there are.
	Series func() int
	Logger *slog.Logger
	Now    func() time.Time
}

// A Follower hangs the series that exist on trees that are new, or have other rules than when it
// did so last. It goes over all series once for all such trees, in the background, and on from
// where it was after a restart.
type Follower struct {
	forest  *Forest
	catalog Catalog
	o       FollowOptions
	owner   string
	asked   chan SyncOptions

	mu    sync.Mutex // guards state
	state FollowState
}

// FollowState is how far a Follower has come.
type FollowState struct {
	// Running is true while it goes over the series. Trees are those for which it does, or did
	// last.
	Running bool
	Trees   []string
	// Waiting are trees whose series are not all hung yet.
	Waiting []string
	// Of is about how many series there are. Report is of the last pass so far.
	Of     int
	Report SyncReport
	// Passes counts those that have ended; Err is how the last one did.
	Passes int
	Err    error
}

// NewFollower returns the follower of a forest. Run must be called.
func NewFollower(f *Forest, c Catalog, o FollowOptions) *Follower {
	return &Follower{forest: f, catalog: c, o: o, owner: fmt.Sprintf("%016x", rand.Uint64()), asked: make(chan SyncOptions, 1)}
}

// State returns how far the Follower has come.
func (w *Follower) State() FollowState {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.state
	s.Waiting = nil
	for _, t := range w.forest.Trees() {
		if !t.synced() {
			s.Waiting = append(s.Waiting, t.def.Name)
		}
	}
	return s
}

// ErrBusy means that series are being hung already.
var ErrBusy = errors.New("series are being hung on trees already")

// Ask makes it go over all series, for all trees.
func (w *Follower) Ask(so SyncOptions) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.Running {
		return ErrBusy
	}
	select {
	case w.asked <- so:
		w.state.Running = true // from now on
		return nil
	default:
		return ErrBusy
	}
}

// Run looks for new trees and hangs series on them, until ctx ends.
func (w *Follower) Run(ctx context.Context) error {
	if !w.begin(ctx) {
		return nil
	}
	seen := map[uint16]string{} // rules of trees that were new at the last look
	if w.forest.o.Exclusive {
		seen = w.news()
	}
	var hung retry.Outcome
	for wait := time.Duration(0); ; wait = w.o.Every {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case so := <-w.asked:
			err = w.pass(ctx, w.hanging(func(*Tree) bool { return true }), so)
		case <-time.After(wait):
			// A tree is new to other calls, and to other processes, for some time: what they are
			// about to make known does not hang on it.
			before := seen
			if seen = w.news(); len(w.due(before)) == 0 {
				continue
			}
			err = w.forest.LoadTrees(ctx) // perhaps another process has begun
			if due := w.due(before); err == nil && len(due) > 0 {
				err = w.pass(ctx, due, w.options(due))
			}
		}
		if hung.Note(ctx, err) {
			w.o.Logger.Error("hanging series on trees; trying again", "err", err)
		}
	}
}

// begin waits until the forest knows its trees.
func (w *Follower) begin(ctx context.Context) bool {
	pauses := retry.Pauses{First: 10 * time.Millisecond, Longest: time.Second}
	return retry.Until(ctx, pauses, func() bool { return w.forest.ready(w.o.Rows) })
}

// ready reports whether the forest knows its trees and, unless they are looked up in the table,
// what hangs on them.
func (f *Forest) ready(rows bool) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.loaded || rows && f.defined
}

// hanging are the trees that series are hung on, of those that are wanted.
func (w *Follower) hanging(wanted func(*Tree) bool) []*Tree {
	return slices.DeleteFunc(slices.Clone(w.forest.Trees()), func(t *Tree) bool { return !t.hangs() || !wanted(t) })
}

// news returns the rules of trees that are not synced.
func (w *Follower) news() map[uint16]string {
	seen := map[uint16]string{}
	for _, t := range w.hanging(func(t *Tree) bool { return !t.synced() }) {
		seen[t.id] = t.rulesSum()
	}
	return seen
}

// due returns the trees that were new at the last look as well, and that no other process works on.
func (w *Follower) due(seen map[uint16]string) []*Tree {
	return w.hanging(func(t *Tree) bool {
		others := t.mark.Owner != "" && t.mark.Owner != w.owner && t.mark.Rules == t.rulesSum() &&
			w.o.Now().Sub(time.Unix(t.mark.Time, 0)) < ownerTimeout
		return !t.synced() && seen[t.id] == t.rulesSum() && (!others || w.forest.o.Exclusive)
	})
}

// options go on from where the last of the trees is.
func (w *Follower) options(trees []*Tree) SyncOptions {
	so := DefaultSyncOptions()
	so.Parallel = 1
	for n, t := range trees {
		from, err := hex.DecodeString(t.mark.Position)
		if err != nil || t.mark.Rules != t.rulesSum() {
			from = nil
		}
		if n == 0 || slices.Compare(from, so.From) < 0 {
			so.From = from
		}
	}
	return so
}

// pass goes over the series once. When it got through, the trees that are still what they were then
// are marked.
func (w *Follower) pass(ctx context.Context, trees []*Tree, so SyncOptions) error {
	names := make([]string, 0, len(trees))
	for _, t := range trees {
		names = append(names, t.def.Name)
	}
	w.change(func(s *FollowState) {
		*s = FollowState{Running: true, Trees: names, Of: w.o.Series(), Passes: s.Passes}
	})
	whole := len(so.From) == 0 || w.covers(trees, so)
	so.Now, so.Every = w.o.Now, 2*time.Second
	so.Progress = func(r SyncReport) { w.progress(ctx, trees, r, whole) }
	begin := w.o.Now()
	so.Progress(SyncReport{Position: so.From})
	report, err := w.hang(ctx, so)
	if err == nil && whole {
		err = w.forest.setMarks(ctx, trees, mark{Done: true})
	}
	err = errors.Join(err, w.forest.LoadTrees(ctx))
	w.change(func(s *FollowState) {
		s.Running, s.Report, s.Err = false, report, err
		s.Passes++
	})
	if err == nil {
		w.o.Logger.Info("series that exist hang on their trees", "trees", names, "series", report.Series, "duration", w.o.Now().Sub(begin))
	}
	return err
}

// covers reports whether going on from a position leaves nothing out of the trees.
func (w *Follower) covers(trees []*Tree, so SyncOptions) bool {
	return slices.Equal(w.options(trees).From, so.From)
}

// progress notes how far a pass is, for others to see and for the next process to go on from.
func (w *Follower) progress(ctx context.Context, trees []*Tree, r SyncReport, whole bool) {
	w.change(func(s *FollowState) { s.Report, s.Of = r, max(w.o.Series(), r.Series) })
	if !whole {
		return
	}
	m := mark{Position: schema.FormatTSUID(r.Position), Owner: w.owner, Time: w.o.Now().Unix()}
	if err := w.forest.setMarks(ctx, trees, m); err != nil && ctx.Err() == nil {
		w.o.Logger.Warn("how far series are on their trees cannot be kept; a restart begins anew", "err", err)
	}
}

func (w *Follower) change(change func(*FollowState)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.state)
}

// hang goes over the series by way of the forest, which knows what hangs already; without an index
// by one of its own.
func (w *Follower) hang(ctx context.Context, so SyncOptions) (SyncReport, error) {
	if w.o.Rows {
		return Sync(ctx, w.forest.db, w.forest.o, w.catalog, so)
	}
	f := w.forest
	s := &syncing{db: f.db, o: f.o, so: so, catalog: w.catalog, forest: f, running: true, told: so.Now(), tally: newTally(f.db)}
	return s.all(ctx)
}
