package forest

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

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// FollowOptions are what a Follower needs. All fields are required.
type FollowOptions struct {
	// Every is how often it looks for new trees.
	Every time.Duration
	// Rows is true when the forest keeps no index: the branches and leaves of trees are then looked
	// up in the table.
	Rows bool
	// Series estimates the number of series.
	Series func() int
	Logger *slog.Logger
	Now    func() time.Time
}

// A Follower appends the existing series to trees that are new or whose rules have changed since it
// did so last. It goes over all series once for all such trees, in the background. After a restart
// it continues where it was.
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
	// Waiting are trees to which not all existing series are appended yet.
	Waiting []string
	// Of is the estimated number of series. Report is of the last pass so far.
	Of     int
	Report SyncReport
	// Passes counts the passes that have ended; Err is the error of the last one.
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
			s.Waiting = append(s.Waiting, t.Definition().Name)
		}
	}
	return s
}

// ErrBusy means that series are being appended to trees already.
var ErrBusy = errors.New("series are being appended to trees already")

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

// Run looks for new trees and appends the existing series to them, until ctx ends.
func (w *Follower) Run(ctx context.Context) error {
	if !w.begin(ctx) {
		return nil
	}
	seen := map[uint16]string{} // rules of trees that were new at the last look
	if w.forest.o.Exclusive {
		seen = w.news()
	}
	var appended retry.Outcome
	for wait := time.Duration(0); ; wait = w.o.Every {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case so := <-w.asked:
			err = w.pass(ctx, w.takingSeries(func(*Tree) bool { return true }), so)
		case <-time.After(wait):
			// For some time other calls and other processes do not know a new tree: they do not
			// append the series to it that they are about to register.
			before := seen
			if seen = w.news(); len(w.due(before)) == 0 {
				continue
			}
			err = w.forest.LoadTrees(ctx) // perhaps another process has begun
			if due := w.due(before); err == nil && len(due) > 0 {
				err = w.pass(ctx, due, w.options(due))
			}
		}
		if appended.Note(ctx, err) {
			w.o.Logger.Error("series cannot be added to trees, which is tried again; find does not show them until then, see /-/ready", "err", err)
		}
	}
}

// begin waits until the forest knows its trees.
func (w *Follower) begin(ctx context.Context) bool {
	pauses := retry.Pauses{First: 10 * time.Millisecond, Longest: time.Second}
	return retry.Until(ctx, pauses, func() bool { return w.forest.ready(w.o.Rows) })
}

// ready reports whether the forest knows its trees and, unless they are looked up in the table,
// their branches and leaves.
func (f *indexed) ready(rows bool) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.loaded || rows && f.defined
}

// takingSeries returns the wanted trees among those that series are appended to.
func (w *Follower) takingSeries(wanted func(*Tree) bool) []*Tree {
	return slices.DeleteFunc(slices.Clone(w.forest.Trees()), func(t *Tree) bool { return !t.takesSeries() || !wanted(t) })
}

// news returns the rules of trees that are not synced.
func (w *Follower) news() map[uint16]string {
	seen := map[uint16]string{}
	for _, t := range w.takingSeries(func(t *Tree) bool { return !t.synced() }) {
		seen[t.ID()] = t.rulesSum()
	}
	return seen
}

// due returns the trees that were new at the last look as well, and that no other process works on.
func (w *Follower) due(seen map[uint16]string) []*Tree {
	return w.takingSeries(func(t *Tree) bool {
		others := t.mark.Owner != "" && t.mark.Owner != w.owner && t.mark.Rules == t.rulesSum() &&
			w.o.Now().Sub(time.Unix(t.mark.Time, 0)) < ownerTimeout
		return !t.synced() && seen[t.ID()] == t.rulesSum() && (!others || w.forest.o.Exclusive)
	})
}

// options continue where the last of the trees is.
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

// pass goes over the series once. When it has completed, the trees that are still what they were
// then are marked.
func (w *Follower) pass(ctx context.Context, trees []*Tree, so SyncOptions) error {
	names := make([]string, 0, len(trees))
	for _, t := range trees {
		names = append(names, t.Definition().Name)
	}
	w.change(func(s *FollowState) {
		*s = FollowState{Running: true, Trees: names, Of: w.o.Series(), Passes: s.Passes}
	})
	whole := len(so.From) == 0 || w.covers(trees, so)
	so.Now, so.Every = w.o.Now, 2*time.Second
	so.Progress = func(r SyncReport) { w.progress(ctx, trees, r, whole) }
	begin := w.o.Now()
	so.Progress(SyncReport{Position: so.From})
	report, err := w.sync(ctx, so)
	if err == nil && whole {
		err = w.forest.setMarks(ctx, trees, mark{Done: true})
	}
	err = errors.Join(err, w.forest.LoadTrees(ctx))
	w.change(func(s *FollowState) {
		s.Running, s.Report, s.Err = false, report, err
		s.Passes++
	})
	if err == nil {
		w.o.Logger.Info("existing series are appended to their trees", "trees", names, "series", report.Series, "duration", w.o.Now().Sub(begin))
	}
	return err
}

// covers reports whether going on from a position leaves nothing out of the trees.
func (w *Follower) covers(trees []*Tree, so SyncOptions) bool {
	return slices.Equal(w.options(trees).From, so.From)
}

// progress records how far a pass is, so that others see it and the next process can continue.
func (w *Follower) progress(ctx context.Context, trees []*Tree, r SyncReport, whole bool) {
	w.change(func(s *FollowState) { s.Report, s.Of = r, max(w.o.Series(), r.Series) })
	if !whole {
		return
	}
	m := mark{Position: schema.FormatTSUID(r.Position), Owner: w.owner, Time: w.o.Now().Unix()}
	if err := w.forest.setMarks(ctx, trees, m); err != nil && ctx.Err() == nil {
		w.o.Logger.Warn("the progress of adding series to trees cannot be stored; a restart begins anew, see /-/ready", "err", err)
	}
}

func (w *Follower) change(change func(*FollowState)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.state)
}

// sync goes over the series with the forest, which knows the existing branches and leaves. If the
// forest has no index, it uses one of its own.
func (w *Follower) sync(ctx context.Context, so SyncOptions) (SyncReport, error) {
	f := w.forest
	if w.o.Rows {
		if f.o.Exclusive { // Forget deletes branches, which that forest would think it knows
			release, err := f.holdReading(ctx)
			if err != nil {
				return SyncReport{}, err
			}
			defer release()
		}
		return syncApart(ctx, f.db, f.o, w.catalog, so, f)
	}
	s := &syncing{db: f.db, o: f.o, so: so, catalog: w.catalog, forest: f, home: f, running: true, told: so.Now(), tally: newTally(f.db)}
	return s.all(ctx)
}
