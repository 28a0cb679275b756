package forest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
)

// reloadEvery is how often everything is read again where other processes may have deleted rows.
// Each Refresh finds what they add.
const reloadEvery = time.Hour

// maxLoadWait bounds the time between two attempts to load.
const maxLoadWait = 30 * time.Second

// errNotLoaded is the error of Status before the first attempt has ended.
var errNotLoaded = errors.New("trees: not loaded yet")

// Run loads the trees, tries again until it succeeds, and then looks regularly for what other
// processes have changed, until ctx ends.
func (f *Forest) Run(ctx context.Context, every time.Duration, logger *slog.Logger) error {
	k := keeper{forest: f, logger: logger, said: map[uint16]string{}, told: map[uint16]collisions{}}
	pauses := retry.Pauses{First: min(every, time.Second), Longest: maxLoadWait}
	if !retry.Until(ctx, pauses, func() bool { return k.load(ctx) }) {
		return nil
	}
	k.reloadAfter = every
	for retry.Sleep(ctx, every) {
		k.look(ctx, every)
	}
	return nil
}

// look reads everything again when it is time, else only what is new.
func (k *keeper) look(ctx context.Context, every time.Duration) {
	k.age += every
	switch incomplete := k.forest.incomplete(); {
	case k.forest.Index().worn():
		k.load(ctx)
		k.age = 0
	case !k.forest.o.Exclusive && k.age >= reloadEvery:
		k.load(ctx)
		k.age = 0
	case incomplete && k.age >= k.reloadAfter: // the longer the less it helps
		k.load(ctx)
		k.age, k.reloadAfter = 0, min(2*k.reloadAfter, reloadEvery)
	default:
		if !incomplete {
			k.reloadAfter = every
		}
		k.refresh(ctx)
	}
}

// incomplete reports that the index of a process that has the tables alone may lack rows, so that
// it asks the table about everything new.
func (f *indexed) incomplete() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.o.Exclusive && !f.complete
}

// A keeper keeps a forest fresh and logs what is new, once.
type keeper struct {
	forest *Forest
	logger *slog.Logger
	read   retry.Outcome
	said   map[uint16]string // trees that cannot be used, and why

	told map[uint16]collisions

	age         time.Duration // of what was read last
	reloadAfter time.Duration // before an index that lacks something is read anew
}

func (k *keeper) load(ctx context.Context) (ok bool) {
	begin := time.Now()
	done := k.tellProgress(begin)
	loaded, err := k.forest.Load(ctx)
	done()
	if ok = k.note(ctx, err); ok {
		k.logger.Info("trees loaded", "trees", len(k.forest.Trees()), "branches", loaded.Branches, "leaves", loaded.Leaves,
			"skipped", loaded.Skipped, "duration", time.Since(begin))
		if loaded.Unreadable > 0 {
			k.logger.Warn("cells of trees cannot be read, and what they hold is not in the trees; tsdbridge fsck --table=tree finds them, see docs/checks.md",
				"table", k.forest.o.TreeTable, "cells", loaded.Unreadable, "example", loaded.Example)
		}
	}
	return ok
}

// progressEvery is how often a long load logs how far it is.
const progressEvery = 10 * time.Second

// tellProgress logs how far a load is until done is called.
func (k *keeper) tellProgress(begin time.Time) (done func()) {
	ended, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		ticker := time.NewTicker(progressEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ticker.C:
				branches, leaves := k.forest.read()
				k.logger.Info("trees are being read", "branches", branches, "leaves", leaves, "duration", time.Since(begin))
			}
		}
	}()
	return func() { close(ended); <-over }
}

// read returns how many branches and leaves a load that is under way has read.
func (f *indexed) read() (branches, leaves int) {
	f.mu.RLock()
	index := f.loading
	f.mu.RUnlock()
	if index == nil {
		return 0, 0
	}
	return index.Branches(), index.Leaves()
}

func (k *keeper) refresh(ctx context.Context) {
	_, err := k.forest.Refresh(ctx)
	if err == nil {
		err = k.forest.sweep(ctx)
	}
	k.note(ctx, err)
}

// note keeps the error for Status and logs it, as well as trees that cannot be used, when they are
// news.
func (k *keeper) note(ctx context.Context, err error) (ok bool) {
	if err != nil && ctx.Err() != nil {
		return false
	}
	k.forest.setState(err)
	if k.read.Note(ctx, err) {
		k.logger.Error("the trees cannot be read, which is tried again; find answers from what was read before, see /-/ready", "table", k.forest.o.TreeTable, "err", err)
	}
	if err != nil {
		return false
	}
	now := map[uint16]string{}
	for _, b := range k.forest.Broken() {
		if now[b.ID] = b.Err.Error(); k.said[b.ID] != now[b.ID] {
			k.logger.Warn("a tree cannot be used; correct its rules, tsdbridge tree test explains them", "tree", b.ID, "name", b.Name, "err", b.Err)
		}
	}
	k.said = now
	k.tellCollisions()
	return true
}

// collisions is what was logged about the collisions of a tree, and when.
type collisions struct {
	series int
	at     time.Time
}

// tellCollisions logs, at most once an hour for each tree, that more series came to paths that
// other series had.
func (k *keeper) tellCollisions() {
	for _, t := range k.forest.Trees() {
		now, told := k.forest.Index().Shared(t.ID()), k.told[t.ID()]
		if now.Series <= told.series || time.Since(told.at) < time.Hour {
			continue
		}
		k.told[t.ID()] = collisions{now.Series, time.Now()}
		k.logger.Warn("series of a tree have one path, since no rule shows the tags in which they differ; each is drawn by itself",
			"tree", t.ID(), "name", t.Definition().Name, "series", now.Series, "path", now.Path)
	}
}

// setState takes the outcome of an attempt to load or refresh.
func (f *indexed) setState(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
	f.loaded = f.loaded || err == nil
}

// Loaded reports whether Run has loaded the trees at least once: Find then answers with what is
// known.
func (f *indexed) Loaded() bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.loaded
}

// A Status is the state of a forest.
type Status struct {
	// Err is why the trees are not loaded, or could not be refreshed. Loaded is true when they were
	// once: find then answers with what is known.
	Err    error
	Loaded bool
	// Branches, Leaves and CollidedLeaves are what is known of all trees.
	Branches, Leaves, CollidedLeaves int
	// Unreadable are the cells that the last whole load could not read.
	Unreadable int
	Trees      []TreeStatus // by id
	// DefaultErr is why plain series are refused, nil if they are not.
	DefaultErr error
}

// A TreeStatus is the state of a tree.
type TreeStatus struct {
	ID      uint16
	Name    string
	Enabled bool
	// Default is true for the tree of plain series.
	Default bool
	// Err is why it cannot be used, nil if it can.
	Err error
	// Inverse is why paths are not turned into series by it, nil if they are.
	Inverse error
	// Shared is how many series came to a path that another series had.
	Shared Sharing
}

// errInverseOff is the reason for trees that Options.Inverse leaves out.
var errInverseOff = errors.New("not asked for")

// Status returns the state of the forest.
func (f *Forest) Status() Status {
	f.mu.RLock()
	defer f.mu.RUnlock()
	s := Status{
		Err: f.err, Loaded: f.loaded, Branches: f.index.Branches(), Leaves: f.index.Leaves(), CollidedLeaves: f.index.CollidedLeaves(), Unreadable: f.unreadable, DefaultErr: f.plainTree.err,
	}
	if !f.loaded && s.Err == nil {
		if s.Err = errNotLoaded; f.loading != nil {
			s.Err = fmt.Errorf("%w: %d branches and %d leaves so far", errNotLoaded, f.loading.Branches(), f.loading.Leaves())
		}
	}
	for _, one := range f.inverse {
		t := TreeStatus{ID: one.tree.ID(), Name: one.tree.Definition().Name, Enabled: one.tree.Definition().Enabled, Default: one.tree.plain, Inverse: one.err}
		switch {
		case t.Default: // what no other tree takes is plain
			t.Inverse = nil
		case t.Inverse == nil && !f.o.Inverse(one.tree.Tree):
			t.Inverse = errInverseOff
		}
		s.Trees = append(s.Trees, t)
	}
	for _, b := range f.broken {
		s.Trees = append(s.Trees, TreeStatus{ID: b.ID, Name: b.Name, Enabled: b.Enabled, Err: b.Err, Inverse: b.Err})
	}
	for i := range s.Trees {
		s.Trees[i].Shared = f.index.Shared(s.Trees[i].ID)
	}
	slices.SortFunc(s.Trees, func(a, b TreeStatus) int { return cmp.Compare(a.ID, b.ID) })
	return s
}
