package rules

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	promrules "github.com/prometheus/prometheus/rules"
	promstorage "github.com/prometheus/prometheus/storage"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A Backfill says for which time the recording rules of a set are filled.
type Backfill struct {
	Set        *Set
	Start, End time.Time // End is part of it
	// Progress tells how many instants of a group have been evaluated, and how many samples they gave.
	// Its error ends the filling.
	Progress func(group string, done, all, samples int) error
}

// Backfill evaluates the recording rules of a set at all instants of a time at which the manager would
// have, one after the other, and stores the results as it would have. What is stored is durable when it is
// told of. Alerts are left out.
func (s *Service) Backfill(ctx context.Context, b Backfill) error {
	if !b.End.After(b.Start) {
		return errors.New("the end must be after the start")
	}
	for _, file := range b.Set.files {
		for _, g := range b.Set.groups[file].Groups {
			f, err := s.newFilling(b.Set, file, g)
			if err != nil {
				return err
			}
			if err := f.fill(ctx, b); err != nil {
				return fmt.Errorf("group %q: %w", g.Name, err)
			}
		}
	}
	return nil
}

// A filling is the filling of a group.
type filling struct {
	service  *Service
	group    rulefmt.RuleGroup
	interval time.Duration
	offset   time.Duration
	first    func(start time.Time) time.Time // the first instant that is not before
	rules    []*promrules.RecordingRule
	before   []map[string]labels.Labels // series of each rule at the instant before
	pending  promstorage.Appender       // with samples of some instants; nil: there are none
	samples  int
}

func (s *Service) newFilling(set *Set, file string, g rulefmt.RuleGroup) (*filling, error) {
	f := &filling{service: s, group: g, interval: set.interval(), offset: set.config.QueryOffset}
	if g.Interval != 0 {
		f.interval = time.Duration(g.Interval)
	}
	if g.QueryOffset != nil {
		f.offset = time.Duration(*g.QueryOffset)
	}
	for _, r := range g.Rules {
		if r.Record == "" {
			continue
		}
		expr, err := set.parser.ParseExpr(r.Expr)
		if err != nil {
			return nil, err
		}
		f.rules = append(f.rules, promrules.NewRecordingRule(r.Record, expr, promrules.FromMaps(g.Labels, r.Labels)))
	}
	f.before = make([]map[string]labels.Labels, len(f.rules))
	timed := promrules.NewGroup(promrules.GroupOptions{
		Name: g.Name, File: file, Interval: f.interval, Opts: &promrules.ManagerOptions{Metrics: promrules.NewGroupMetrics(nil)},
	})
	f.first = func(start time.Time) time.Time {
		at := timed.EvalTimestamp(start.UnixNano())
		for at.Before(start) {
			at = at.Add(f.interval)
		}
		return at
	}
	return f, nil
}

// progressParts is how often the progress of a group is told.
const progressParts = 20

func (f *filling) fill(ctx context.Context, b Backfill) error {
	if len(f.rules) == 0 {
		return nil
	}
	first := f.first(b.Start)
	all := max(0, int(b.End.Sub(first)/f.interval)+1)
	if b.End.Before(first) {
		all = 0
	}
	for done := range all {
		if err := f.evaluate(ctx, first.Add(time.Duration(done)*f.interval)); err != nil {
			return err
		}
		if tell := max(1, all/progressParts); (done+1)%tell != 0 && done+1 != all {
			continue
		}
		if err := f.commit(); err != nil {
			return err
		}
		if err := b.Progress(f.group.Name, done+1, all, f.samples); err != nil {
			return err
		}
	}
	return f.commit()
}

// mostPending is how many samples of a group with one rule wait for a commit.
const mostPending = 5000

// evaluate evaluates the rules at an instant. A rule sees what those before it gave, so that they are
// stored first.
func (f *filling) evaluate(ctx context.Context, at time.Time) error {
	account := f.service.o.Budget.Open()
	defer account.Close()
	ctx = context.WithValue(query.WithAccount(ctx, account), groupKey{}, f.group.Name)
	for i, rule := range f.rules {
		before := f.samples
		v, err := rule.Eval(ctx, f.offset, at, f.service.query, f.service.o.ExternalURL, f.group.Limit)
		if err == nil {
			err = f.add(ctx, i, v, at)
		}
		if err == nil && (len(f.rules) > 1 || f.samples/mostPending != before/mostPending) {
			err = f.commit()
		}
		if err != nil {
			return fmt.Errorf("rule %q at %s: %w", rule.Name(), at.UTC().Format(time.RFC3339), err)
		}
	}
	return nil
}

// add adds the samples of a rule, and stale markers of the series that ended.
func (f *filling) add(ctx context.Context, i int, v promql.Vector, at time.Time) error {
	if f.pending == nil {
		f.pending = f.service.o.Appendable.Appender(context.WithoutCancel(ctx))
	}
	now := make(map[string]labels.Labels, len(v))
	for _, s := range v {
		var err error
		if s.H != nil {
			_, err = f.pending.AppendHistogram(0, s.Metric, s.T, nil, s.H)
		} else {
			_, err = f.pending.Append(0, s.Metric, s.T, s.F)
		}
		if err != nil {
			return err
		}
		now[s.Metric.String()] = s.Metric
	}
	for key, metric := range f.before[i] {
		if now[key].IsEmpty() {
			if _, err := f.pending.Append(0, metric, timestamp.FromTime(at.Add(-f.offset)), math.Float64frombits(value.StaleNaN)); err != nil {
				return err
			}
		}
	}
	f.before[i] = now
	f.samples += len(v)
	return nil
}

func (f *filling) commit() error {
	if f.pending == nil {
		return nil
	}
	pending := f.pending
	f.pending = nil
	return pending.Commit()
}
