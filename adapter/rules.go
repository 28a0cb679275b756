package adapter

import (
	"context"
	"log/slog"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/rules"
	"github.com/tsdbridge/tsdbridge/storage"
)

// LoadRules reads rule files.
func (o Options) LoadRules(c rules.Config) (*rules.Set, error) {
	return rules.Load(c, o.prometheusOptions().Query.Parser(), o.ruleChecks())
}

// ParseRules returns the rules of a text, with the offset that holds. interval is that of groups without one.
func (o Options) ParseRules(file, text string, interval time.Duration) (*rules.Set, error) {
	c := rules.Config{Interval: interval}
	if o.PromConfig != nil {
		c.QueryOffset = time.Duration(o.PromConfig.GlobalConfig.RuleQueryOffset)
	}
	return rules.ParseSet(c, file, []byte(text), o.prometheusOptions().Query.Parser(), o.ruleChecks())
}

// ParseRules implements admin.Ruler.
func (g *generation) ParseRules(file, text string, interval time.Duration) (*rules.Set, error) {
	return g.o.ParseRules(file, text, interval)
}

// Backfill implements admin.Ruler.
func (g *generation) Backfill(ctx context.Context, b rules.Backfill) error {
	return g.prometheus.Backfill(ctx, b)
}

// ForRuleTest returns options of an empty store in memory, which no port reaches, with the settings of queries.
func (o Options) ForRuleTest(interval time.Duration) Options {
	n := DefaultOptions()
	n.Engine, n.WriteMode, n.ListenAddress = EngineMemory, string(storage.WriteThrough), ""
	n.Prometheus, n.Graphite = o.Prometheus, o.Graphite
	n.QueryTimeout, n.QuerySamples, n.QuerySeries, n.QueryParallel = o.QueryTimeout, o.QuerySamples, o.QuerySeries, o.QueryParallel
	n.Carbon.ListenAddress, n.Carbon.PickleAddress, n.Carbon.ProtobufAddress, n.OpenTSDB.ListenAddress = "", "", "", ""
	n.Prometheus.Query.DefaultStep, n.Prometheus.Write.Future = interval, 0
	n.Logger, n.Now = slog.New(slog.DiscardHandler), o.Now
	return n
}

// TestRules runs a unit test of rules over a store that nobody writes to.
func (a *Adapter) TestRules(ctx context.Context, t rules.Test) []error {
	return a.live.Load().prometheus.TestRules(ctx, t)
}
