package adapter

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/prometheus/rules"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// LoadRules reads rule files.
func (o Options) LoadRules(c rules.Config) (*rules.Set, error) {
	return rules.Load(c, o.prometheusOptions().Query.Parser(), o.ruleChecks())
}

// ruleSet loads the rule files.
func (o Options) ruleSet() (*rules.Set, error) {
	if o.PromConfig == nil {
		return o.LoadRules(rules.Config{})
	}
	g := o.PromConfig.GlobalConfig
	return o.LoadRules(rules.Config{
		Files: o.PromConfig.RuleFiles, Interval: time.Duration(g.EvaluationInterval), QueryOffset: time.Duration(g.RuleQueryOffset),
		ExternalLabels: g.ExternalLabels, Alerting: o.PromConfig.AlertingConfig,
	})
}

// alertURL returns where users find this server: --web.external-url, or the host and the port. It
// ends without a slash, as templates written for Prometheus expect.
func (o Options) alertURL() (*url.URL, error) {
	if o.ExternalURL != "" {
		u, err := url.Parse(o.ExternalURL)
		if err != nil {
			return nil, fmt.Errorf("--web.external-url: %w", err)
		}
		u.Path, u.RawPath = strings.TrimRight(u.Path, "/"), strings.TrimRight(u.RawPath, "/")
		return u, nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	_, port, err := net.SplitHostPort(o.ListenAddress)
	if err != nil {
		return &url.URL{Scheme: "http", Host: host}, nil //nolint:nilerr // the listener reports it
	}
	return &url.URL{Scheme: "http", Host: net.JoinHostPort(host, port)}, nil
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
	n.Engine, n.WriteMode, n.ListenAddress = tables.EngineMemory, string(write.Through), ""
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
