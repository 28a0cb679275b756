// Package forest keeps the branches and leaves of OpenTSDB's trees in tsdb-tree and finds paths in
// them. Its rows equal a TSD's byte for byte, so that both build and browse the same trees.
//
// The package never assigns a UID and never reads a point. Globs are answered from branches and
// leaves alone, never by inverting rules.
package forest

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Options of a Forest.
type Options struct {
	TreeTable, UIDTable string
	// Exclusive means that no other process writes to the tables (the local engines): what the
	// loaded index lacks is written without asking the table first.
	Exclusive bool
	// Shown returns a stored name as people see it; nil: as it is. Paths and patterns are of such
	// names, rows of stored ones.
	Shown func(stored string) string
	// Plain reports whether a series is found under its metric as a path; nil: none is. Plain
	// series are appended to the tree named DefaultTree, which is made when the first of them
	// comes; without a name they are appended to no tree.
	Plain       func(storage.Series) bool
	DefaultTree string
	// Inverse reports whether a tree turns paths into series; nil: enabled trees do.
	Inverse func(*tree.Tree) bool
	// Stored gives the series that is stored for a metric and tags as people write them, whose keys
	// are stored ones; nil: the same.
	Stored func(shown storage.Series) storage.Series
	// Rest is Subject.Rest of all series.
	Rest func(s storage.Series, shown map[string]bool) []storage.Tag
	// Concurrency is how many check-and-puts run at a time.
	Concurrency int
}

// DefaultOptions returns the options on tables of OpenTSDB's default names.
func DefaultOptions() Options {
	return Options{TreeTable: "tsdb-tree", UIDTable: "tsdb-uid", Concurrency: 32}
}

// overlap is how far Refresh reads back, in milliseconds: the clocks of the servers of a cluster
// are not one.
const overlap = 5 * 60 * 1000

// table is what a forest keeps its cells in.
type table struct {
	db     kv.KV
	engine *kv.Engine // of db
	o      Options
}

// planted is the trees of a forest, as they are defined.
type planted struct {
	table
	making chan struct{} // held while the default tree is made

	mu        sync.RWMutex // guards what follows of the forest; held for moments only
	trees     []*Tree
	broken    []Broken
	orphans   []uint16 // trees that were deleted and of which columns of ours are left
	defined   bool     // trees and broken were read
	plainTree defaultTree
	cleared   map[uint16]string // clearedOf the trees that the index is of
	inverse   []inverseTree
}

// indexed is the branches and leaves of a forest in memory, as far as they are known.
type indexed struct {
	planted
	loaded  bool  // by Run, at least once
	err     error // of Run's last attempt
	loading *Index
	index   *Index
	indexes int   // that were in use before it
	latest  int64 // Loaded.Latest of the index
	// unreadable is how many cells the last whole load could not read.
	unreadable int
	// complete is true when the index had all rows once. With Exclusive it then has all rows for
	// good.
	complete bool
	// missed is true when a cell was written whose parent branch the index did not have.
	missed bool
}

// exceptions are what the index and the table may not agree about, or not yet.
type exceptions struct {
	indexed
	writes int          // cells claimed so far
	made   atomic.Int64 // branches that Observe has written, of series that were being registered
	// cells that a call of Observe is writing, by row and qualifier
	inflight map[string]claim
	// cells that a call failed to write, so that the index may lack them
	unsure map[string]bool
	// rows of failures that a call of Observe wrote to
	failing   map[string]bool
	syncs     int             // that are running
	forgotten map[string]bool // TSUIDs forgotten since, which a sync may have listed before
	moved     map[string]bool // TSUIDs renamed since, which a sync may have named before
}

// A Forest is the trees of a table with their branches and leaves: it appends new series and finds
// paths. It is safe for concurrent use.
type Forest struct {
	observing *semaphore.Weighted // see holdShared
	reading   chan struct{}
	clearRows int // see clear.go

	exceptions
}

// New returns a forest without trees; Load reads them.
func New(db kv.KV, o Options) *Forest {
	if o.Shown == nil {
		o.Shown = asStored
	}
	if o.Stored == nil {
		o.Stored = func(shown storage.Series) storage.Series { return shown }
	}
	if o.Inverse == nil {
		o.Inverse = func(t *tree.Tree) bool { return t.Definition().Enabled }
	}
	f := &Forest{}
	f.db, f.engine, f.o = db, kv.NewEngine(db, o.Exclusive), o
	f.making, f.reading, f.observing, f.clearRows = make(chan struct{}, 1), make(chan struct{}, 1), semaphore.NewWeighted(observers), clearRows
	f.index, f.inflight, f.unsure, f.failing = NewIndex(o.Shown), map[string]claim{}, map[string]bool{}, map[string]bool{}
	return f
}

// Load reads the definitions and all branches and leaves, in place of what was known. Until it
// returns, what was known is used.
func (f *Forest) Load(ctx context.Context) (Loaded, error) {
	if err := f.LoadTrees(ctx); err != nil {
		return Loaded{}, err
	}
	release, err := f.holdReading(ctx)
	if err != nil {
		return Loaded{}, err
	}
	defer release()
	before, cleared := f.written(), clearedOf(f.Trees(), f.Broken())
	index := NewIndex(f.o.Shown)
	f.setLoading(index)
	defer f.setLoading(nil)
	loaded, err := index.Load(ctx, f.db, f.o.TreeTable, 0)
	if err != nil {
		return loaded, err
	}
	f.mu.Lock()
	f.cleared, f.unreadable = cleared, loaded.Unreadable
	f.mu.Unlock()
	return loaded, f.replace(ctx, index, loaded, before)
}

// setLoading sets the index that is being filled, nil without one.
func (f *indexed) setLoading(index *Index) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.loading = index
}

// written returns how many cells were taken so far, -1 while some are on their way to the table.
func (f *exceptions) written() int {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.inflight) > 0 {
		return -1
	}
	return f.writes
}

// replace takes an index in use. If Observe wrote anything since the loading began, the end of it
// is read once more.
func (f *Forest) replace(ctx context.Context, index *Index, loaded Loaded, before int) error {
	f.mu.Lock()
	f.index, f.latest, f.complete = index, loaded.Latest, before == f.writes
	f.indexes++
	clear(f.unsure)
	f.mu.Unlock()
	for {
		waiting, done := f.catchUp(index)
		if done {
			return nil
		}
		if err := wait(ctx, waiting); err != nil {
			return err
		}
		if _, err := index.Load(ctx, f.db, f.o.TreeTable, max(loaded.Latest-overlap, 0)); err != nil {
			return err
		}
		f.mu.Lock()
		f.complete = f.index == index && !f.missed
		f.mu.Unlock()
	}
}

// catchUp reports whether an index has everything, or is no longer in use. If not, it has what is
// in the table after the calls under way have ended and the parents of their cells are read.
func (f *Forest) catchUp(index *Index) (waiting []chan struct{}, done bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.complete || f.index != index {
		return nil, true
	}
	f.missed = false
	for _, c := range f.inflight {
		waiting = append(waiting, c.done)
	}
	return waiting, false
}

// LoadTrees reads the definitions alone.
func (f *planted) LoadTrees(ctx context.Context) error {
	trees, broken, orphans, err := loadTrees(ctx, f.db, f.o.TreeTable)
	if err != nil {
		return err
	}
	plainTree, inverse := f.o.defaultOf(trees, broken), inversesOf(trees)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.trees, f.broken, f.defined, f.plainTree, f.inverse, f.orphans = trees, broken, true, plainTree, inverse, orphans
	if f.cleared == nil {
		f.cleared = clearedOf(trees, broken)
	}
	return nil
}

// Refresh reads the definitions again, and the branches and leaves that other processes have added
// since the last time. What others deleted stays until Load, which it is if they have cleared a tree.
func (f *Forest) Refresh(ctx context.Context) (Loaded, error) {
	if err := f.LoadTrees(ctx); err != nil || f.o.Exclusive {
		return Loaded{}, err
	}
	if f.outdated() {
		return f.Load(ctx)
	}
	release, err := f.holdReading(ctx)
	if err != nil {
		return Loaded{}, err
	}
	defer release()
	f.mu.RLock()
	index, since := f.index, max(f.latest-overlap, 0)
	f.mu.RUnlock()
	loaded, err := index.Load(ctx, f.db, f.o.TreeTable, since)
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil && f.index == index {
		f.latest = max(f.latest, loaded.Latest)
	}
	return loaded, err
}

// Trees returns the trees that can be used, enabled or not.
func (f *planted) Trees() []*Tree {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.trees
}

// Broken returns the trees that cannot be used.
func (f *planted) Broken() []Broken {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.broken
}

// Index returns the index in use.
func (f *indexed) Index() *Index {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.index
}

// Find lists what a pattern matches in all trees, or in those that the options name.
func (f *indexed) Find(ctx context.Context, pattern string, o FindOptions) ([]Node, error) {
	index := f.Index()
	if o.Trees == nil {
		o.Trees = index.Trees()
	}
	return index.Find(ctx, pattern, o)
}

// A Forget excludes two operations of its process, both of which take time: reading rows into the
// index, which could bring back what is being deleted, and appending series, which could find a
// branch that is being deleted. Forget takes the lock of reading first. Appending never waits for
// reading.

// observers is how many calls of Observe run at a time; a Forget counts as all of them.
const observers = 1 << 30

// holdShared enters a call that appends series.
func (f *Forest) holdShared(ctx context.Context) (release func(), err error) {
	if err := f.observing.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	return func() { f.observing.Release(1) }, nil
}

// holdReading enters a call that reads rows into the index.
func (f *Forest) holdReading(ctx context.Context) (release func(), err error) {
	select {
	case f.reading <- struct{}{}:
		return func() { <-f.reading }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// holdAlone enters a Forget.
func (f *Forest) holdAlone(ctx context.Context) (release func(), err error) {
	done, err := f.holdReading(ctx)
	if err != nil {
		return nil, err
	}
	if err := f.observing.Acquire(ctx, observers); err != nil {
		done()
		return nil, err
	}
	return func() { f.observing.Release(observers); done() }, nil
}
