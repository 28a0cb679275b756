package job

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"iter"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Catalog finds series.
type Catalog interface {
	NamedMetrics(ctx context.Context, start, end int64) ([]string, error)
	Find(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error)
}

// Options are what a Filler needs.
type Options struct {
	Rules   []Rule
	Rollups *rollup.Rollups
	DB      *kv.Engine
	// Table is that of the trees, which also contains the state; Data is that of the points.
	Table, Data string
	Layout      schema.Layout
	Catalog     Catalog
	// Select reads points.
	Select func(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error]
	TSUID  func(storage.Ref) string
	// Lookup and Name tell the UID of a metric, and the metric of a UID; "": there is none.
	Lookup, Name func(ctx context.Context, metric string) (string, error)
	// Kept returns how long points of a series are kept; 0: for ever.
	Kept func(storage.Series) time.Duration
	// Ready returns an error while points cannot be read, or a deletion is not finished.
	Ready      func() error
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Times of the looks.
const (
	every      = time.Minute
	afterError = 10 * time.Second
	notReady   = time.Second // until the series are known
	atOnce     = time.Minute // that one look fills for, before it looks for late points again
	longest    = 10 * time.Second
)

// Sizes of the parts.
const (
	metricsAtOnce  = 64
	seriesAtOnce   = 1024
	contentsAtOnce = 1 << 14 // intervals that are held
)

// A Filler fills rollup tables. After each part it rests for as long as that took, so that queries have at
// least half of the machine.
type Filler struct {
	o       Options
	late    *Late
	owner   string // this process, in the state
	journal *journal.Journal
	metrics metrics

	// deleting is held by deletions of points, and by whoever reads points and puts values of them.
	deleting sync.RWMutex

	coverage

	mu     sync.Mutex // held during a look; guards the rest
	loaded bool
	state  state
	record []byte // of the state, as it was read or written last
	saved  time.Time
	held   bool // another process fills the tables
	filled int  // intervals, since the last line of the log
}

// New returns a filler of some rules.
func New(o Options) *Filler {
	id := make([]byte, 8)
	_, _ = rand.Read(id) // never fails
	f := &Filler{o: o, owner: hex.EncodeToString(id), metrics: newMetrics(o.Registerer)}
	f.late = &Late{o: &f.o}
	if f.o.shared() {
		f.journal = journal.New(o.DB, o.Table, o.Now)
	} else {
		f.late.table = o.Table
	}
	for i := range o.Rules {
		r := &o.Rules[i]
		if delay := r.Delay.Milliseconds(); i == 0 || delay < f.late.delay {
			f.late.delay = delay
		}
		f.late.back = max(f.late.back, r.Back.Milliseconds())
	}
	return f
}

// shared reports whether other processes write to the tables.
func (o *Options) shared() bool { return !o.DB.Exclusive }

// windows reports whether the intervals get windows. These must be as exact as the points themselves, which takes
// that all changes of points are noted before they are there.
func (o *Options) windows() bool { return !o.shared() }

// lastOf returns the time of the last point, in milliseconds, that matters to the intervals before a time.
func (f *Filler) lastOf(to uint32) int64 {
	if f.o.windows() {
		return int64(to) * 1000
	}
	return int64(to)*1000 - 1
}

// Late returns where late points of this process are noted; nil on shared tables, where they are found by
// their stamps.
func (f *Filler) Late() *Late {
	if f == nil || f.o.shared() {
		return nil
	}
	return f.late
}

// Deleting notes that points of series between two times (milliseconds, inclusive) are about to be deleted,
// and keeps values from being filled until done is called. The caller deletes the values of intervals that
// lie in the time as a whole.
func (f *Filler) Deleting(ctx context.Context, tsuids []string, start, end int64) (done func(), err error) {
	if f == nil {
		return func() {}, nil
	}
	f.deleting.RLock()
	for _, at := range []int64{start, end} {
		if err := f.Late().Deletion(ctx, tsuids, at, at); err != nil {
			f.deleting.RUnlock()
			return nil, err
		}
	}
	return f.deleting.RUnlock, nil
}

// Run looks for work until ctx ends.
func (f *Filler) Run(ctx context.Context) error {
	var looked retry.Outcome
	for {
		more, err := f.Look(ctx)
		wait := every
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, storage.ErrNotReady):
			wait, err = notReady, nil
		case err != nil:
			wait = afterError
			f.metrics.errors.Inc()
		case more:
			wait = 0
		}
		if looked.Note(ctx, err) {
			f.o.Logger.Error("the rollup tables cannot be filled, which is tried again; see /-/ready, and tsdbridge fsck if err names a row", "err", err)
		}
		if !retry.Sleep(ctx, wait) {
			return nil
		}
	}
}

// Look fills what has closed and what has changed. It reports whether it left something for the next look.
func (f *Filler) Look(ctx context.Context) (more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.o.Ready(); err != nil {
		return false, err
	}
	if err := f.begin(ctx); err != nil || f.held {
		return false, err
	}
	if err = f.fillLate(ctx); err == nil {
		more, err = f.fillClosed(ctx)
	}
	f.measure()
	if errors.Is(err, errLeaseLost) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return more, f.save(ctx)
}

// begin reads the state, and on shared tables takes the lease.
func (f *Filler) begin(ctx context.Context) error {
	if !f.loaded || f.o.shared() {
		if err := f.load(ctx); err != nil {
			return err
		}
	}
	if !f.o.shared() {
		if !f.loaded {
			if err := f.late.load(ctx); err != nil {
				return err
			}
		}
		f.loaded = true
		f.publish()
		return nil
	}
	f.held = f.state.Owner != "" && f.state.Owner != f.owner && f.state.Until > f.o.Now().UnixMilli()
	if f.held {
		return nil
	}
	err := f.save(ctx)
	if f.held = errors.Is(err, errLeaseLost); f.held {
		return nil
	}
	return err
}

// ruleOf returns the rule and the interval of a task.
func (o *Options) ruleOf(t *task) (*Rule, *rollup.Interval) {
	for n := range o.Rules {
		if rule := &o.Rules[n]; rule.Name == t.Rule {
			for _, i := range rule.Intervals {
				if i.Name == t.Interval {
					return rule, i
				}
			}
		}
	}
	return nil, nil // load sees to it that there are
}

// fillClosed fills intervals that have closed, each day of a task in turn.
func (f *Filler) fillClosed(ctx context.Context) (more bool, err error) {
	end := time.Now().Add(atOnce)
	for _, t := range f.state.Tasks {
		rule, interval := f.o.ruleOf(t)
		closed := before(f.o.Now(), rule.Delay, interval)
		for t.Done < closed {
			if time.Now().After(end) {
				return true, nil
			}
			// what is filled below may lack points that arrive from here on
			to := min(closed, floor(t.Done+daySeconds, interval))
			f.late.passes(f.lastOf(to) + 1)
			if err := f.fillTask(ctx, t, to); err != nil {
				return false, err
			}
			t.Done, t.Next = to, ""
			if err := f.save(ctx); err != nil {
				return false, err
			}
			f.publish()
		}
	}
	if f.filled > 0 {
		f.o.Logger.Debug("rollup tables are filled", "intervals", f.filled)
		f.filled = 0
	}
	return false, nil
}

// fillTask fills the intervals from where a task is to before a time, metric by metric.
func (f *Filler) fillTask(ctx context.Context, t *task, to uint32) error {
	rule, interval := f.o.ruleOf(t)
	start, end := int64(t.Done)*1000, f.lastOf(to)
	metrics, err := f.o.Catalog.NamedMetrics(ctx, start, end)
	if err != nil {
		return err
	}
	metrics = slices.DeleteFunc(metrics, func(m string) bool { return m < t.Next || !storage.MayHave(rule.Filters, m) })
	slices.Sort(metrics)
	for some := range slices.Chunk(metrics, metricsAtOnce) {
		t.Next = some[0]
		if f.o.Now().Sub(f.saved) >= renewEvery {
			if err := f.save(ctx); err != nil {
				return err
			}
		}
		found, err := f.find(ctx, rule, some, start, end)
		if err != nil {
			return err
		}
		w := work{interval: interval, series: found, from: t.Done, to: to}
		if err := f.fill(ctx, &w); err != nil {
			return err
		}
	}
	return nil
}

// find returns the series of a rule in some metrics.
func (f *Filler) find(ctx context.Context, rule *Rule, metrics []string, start, end int64) ([]storage.Found, error) {
	found, err := f.o.Catalog.Find(ctx, append([]storage.Filter{{Values: metrics}}, rule.Filters...), start, end, 0)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(s storage.Found) bool { return !rule.Matches(s.Series) }), nil
}
