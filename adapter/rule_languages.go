package adapter

import (
	"context"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/graphite/api"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Languages of rules besides PromQL.
const (
	langGraphite = "graphite"
	langOpenTSDB = "opentsdb"
)

// ruleChecks check the texts of rules in other languages than PromQL.
func (o Options) ruleChecks() rules.Checks {
	return rules.Checks{
		langGraphite: func(text string) error { return api.CheckTarget(text, o.Graphite.UTF8Metrics) },
		langOpenTSDB: opentsdb.CheckM,
	}
}

// graphiteRules evaluate rules in Graphite's language by the configuration that is in use. A value may be as old as lookback where
// the rule has no window.
type graphiteRules struct {
	adapter  *Adapter
	lookback time.Duration
}

// Evaluate implements rules.Evaluator.
func (g graphiteRules) Evaluate(ctx context.Context, q rules.Question) (promql.Vector, error) {
	points, err := g.adapter.live.Load().graphite.Latest(ctx, api.LatestQuery{Target: q.Text, Client: q.Client, At: q.At, Window: windowOf(q, g.lookback)})
	if err != nil {
		return nil, err
	}
	v := make(promql.Vector, len(points))
	for i, p := range points {
		v[i] = promql.Sample{Metric: p.Labels(), T: q.At.UnixMilli(), F: p.Value}
	}
	return v, nil
}

// opentsdbRules are likewise of OpenTSDB's language.
type opentsdbRules struct {
	adapter  *Adapter
	lookback time.Duration
}

// Evaluate implements rules.Evaluator.
func (t opentsdbRules) Evaluate(ctx context.Context, q rules.Question) (promql.Vector, error) {
	points, err := t.adapter.live.Load().opentsdb.Latest(ctx, opentsdb.LatestQuery{M: q.Text, Client: q.Client, At: q.At, Window: windowOf(q, t.lookback)})
	if err != nil {
		return nil, err
	}
	v := make(promql.Vector, len(points))
	for i, p := range points {
		v[i] = promql.Sample{Metric: t.labels(p.Series), T: q.At.UnixMilli(), F: p.Value}
	}
	return v, nil
}

// labels returns the metric and the tags of a group. A group of series with several names of a packed one
// has them as they are stored.
func (t opentsdbRules) labels(s storage.Series) labels.Labels { return t.adapter.names.ToLabels(s) }

func windowOf(q rules.Question, lookback time.Duration) time.Duration {
	if q.Window > 0 {
		return q.Window
	}
	return lookback
}
