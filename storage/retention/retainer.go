package retention

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Catalog finds series.
type Catalog interface {
	NamedMetrics(ctx context.Context, start, end int64) ([]string, error)
	FindNamed(ctx context.Context, filters []storage.Filter, start, end int64) ([]storage.Found, error)
}

// Options are what a Retainer needs.
type Options struct {
	Rules   []Rule
	Catalog Catalog
	// Delete deletes the points of series from start to end (milliseconds, inclusive), and returns
	// how many rows it deleted or changed.
	Delete     func(ctx context.Context, refs []storage.Ref, start, end int64) (rows int, err error)
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// Times of the passes.
const (
	every      = time.Hour   // a row is an hour
	afterError = time.Minute // until the next attempt
	notReady   = time.Second // until the series are known
	longest    = 10 * time.Second
)

// Sizes of the parts of a pass.
const (
	metricsAtOnce = 64
	seriesAtOnce  = 1 << 16 // of one deletion; the rows of a whole metric go as a range
)

// A Retainer deletes what the rules say is too old. Each pass goes from metric to metric, in parts.
// After each part it rests for as long as that took, so that it takes half of a disk at most. The
// first pass of a rule, and the first one each day, looks at all hours; the others look at the hours
// that have become too old since the last one. A pass that an error ends goes on where it was.
type Retainer struct {
	o       Options
	metrics metrics

	next atomic.Pointer[[]Rule] // rules that a pass takes over before its next part; nil: none
	wake chan struct{}          // a pass is made at once

	mu     sync.Mutex // held during a pass; guards the rest
	rules  []Rule
	states []state // of the rules
}

// state is how far the passes of a rule have come.
type state struct {
	done uint32 // cutoff of the last whole pass, seconds; 0: there was none
	// of the pass under way
	from, to uint32 // its hours, seconds; to is 0 when there is none
	next     string // metric

	told   time.Time // when it was last logged what the rule deleted
	untold int       // rows that were deleted since
}

// New returns a retainer of some rules.
func New(o Options) *Retainer {
	return &Retainer{o: o, wake: make(chan struct{}, 1), rules: o.Rules, states: make([]state, len(o.Rules)), metrics: newMetrics(o.Registerer)}
}

// SetRules replaces the rules. A pass under way ends before its next part, and another one begins.
func (r *Retainer) SetRules(rules []Rule) {
	r.next.Store(&rules)
	select {
	case r.wake <- struct{}{}:
	default: // it has not seen the last call
	}
}

// errNewRules ends a pass whose rules no longer hold.
var errNewRules = errors.New("the rules of the retention have changed")

// takeOver makes rules that were set the current ones. Each is applied to all hours.
func (r *Retainer) takeOver() {
	if rules := r.next.Swap(nil); rules != nil {
		r.rules, r.states = *rules, make([]state, len(*rules))
	}
}

// Run makes a pass at once and then each hour until ctx ends.
func (r *Retainer) Run(ctx context.Context) error {
	var passed retry.Outcome
	for {
		wait, err := every, r.Pass(ctx)
		switch {
		case errors.Is(err, errNewRules):
			continue
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, storage.ErrNotReady):
			wait, err = notReady, nil
		case err != nil:
			wait = afterError
			r.metrics.errors.Inc()
		}
		if passed.Note(ctx, err) {
			r.o.Logger.Error("what is older than the rules of the retention cannot be deleted, which is tried again; see TsdbridgeUpkeepFailing in docs/monitoring.md", "err", err)
		}
		if !r.rest(ctx, wait) {
			return nil
		}
	}
}

// rest waits until the next pass, and reports whether there is one.
func (r *Retainer) rest(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-r.wake:
	}
	return true
}

// Pass deletes what is too old by any rule. One pass runs at a time.
func (r *Retainer) Pass(ctx context.Context) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.takeOver()
	begin := r.o.Now()
	for n := range r.rules {
		if err := r.passRule(ctx, &r.rules[n], &r.states[n]); err != nil {
			return err
		}
	}
	r.metrics.passes.Inc()
	r.metrics.last.Set(float64(r.o.Now().Unix()))
	r.metrics.seconds.Set(r.o.Now().Sub(begin).Seconds())
	return nil
}

const daySeconds = 24 * 3600

// begin decides which hours a pass looks at, unless one is under way.
func (s *state) begin(cutoff uint32) {
	if s.to > 0 {
		return
	}
	s.from, s.to, s.next = s.done, cutoff, ""
	if s.done/daySeconds != cutoff/daySeconds || cutoff < s.done {
		s.from = 0
	}
}

func (r *Retainer) passRule(ctx context.Context, rule *Rule, s *state) error {
	s.begin(rule.cutoff(r.o.Now()))
	rows, all := 0, 0
	if s.from < s.to {
		start, end := int64(s.from)*1000, int64(s.to)*1000-1
		metrics, err := r.o.Catalog.NamedMetrics(ctx, start, end)
		if err != nil {
			return err
		}
		metrics = slices.DeleteFunc(metrics, func(m string) bool { return m < s.next || !rule.mayHave(m) })
		slices.Sort(metrics)
		for some := range slices.Chunk(metrics, metricsAtOnce) {
			if s.next = some[0]; r.next.Load() != nil {
				return errNewRules
			}
			n, found, err := r.passMetrics(ctx, rule, some, start, end)
			if rows, all = rows+n, all+found; err != nil {
				return err
			}
		}
	}
	s.done, s.to = s.to, 0
	if rows > 0 {
		r.o.Logger.Debug("a pass deleted what is older than a rule of the retention",
			"rule", rule.Name, "before", time.Unix(int64(s.done), 0).UTC(), "series", all, "rows", rows)
	}
	s.untold += rows
	if now := r.o.Now(); s.untold > 0 && now.Sub(s.told) >= toldEvery {
		r.o.Logger.Info("deleted what is older than a rule of the retention",
			"rule", rule.Name, "before", time.Unix(int64(s.done), 0).UTC(), "series", all, "rows", s.untold)
		s.told, s.untold = now, 0
	}
	return nil
}

// toldEvery is how often it is logged what a rule deleted.
const toldEvery = 24 * time.Hour

// passMetrics deletes points of some metrics.
func (r *Retainer) passMetrics(ctx context.Context, rule *Rule, metrics []string, start, end int64) (rows, all int, err error) {
	filters := append([]storage.Filter{{Values: metrics}}, rule.Filters...)
	found, err := r.o.Catalog.FindNamed(ctx, filters, start, end)
	if err != nil {
		return 0, 0, err
	}
	found = slices.DeleteFunc(found, func(f storage.Found) bool { return !rule.Matches(f.Series) })
	for part := range slices.Chunk(found, seriesAtOnce) {
		refs := make([]storage.Ref, len(part))
		for i := range part {
			refs[i] = part[i].Ref
		}
		begin := time.Now()
		n, err := r.o.Delete(ctx, refs, start, end)
		if rows += n; err != nil {
			return rows, all, err
		}
		all += len(part)
		r.metrics.rows.Add(float64(n))
		r.metrics.series.Add(float64(len(part)))
		if n > 0 && !retry.Sleep(ctx, min(time.Since(begin), longest)) {
			return rows, all, ctx.Err()
		}
	}
	return rows, all, nil
}
