package rules

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	promrules "github.com/prometheus/prometheus/rules"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// A Test is a group of rule unit tests and what it needs of its file.
type Test struct {
	File  *TestFile
	Group *TestGroup
	Set   *Set      // of the rule files
	Diff  bool      // alerts that differ are shown as a coloured difference
	Debug io.Writer // gets all data after the test; nil: nobody does
	// Module is the module's own engine, which evaluates tests before 1970 and after 2106.
	Module promql.QueryEngine
}

// Test runs a test over the store of the Service, which must be empty. Rules are evaluated by the groups of the
// module's manager, as Run has them evaluated. It returns what failed.
func (s *Service) Test(ctx context.Context, t Test) (failures []error) {
	store, err := s.storeOf(t)
	if err != nil {
		return []error{err}
	}
	defer func() {
		if err := store.close(); err != nil {
			failures = append(failures, err)
		}
	}()
	r, err := s.newTestRun(ctx, t, store)
	if err != nil {
		return []error{err}
	}
	if err := r.evaluate(); err != nil {
		return append(r.failures, err)
	}
	for _, e := range t.Group.PromQLExprTests {
		if err := r.expr(e); err != nil {
			r.failures = append(r.failures, fmt.Errorf("expr: %q, time: %s, %w", e.Expr, e.EvalTime, err))
		}
	}
	if t.Debug != nil {
		r.dump(t.Debug)
	}
	return r.failures
}

// dump writes all data, input and what rules made of it, as promtool does.
func (r *testRun) dump(w io.Writer) {
	span := (r.Group.last() + time.Second).Truncate(time.Second)
	start := r.Group.start()
	matrix, err := r.all(start.UnixMilli()+1, start.Add(span).UnixMilli())
	if err != nil {
		fmt.Fprintf(w, "DEBUG: Failed reading all data: %v\n", err)
		return
	}
	fmt.Fprintf(w, "DEBUG: Dump of all data (input_series and rules) at %v:\n%s\n", span, matrix)
}

// all returns all samples of a time.
func (r *testRun) all(from, to int64) (promql.Matrix, error) {
	q, err := r.store.queryable.Querier(from, to)
	if err != nil {
		return nil, err
	}
	defer q.Close()
	var matrix promql.Matrix
	set := q.Select(r.ctx, true, nil, labels.MustNewMatcher(labels.MatchRegexp, model.MetricNameLabel, ".+"))
	for set.Next() {
		series := promql.Series{Metric: set.At().Labels()}
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				if at, v := it.At(); !value.IsStaleNaN(v) {
					series.Floats = append(series.Floats, promql.FPoint{T: at, F: v})
				}
				continue
			}
			if at, h := it.AtFloatHistogram(nil); !value.IsStaleNaN(h.Sum) {
				series.Histograms = append(series.Histograms, promql.HPoint{T: at, H: h})
			}
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
		if len(series.Floats)+len(series.Histograms) > 0 {
			matrix = append(matrix, series)
		}
	}
	return matrix, set.Err()
}

// A testRun is a test under way.
type testRun struct {
	Test

	service  *Service
	store    testStore
	ctx      context.Context //nolint:containedctx // of the run, which is one call
	parser   parser.Parser
	groups   []*promrules.Group // in the order of their evaluation
	input    []testSeries
	alerts   []alertTest // not checked yet, by time
	failures []error
}

// testSeries are samples of the input that are not stored yet.
type testSeries struct {
	labels labels.Labels
	values []parser.SequenceValue
	next   time.Time // of the first value
}

func (s *Service) newTestRun(ctx context.Context, t Test, store testStore) (*testRun, error) {
	r := &testRun{Test: t, service: s, store: store, ctx: ctx, parser: t.Set.parser.Parser, alerts: slices.Clone(t.Group.AlertRuleTests)}
	slices.SortStableFunc(r.alerts, func(a, b alertTest) int { return cmp.Compare(a.EvalTime, b.EvalTime) })
	byLabels := map[string]int{}
	for _, in := range t.Group.InputSeries {
		ls, values, err := r.parser.ParseSeriesDesc(in.Series + " " + in.Values)
		if err != nil {
			return nil, fmt.Errorf("input series %q: %w", in.Series, err)
		}
		one := testSeries{ls, values, t.Group.start()}
		if at, again := byLabels[ls.String()]; again { // the last one counts, as in promtool
			r.input[at] = one
			continue
		}
		byLabels[ls.String()] = len(r.input)
		r.input = append(r.input, one)
	}
	return r, r.loadGroups()
}

// loadGroups makes the groups of the rules.
func (r *testRun) loadGroups() error {
	s := r.service
	s.set.Store(r.Set)
	m := promrules.NewManager(&promrules.ManagerOptions{
		Context: r.ctx, QueryFunc: r.store.ask, Appendable: r.store.appendable, Queryable: r.store.queryable,
		NotifyFunc:  func(context.Context, string, ...*promrules.Alert) {},
		GroupLoader: loader{s}, RuleDependencyController: independent{}, Logger: s.o.Logger,
		Metrics: promrules.NewGroupMetrics(nil),
	})
	byKey, errs := m.LoadGroups(time.Duration(r.Group.Interval), r.Group.ExternalLabels, r.Group.ExternalURL, nil, false, r.Set.files...)
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		r.groups = append(r.groups, byKey[key])
	}
	slices.SortStableFunc(r.groups, func(a, b *promrules.Group) int {
		return slices.Index(r.File.GroupEvalOrder, a.Name()) - slices.Index(r.File.GroupEvalOrder, b.Name())
	})
	for _, g := range r.groups {
		for _, rule := range g.AlertingRules() {
			rule.SetRestored(true) // otherwise it has no ALERTS
		}
	}
	return nil
}

// evaluate evaluates the rules at all instants, and checks the alerts. Its error is that of a rule.
func (r *testRun) evaluate() error {
	start, interval := r.Group.start(), time.Duration(r.File.EvaluationInterval)
	for at := start; !at.After(start.Add(r.Group.last())); at = at.Add(interval) {
		if err := r.ctx.Err(); err != nil {
			return err
		}
		if err := r.append(at); err != nil {
			return err
		}
		if err := r.instant(at); err != nil {
			return err
		}
		for len(r.alerts) > 0 && start.Add(time.Duration(r.alerts[0].EvalTime)).Before(at.Add(interval)) {
			if err := r.alert(r.alerts[0]); err != nil {
				r.failures = append(r.failures, err)
			}
			r.alerts = r.alerts[1:]
		}
	}
	return nil
}

// instant evaluates all rules once.
func (r *testRun) instant(at time.Time) error {
	var errs []error
	for _, g := range r.groups {
		account := r.service.o.Budget.Open()
		g.Eval(withGroup(context.WithValue(query.WithAccount(r.ctx, account), groupKey{}, g.Name()), g), at)
		account.Close()
		for _, rule := range g.Rules() {
			if err := rule.LastError(); err != nil {
				errs = append(errs, fmt.Errorf("rule: %s, time: %s, err: %w", rule.Name(), at.Sub(time.Unix(0, 0)), err)) // as promtool: since 1970
			}
		}
	}
	return errors.Join(errs...)
}

// append stores the input up to a time: rules must not see what comes later.
func (r *testRun) append(until time.Time) error {
	a := r.store.appendable.Appender(r.ctx)
	for i := range r.input {
		in := &r.input[i]
		for len(in.values) > 0 && !in.next.After(until) {
			if err := appendTest(a, in.labels, in.next.UnixMilli(), in.values[0]); err != nil {
				return errors.Join(fmt.Errorf("input series %s: %w", in.labels, err), a.Rollback())
			}
			in.values, in.next = in.values[1:], in.next.Add(time.Duration(r.Group.Interval))
		}
	}
	return a.Commit()
}

func appendTest(a promstorage.Appender, ls labels.Labels, at int64, v parser.SequenceValue) (err error) {
	switch {
	case v.Omitted:
	case v.Histogram != nil:
		_, err = a.AppendHistogram(0, ls, at, nil, v.Histogram)
	default:
		_, err = a.Append(0, ls, at, v.Value)
	}
	return err
}

// ask evaluates a query of a test.
func (r *testRun) ask(text string, at time.Time) (promql.Vector, error) {
	account := r.service.o.Budget.Open()
	defer account.Close()
	return r.store.ask(query.WithAccount(r.ctx, account), text, at)
}
