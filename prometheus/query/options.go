package query

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/engine"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/lookback"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/resultcache"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
)

// Options are the limits and the parts of the query API. DefaultOptions sets the limits; the parts
// must be given.
type Options struct {
	// Timeout is --query.timeout: how long a query may take, including its wait for a turn.
	Timeout time.Duration
	// Samples is --query.max-samples: how many samples a query may hold in memory at once.
	Samples int
	// Concurrency is --query.max-concurrency: how many queries compute at once. Others wait.
	Concurrency int
	// Lookback is --query.lookback-delta: the age of the oldest sample that an instant still shows.
	Lookback time.Duration

	// DefaultStep is the step of a subquery without one; 0: a minute.
	DefaultStep time.Duration

	// Features are --query.enable-feature: experimental parts of PromQL; see Features.
	Features []string
	// Lookbacks are --query.lookback: rules of metrics with other lookbacks.
	Lookbacks []string
	// Steps tells the steps of series; nil: none is known.
	Steps lookback.Steps

	// Engine is --query.promql-engine: EngineColumns or EnginePrometheus.
	Engine string
	// Shadow is --query.promql-shadow: the percentage of queries that Prometheus' engine answers as
	// well, to compare the answers.
	Shadow float64
	// RollupSums is --query.rollup-sums: sums and averages over time may be made of those in rollup tables.
	RollupSums bool

	// CacheBytes is --query.cache-max-bytes: the memory for answers of range queries that are kept;
	// 0: none are.
	CacheBytes int64

	// Changes tells which points change; Budget is the memory of all queries.
	Changes resultcache.Store
	Budget  *query.Budget
	// Queryable shows a store under Names.
	Queryable *queryable.Store
	Names     queryable.Names
	// Metadata, Planner and Catalog are of the same store. Without a Planner status/plan is not
	// served; without a Catalog status/tsdb is the module's.
	Metadata metadataReader
	Planner  planner
	Catalog  cardinalityReader
	// Rules shows the rules that are evaluated, and where alerts are sent; nil: there are none.
	Rules Rules
	// Running holds the queries of all languages that are being answered. It may be nil.
	Running *query.Registry
	// Admin is --web.enable-admin-api: queries may be ended by their id, and series deleted.
	Admin bool
	// Deleter is of the same store. It must be given with Admin.
	Deleter Deleter
	// ExternalLabels are added to the series of /federate.
	ExternalLabels map[string]string
	// Origins matches the origins of scripts that may send requests.
	Origins *regexp.Regexp
	// Flags are shown under status/flags.
	Flags map[string]string
	// Config is shown under status/config: the configuration as YAML, without secrets.
	Config string
	// Started is when the process was started.
	Started time.Time
	// LastReload tells of the last load of the configuration; nil: there was none after the start.
	LastReload func() (success bool, last time.Time)
	// Retention is --storage.retention; 0: points are kept for ever.
	Retention time.Duration
	// Lifecycle is --web.enable-lifecycle.
	Lifecycle bool
	// Revision is of this program.
	Revision string
	Logger   *slog.Logger
	// Registerer may be nil: no metrics.
	Registerer prometheus.Registerer
	// Gatherer is shown under status/self_metrics.
	Gatherer prometheus.Gatherer
}

// The engines that evaluate PromQL: over columns where it can be, or the one of the Prometheus module.
const (
	EngineColumns    = "columns"
	EnginePrometheus = "prometheus"
)

// Rules are the rules that are evaluated, and where alerts are sent.
type Rules interface {
	v1.RulesRetriever
	v1.AlertmanagerRetriever
}

// rules returns what shows the rules.
func (o Options) rules(context.Context) v1.RulesRetriever {
	if o.Rules == nil {
		return noTargets{}
	}
	return o.Rules
}

func (o Options) alertmanagers(context.Context) v1.AlertmanagerRetriever {
	if o.Rules == nil {
		return noTargets{}
	}
	return o.Rules
}

// DefaultOptions returns the limits without any flag.
func DefaultOptions() Options {
	return Options{Timeout: 2 * time.Minute, Samples: 50_000_000, Concurrency: 20, Lookback: 5 * time.Minute, Engine: EngineColumns, CacheBytes: 128 << 20}
}

// Validate names the flag that cannot work.
func (o Options) Validate() error {
	for _, positive := range []struct {
		flag  string
		value int64
	}{
		{"--query.timeout", int64(o.Timeout)},
		{"--query.max-samples", int64(o.Samples)},
		{"--query.max-concurrency", int64(o.Concurrency)},
		{"--query.lookback-delta", int64(o.Lookback)},
	} {
		if positive.value <= 0 {
			return fmt.Errorf("%s must be above 0", positive.flag)
		}
	}
	if err := o.checkFeatures(); err != nil {
		return err
	}
	if _, err := lookback.Parse(o.Lookbacks); err != nil {
		return fmt.Errorf("--query.lookback: %w", err)
	}
	if o.Engine != EngineColumns && o.Engine != EnginePrometheus {
		return fmt.Errorf("--query.promql-engine must be %s or %s", EngineColumns, EnginePrometheus)
	}
	if !(o.Shadow >= 0 && o.Shadow <= 100) {
		return errors.New("--query.promql-shadow must be between 0 and 100")
	}
	if o.CacheBytes < 0 {
		return errors.New("--query.cache-max-bytes must not be below 0")
	}
	return nil
}

// limits returns the limits of the engine.
func (o Options) limits() engine.Limits {
	return engine.Limits{Timeout: o.Timeout, Samples: o.Samples, Lookback: o.Lookback, DefaultStep: o.DefaultStep, Lookbacks: o.Lookbacks}
}

// engine returns the options of the engine.
func (o Options) engine(gate *queryGate) engine.Options {
	return engine.Options{
		Limits: o.limits(), Parser: o.Parser(), Gate: gate, Off: o.Engine == EnginePrometheus, Shadow: o.Shadow, RollupSums: o.RollupSums,
		CacheBytes: o.CacheBytes, Format: resultcache.Format{Labels: appendHead, Time: appendTimeText, Value: appendPointValue},
		Changes: o.Changes, Budget: o.Budget, Steps: o.Steps, Queryable: o.Queryable, MetricName: func(metric string) string { return o.Names.FromMetric(metric) },
		Logger: o.Logger, Registerer: o.Registerer,
	}
}
