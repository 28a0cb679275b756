package read

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/series"
)

// A Plan is how Select reads some series of one metric.
type Plan struct {
	Kind string // rows (by key), near (likewise, near to each other), range, fuzzy, regexp
	// First is one of the series. Metric is the metric's UID.
	First  series.Ref
	Metric []byte
	Series int
	// Reads is how many reads of this kind there are: one for each salt bucket, and for each group
	// of series that is in memory at a time.
	Reads int
	// Rows is how many rows the series have in the range at most, RowsOfMetric how many those reads
	// are estimated to find of all series of the metric.
	Rows, RowsOfMetric int64
	// RowsExpected is how many rows the engine is expected to read. Last is how that went in the
	// last query that read the metric in this way; nil: there was none lately, or the engine is
	// local.
	RowsExpected int64
	Last         *Outcome
	// Costs are what each of the ways is estimated to cost, in milliseconds: of the processor on
	// the embedded engine, of waiting on a cluster.
	Costs map[string]float64
}

// Plan returns how Select would read a query now, by metric and kind. It reads nothing.
func (s *Reader) Plan(q series.Query) ([]Plan, error) {
	if q = q.Clamped(); q.Empty() {
		return nil, nil
	}
	r, err := s.newSelection(q)
	if err != nil {
		return nil, err
	}
	var plans []Plan
	add := func(some []plan, members []member, refs []series.Ref) {
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
func inOrder(plans []Plan) []Plan {
	slices.SortStableFunc(plans, func(a, b Plan) int { return strings.Compare(string(a.Metric), string(b.Metric)) })
	return plans
}

func (r *selection) report(p plan, first series.Ref, tsuid string) Plan {
	report := Plan{
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
func addPlan(plans []Plan, p Plan) []Plan {
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
