package forest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/tree"
)

// ServiceOptions are what a Service needs. All fields are required.
type ServiceOptions struct {
	Forest Options
	// Declared are the trees of the configuration. They are written to the table before anything
	// else.
	Declared []tree.Definition
	// Sources are the places in the configuration that declare them, by their names.
	Sources map[string]string
	// InTable means that paths are found in the table, otherwise in an index in memory.
	InTable bool
	// Refresh is the interval between two looks for changes of other processes.
	Refresh time.Duration

	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// A Service is the trees of a running process. It writes the declared trees, loads all of them,
// keeps them fresh, appends new series to them and finds paths. It is safe for concurrent use.
type Service struct {
	o        ServiceOptions
	db       kv.KV
	forest   *Forest
	rows     *Rows
	follower *Follower

	// prepared is closed when the declared trees are in the table and all definitions are read.
	// What a name means depends on them.
	prepared   chan struct{}
	preparedAt time.Time     // set before that
	clearing   chan struct{} // held by the call that clears or removes a tree

	preparing retry.Outcome
}

// NewService returns the trees of tables, without a store: the store reports its new series to the
// Service. Follow must be called before Run.
func NewService(db kv.KV, o ServiceOptions) *Service {
	s := &Service{o: o, db: db, prepared: make(chan struct{}), clearing: make(chan struct{}, 1)}
	s.forest = New(db, o.Forest)
	s.rows = NewRows(db, o.Forest.TreeTable, o.Forest.Shown)
	return s
}

// Follow prepares appending the series of a catalog to trees that are made later. series estimates
// how many there are.
func (s *Service) Follow(c Catalog, series func() int) {
	s.follower = NewFollower(s.forest, c, FollowOptions{
		Every: s.o.Refresh, Rows: s.o.InTable, Series: series, Logger: s.o.Logger, Now: s.o.Now,
	})
	s.o.Registerer.MustRegister(newCollector(s.forest, s.follower))
}

// Forest returns the trees themselves.
func (s *Service) Forest() *Forest { return s.forest }

// Follower returns the Follower, which appends existing series to new trees; nil before Follow.
func (s *Service) Follower() *Follower { return s.follower }

// Prepared is closed when the meaning of names is known.
func (s *Service) Prepared() <-chan struct{} { return s.prepared }

// Observe implements storage.Observer. It waits until the trees are prepared: before that the path
// of a series is not known.
func (s *Service) Observe(ctx context.Context, series []storage.NewSeries) error {
	if err := s.awaitPrepared(ctx); err != nil {
		return err
	}
	return s.forest.Observe(ctx, series)
}

// Forget takes series out of all trees, see Forest.Forget. It waits until the trees are prepared,
// and for an index that is being loaded.
func (s *Service) Forget(ctx context.Context, series []storage.NewSeries) error {
	if err := s.awaitPrepared(ctx); err != nil {
		return err
	}
	return s.forest.Forget(ctx, series)
}

// Forgotten drops series that another process has deleted, see Forest.Forgotten.
func (s *Service) Forgotten(ctx context.Context, series []storage.NewSeries) error {
	if err := s.awaitPrepared(ctx); err != nil {
		return err
	}
	return s.forest.Forgotten(ctx, series)
}

// Renamed moves series whose names have changed, see Forest.Renamed.
func (s *Service) Renamed(ctx context.Context, old, renamed []storage.NewSeries) error {
	if err := s.awaitPrepared(ctx); err != nil {
		return err
	}
	return s.forest.Renamed(ctx, old, renamed)
}

// awaitPrepared waits until it is known what names mean.
func (s *Service) awaitPrepared(ctx context.Context) error {
	select {
	case <-s.prepared:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("trees: %w: %w", ctx.Err(), s.problem())
	}
}

// problem is why the trees are not prepared, nil when they are.
func (s *Service) problem() error { return s.preparing.Err() }

// Run prepares the trees, keeps them fresh and appends existing series to new ones, until ctx ends.
func (s *Service) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.keep(ctx) })
	group.Go(func() error { return s.follower.Run(ctx) })
	return group.Wait()
}

// maxPrepareWait bounds the time between two attempts to prepare.
const maxPrepareWait = 5 * time.Second

// keep prepares the trees and keeps them fresh until ctx ends.
func (s *Service) keep(ctx context.Context) error {
	pauses := retry.Pauses{First: 50 * time.Millisecond, Longest: maxPrepareWait}
	if !retry.Until(ctx, pauses, func() bool { return s.prepare(ctx) }) {
		return nil
	}
	s.finishPreparing()
	if s.o.InTable {
		return s.refreshDefinitions(ctx)
	}
	return s.forest.Run(ctx, s.o.Refresh, s.o.Logger)
}

// finishPreparing notes that the meaning of names is known.
func (s *Service) finishPreparing() {
	s.preparedAt = s.o.Now()
	close(s.prepared)
}

// prepare writes the declared trees and reads all definitions.
func (s *Service) prepare(ctx context.Context) bool {
	err := Declare(ctx, s.db, s.o.Forest.TreeTable, s.o.Declared)
	if err == nil {
		err = s.forest.LoadTrees(ctx)
	}
	if s.preparing.Note(ctx, err) {
		s.o.Logger.Error("the trees cannot be prepared, which is tried again; correct what err names, or see /-/ready", "table", s.o.Forest.TreeTable, "err", err)
	}
	return err == nil
}

// refreshDefinitions keeps the definitions fresh where paths are found in the table.
func (s *Service) refreshDefinitions(ctx context.Context) error {
	var read retry.Outcome
	for retry.Sleep(ctx, s.o.Refresh) {
		err := s.forest.LoadTrees(ctx)
		if err == nil {
			err = s.forest.sweep(ctx)
		}
		if read.Note(ctx, err) {
			s.o.Logger.Error("the definitions of trees cannot be read, which is tried again; those from before hold, see /-/ready", "table", s.o.Forest.TreeTable, "err", err)
		}
		s.forest.dropOutdated()
	}
	return nil
}

// Find lists what a pattern matches: in memory when the index is there, else in the table.
func (s *Service) Find(ctx context.Context, pattern string, o FindOptions) ([]Node, error) {
	if s.forest.Loaded() {
		return s.forest.Find(ctx, pattern, o)
	}
	select {
	case <-s.prepared:
	default:
		return nil, fmt.Errorf("%w: trees: %w", storage.ErrNotReady, cmp.Or(s.problem(), errors.New("not loaded yet")))
	}
	for _, t := range s.forest.Trees() {
		o.Trees = append(o.Trees, t.ID())
	}
	return s.rows.Find(ctx, pattern, o)
}

// Display returns what the paths of a tree show. ok is false when there is no such tree.
func (s *Service) Display(id uint16) (d tree.Display, ok bool) { return s.forest.Display(id) }

// mostLoadWait is how long the trees may be read into memory before paths are found in the table
// meanwhile, so that a start is ready in a time that does not depend on the number of branches.
const mostLoadWait = 10 * time.Second

// Ready returns why trees cannot be asked, nil when they can: they are in memory, or paths are
// found in the table, where that is asked for or reading takes long.
func (s *Service) Ready() error {
	select {
	case <-s.prepared:
	default:
		if err := s.problem(); err != nil {
			return fmt.Errorf("trees: %w", err)
		}
		return errors.New("trees: being read")
	}
	if s.o.InTable || s.forest.Loaded() {
		return nil
	}
	err := s.forest.Status().Err
	if errors.Is(err, errNotLoaded) && s.o.Now().Sub(s.preparedAt) >= mostLoadWait {
		return nil
	}
	return err
}

// Describe writes the state of the trees for people, a line each.
func (s *Service) Describe(w io.Writer) {
	now := s.forest.Status()
	switch {
	case s.o.InTable:
		fmt.Fprintf(w, "trees: looked up in %s\n", s.o.Forest.TreeTable)
	case now.Err != nil:
		fmt.Fprintf(w, "trees: %v\n", now.Err)
	default:
		fmt.Fprintf(w, "trees: %d branches, %d leaves in memory\n", now.Branches, now.Leaves)
	}
	if now.DefaultErr != nil {
		fmt.Fprintf(w, "names without tags are refused: %v\n", now.DefaultErr)
	}
	for _, t := range now.Trees {
		fmt.Fprintf(w, "tree %d (%s): %s\n", t.ID, t.Name, t.text())
	}
}

func (t TreeStatus) text() string {
	switch {
	case t.Err != nil:
		return "left out: " + t.Err.Error()
	case t.Default:
		return "names without tags"
	case !t.Enabled:
		return "not enabled"
	case t.Inverse != nil:
		return "names are not turned into tags by it: " + t.Inverse.Error()
	}
	return "names are turned into tags by it"
}

// collector exports the state of the trees as metrics. Trees are few, and made by operators: their
// names are labels.
type collector struct {
	forest   *Forest
	follower *Follower

	loaded, branches, leaves, shared *prometheus.Desc
	unreadable                       *prometheus.Desc
	running, waiting, done, of       *prometheus.Desc
}

func newCollector(forest *Forest, follower *Follower) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("tsdbridge_tree_"+name, help, labels, nil)
	}
	return &collector{
		forest:     forest,
		follower:   follower,
		loaded:     desc("loaded", "1 once the trees were read into memory, 0 before."),
		branches:   desc("branches", "Branches of all trees."),
		leaves:     desc("leaves", "Leaves of all trees, one for each series and tree."),
		shared:     desc("collided_series", "Series whose path another series of the tree had first; render returns each by itself.", "tree"),
		unreadable: desc("unreadable_cells", "Cells of trees that could not be read when the trees were loaded, and are left out; tsdbridge fsck finds them."),
		running:    desc("sync_running", "1 while existing series are being appended to trees."),
		waiting:    desc("sync_waiting_trees", "Trees to which not all existing series are appended yet."),
		done:       desc("sync_done_series", "Series that the current or last pass over all series has appended or found to be there."),
		of:         desc("sync_expected_series", "Estimated number of series of that pass."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.loaded, c.branches, c.leaves, c.shared, c.unreadable, c.running, c.waiting, c.done, c.of} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.forest.Status()
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	flag := map[bool]float64{true: 1}
	sync := c.follower.State()
	gauge(c.loaded, flag[s.Loaded])
	gauge(c.running, flag[sync.Running])
	gauge(c.waiting, float64(len(sync.Waiting)))
	gauge(c.done, float64(sync.Report.Series))
	gauge(c.of, float64(sync.Of))
	gauge(c.branches, float64(s.Branches))
	gauge(c.leaves, float64(s.Leaves))
	gauge(c.unreadable, float64(s.Unreadable))
	seen := map[string]bool{} // a TSD lets several trees have one name
	for _, t := range s.Trees {
		if !seen[t.Name] {
			gauge(c.shared, float64(t.Shared.Series), t.Name)
		}
		seen[t.Name] = true
	}
}
