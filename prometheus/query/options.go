package query

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
)

// Options are the limits and the parts of the query API. DefaultOptions sets the limits; the parts
// must be given.
type Options struct {
	Timeout     time.Duration // --query.timeout: of one query, waiting included
	Samples     int           // --query.max-samples: in memory at once, of one query
	Concurrency int           // --query.max-concurrency: queries that compute at once; others wait
	// --query.lookback-delta: age of the oldest sample that an instant still shows
	Lookback time.Duration

	Queryable *queryable.Store // shows a store under Names
	Names     queryable.Names
	Metadata  metadataReader    // of the same store
	Planner   planner           // of the same store; nil: status/plan is not served
	Catalog   cardinalityReader // of the same store; nil: status/tsdb is the module's
	// Running receives a function that ends the query, for each query that Prometheus' engine
	// evaluates, until done is called. It may be nil.
	Running    func(end context.CancelCauseFunc) (done func())
	Origins    *regexp.Regexp    // of scripts that may ask
	Flags      map[string]string // shown under status/flags
	Started    time.Time         // when the process was started
	Revision   string            // of this program
	Logger     *slog.Logger
	Registerer prometheus.Registerer // nil: no metrics
	Gatherer   prometheus.Gatherer   // shown under status/self_metrics
}

// DefaultOptions returns the limits without any flag.
func DefaultOptions() Options {
	return Options{Timeout: 2 * time.Minute, Samples: 50_000_000, Concurrency: 20, Lookback: 5 * time.Minute}
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
	return nil
}
