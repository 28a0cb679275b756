package read

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Plan returns how Select would read a query now, by metric and kind. It reads nothing.
func (s *Reader) Plan(q storage.Query) ([]storage.Plan, error) {
	if q = q.Clamped(); q.Empty() {
		return nil, nil
	}
	r, err := s.newSelection(q)
	if err != nil {
		return nil, err
	}
	var plans []storage.Plan
	add := func(some []plan, members []member, refs []storage.Ref) {
		for _, p := range some {
			plans = addPlan(plans, r.report(p, refs[members[0].at], members[0].tsuid))
			members = members[p.series:]
		}
	}
	if r.sweeps != nil {
		all := r.newSweep(0, len(q.Refs))
		if all.scans() {
			add(all.plans, all.members, q.Refs)
			return inOrder(plans), nil
		}
		r.near = nearMetrics(all.plans, all.members, s.o.Layout.MetricWidth)
	}
	for rest := q.Refs; len(rest) > 0; {
		var g seriesGroup
		n := r.groupSize(len(rest))
		g.order(s, rest[:n])
		add(r.appendPlans(nil, g.members), g.members, rest)
		rest = rest[n:]
	}
	return inOrder(plans), nil
}

// inOrder sorts plans by metric.
func inOrder(plans []storage.Plan) []storage.Plan {
	slices.SortStableFunc(plans, func(a, b storage.Plan) int { return strings.Compare(string(a.Metric), string(b.Metric)) })
	return plans
}

func (r *selection) report(p plan, first storage.Ref, tsuid string) storage.Plan {
	report := storage.Plan{
		Kind: p.kind.String(), First: first, Metric: []byte(tsuid[:r.o.Layout.MetricWidth]), Series: p.series, Reads: 1,
		Rows: int64(p.series) * int64(r.hours()), RowsOfMetric: int64(p.have), Costs: map[string]float64{},
		RowsExpected: p.expected(r.hours()),
	}
	if last, ok := r.outcomes.Get(way{tsuid[:r.o.Layout.MetricWidth], p.kind}); ok {
		report.Last = &last
	}
	for kind, cost := range p.costs {
		if cost > 0 {
			report.Costs[planKind(kind).String()] = cost / 1000
		}
	}
	return report
}

// addPlan adds to the plan of the same metric and kind, if there is one. Groups of one query each
// go over the metric.
func addPlan(plans []storage.Plan, p storage.Plan) []storage.Plan {
	for i := range plans {
		old := &plans[i]
		if old.Kind != p.Kind || string(old.Metric) != string(p.Metric) {
			continue
		}
		old.Series += p.Series
		old.Reads += p.Reads
		old.Rows += p.Rows
		old.RowsOfMetric += p.RowsOfMetric
		old.RowsExpected += p.RowsExpected
		for kind, cost := range p.Costs {
			old.Costs[kind] += cost
		}
		return plans
	}
	return append(plans, p)
}
