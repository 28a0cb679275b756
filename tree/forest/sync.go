package forest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Catalog lists the series of the tables in the order of their TSUIDs, and names them.
// catalog.Catalog is one.
type Catalog interface {
	EachTSUID(ctx context.Context, c storage.SeriesScan, visit func(tsuids [][]byte) error) error
	NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error)
}

// SyncOptions define which series Sync goes over, and how fast.
type SyncOptions struct {
	storage.SeriesScan
	// Parallel is how many batches of series are appended at a time.
	Parallel int
	// MaxCells is how many branches and leaves are remembered as present in the table; then all are
	// forgotten, and the table is asked again. 70 bytes each.
	MaxCells int
	// Progress, if not nil, is called about every Every, and not at the end. Everything that its
	// report counts is durable.
	Progress func(SyncReport)
	Every    time.Duration
	Now      func() time.Time
}

// DefaultSyncOptions go over everything.
func DefaultSyncOptions() SyncOptions {
	return SyncOptions{Parallel: 4, MaxCells: 4_000_000, Every: 10 * time.Second, Now: time.Now}
}

// Sync appends the existing series to the enabled trees, as OpenTSDB's "uid treesync" does: those
// that a TSD left out (it loses series of a burst), and those that were written before the trees or
// without them. It only adds rows, and only by check-and-put, so it may run at the same time as
// adapters and TSDs, more than once, and repeatedly. Its memory does not depend on the number of
// series. After an error, or when ctx ends, the report contains the series up to which everything
// is done: continue from its Position.
func Sync(ctx context.Context, db kv.KV, o Options, c Catalog, so SyncOptions) (SyncReport, error) {
	return syncApart(ctx, db, o, c, so, nil)
}

// syncApart is Sync in a process that may have a forest of its own, which is home then.
func syncApart(ctx context.Context, db kv.KV, o Options, c Catalog, so SyncOptions, home *Forest) (SyncReport, error) {
	// Even on a local engine not all rows are known here: the table is asked for each cell before
	// it is written.
	o.Exclusive = false
	counting := newTally(db)
	s := &syncing{db: counting, o: o, so: so, catalog: c, tally: counting, told: so.Now(), home: home}
	if err := s.newForest(ctx); err != nil {
		return s.report, err
	}
	return s.all(ctx)
}

// all goes over everything.
func (s *syncing) all(ctx context.Context) (SyncReport, error) {
	s.report.Position, s.report.Broken = s.so.From, s.forest.Broken()
	s.branches, s.leaves = s.forest.Index().Branches(), s.forest.Index().Leaves()
	if len(s.forest.enabled()) == 0 && (s.o.DefaultTree == "" || s.o.Plain == nil) {
		return s.report, errors.New("no tree is enabled that has rules")
	}
	if s.home != nil {
		s.home.beginSync()
		defer s.home.endSync()
	}
	err := s.run(ctx)
	flushCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), syncFlushTimeout)
	defer cancel()
	err = errors.Join(err, s.flush(flushCtx))
	s.count()
	return s.report, err
}

// syncFlushTimeout bounds what is done after ctx has ended.
const syncFlushTimeout = 10 * time.Second

// syncing is one call of Sync.
type syncing struct {
	db      kv.KV
	o       Options
	so      SyncOptions
	catalog Catalog
	tally   *tally
	forest  *Forest // of the next batch
	report  SyncReport
	told    time.Time

	// home is the forest of the process, which may forget series while the sync runs; nil: the
	// process has none
	home *Forest

	running          bool // others use the forest too; it knows all branches and leaves
	branches, leaves int  // of the forest when the sync began, if running
}

// A batch is series being appended. After done is closed, err and routed are its result.
type batch struct {
	forest *Forest
	tsuids [][]byte
	done   chan struct{}
	err    error
	routed SyncReport
}

// newForest starts with a forest that knows the definitions and no branch or leaf of the table.
func (s *syncing) newForest(ctx context.Context) error {
	s.forest = New(s.db, s.o)
	return s.forest.LoadTrees(ctx)
}

// run appends batches in parallel and takes their results in order, so that one position identifies
// what is done.
func (s *syncing) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	under := make(chan *batch, max(s.so.Parallel, 1)-1) // one more is what the results wait for
	var group errgroup.Group
	group.Go(func() error { return s.take(ctx, under, cancel) })
	listed := s.catalog.EachTSUID(ctx, s.so.SeriesScan, func(tsuids [][]byte) error { return s.begin(ctx, tsuids, under) })
	close(under)
	if err := group.Wait(); err != nil {
		return err
	}
	return listed
}

// begin starts a batch; it waits while Parallel of them are under way.
func (s *syncing) begin(ctx context.Context, tsuids [][]byte, under chan<- *batch) error {
	if x := s.forest.Index(); !s.running && x.Leaves()+x.Branches() > s.so.MaxCells {
		if err := s.newForest(ctx); err != nil {
			return err
		}
	}
	b := &batch{forest: s.forest, tsuids: tsuids, done: make(chan struct{})}
	select {
	case under <- b:
	case <-ctx.Done():
		return ctx.Err()
	}
	go func() {
		defer close(b.done)
		b.err = s.appendBatch(ctx, b)
	}()
	return nil
}

// take adds up the batches in the order of their series, up to the first that failed. Later batches
// are stopped, and take waits for them.
func (s *syncing) take(ctx context.Context, under <-chan *batch, stop func()) (err error) {
	for b := range under {
		<-b.done
		if err != nil {
			continue
		}
		if err = b.err; err == nil {
			s.report.add(b.routed)
			s.report.Position = b.tsuids[len(b.tsuids)-1]
			err = s.tell(ctx)
		}
		if err != nil {
			stop()
		}
	}
	return err
}

func (s *syncing) tell(ctx context.Context) error {
	now := s.so.Now()
	if s.so.Progress == nil || now.Sub(s.told) < s.so.Every {
		return nil
	}
	s.told = now
	if err := s.flush(ctx); err != nil {
		return err
	}
	s.count()
	said := s.report
	said.Trees = slices.Clone(said.Trees)
	s.so.Progress(said)
	return nil
}

// count takes over what was written so far.
func (s *syncing) count() {
	s.report.WrittenBranches, s.report.WrittenLeaves = s.tally.branches.Load(), s.tally.leaves.Load()
	if x := s.forest.Index(); s.running {
		s.report.WrittenBranches, s.report.WrittenLeaves = int64(max(x.Branches()-s.branches, 0)), int64(max(x.Leaves()-s.leaves, 0))
	}
}

// flush makes durable what was put until now: a local engine owes that for check-and-puts until the
// next Apply. It deletes a column that is not there.
func (s *syncing) flush(ctx context.Context) error {
	trees := s.forest.Trees()
	if len(trees) == 0 {
		return nil
	}
	return NewDefinitions(s.db, s.o.TreeTable).flush(ctx, trees[0].ID())
}

// appendBatch names the series of a batch, appends them to the trees and counts the outcome of
// each.
func (s *syncing) appendBatch(ctx context.Context, b *batch) error {
	series, err := s.catalog.NameSeries(ctx, b.tsuids)
	if err != nil {
		return fmt.Errorf("name series from %s on: %w", schema.FormatTSUID(b.tsuids[0]), err)
	}
	b.routed.Series, b.routed.Nameless = len(b.tsuids), len(b.tsuids)-len(series)
	if series, err = s.observeLiving(ctx, b.forest, series); err != nil {
		return err
	}
	b.routed.Trees, err = b.forest.outcomes(ctx, series)
	return err
}

// observeLiving appends the series that were not forgotten since they were listed.
func (s *syncing) observeLiving(ctx context.Context, f *Forest, series []NewSeries) ([]NewSeries, error) {
	if len(series) == 0 {
		return series, nil
	}
	if s.home != nil {
		release, err := s.home.holdShared(ctx)
		if err != nil {
			return series, err
		}
		defer release()
		series = s.home.notForgotten(series)
	}
	return series, f.observe(ctx, series, false)
}

// beginSync begins to remember what is forgotten.
func (f *exceptions) beginSync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.syncs++; f.syncs == 1 {
		f.forgotten, f.moved = map[string]bool{}, map[string]bool{}
	}
}

func (f *exceptions) endSync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.syncs--; f.syncs == 0 {
		f.forgotten, f.moved = nil, nil
	}
}

// notForgotten leaves out the series that were forgotten since a sync began, and those that were renamed:
// they have their places.
func (f *exceptions) notForgotten(series []NewSeries) []NewSeries {
	f.mu.RLock()
	defer f.mu.RUnlock()
	if len(f.forgotten)+len(f.moved) == 0 {
		return series
	}
	return slices.DeleteFunc(series, func(s NewSeries) bool { return f.forgotten[string(s.TSUID)] || f.moved[string(s.TSUID)] })
}
