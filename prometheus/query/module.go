package query

import (
	"context"
	"net/http"

	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/util/features"
	"github.com/prometheus/prometheus/util/notifications"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/engine"
)

// promVersion is the version of Prometheus whose API is served. Grafana chooses its requests by it.
// Module v0.MNN.P is version M.NN.P.
const promVersion = "3.15.0"

// searchMost bounds the limit of a search.
const searchMost = 10_000

// newModuleAPI makes the API of the Prometheus module.
func newModuleAPI(o Options, engine *engine.Engine, registry features.Collector) *v1.API {
	return v1.NewAPI(
		engine,
		o.Queryable,
		nil, nil, // appenders: the module does not write here
		o.Queryable,
		func(context.Context) v1.ScrapePoolsRetriever { return noTargets{} },
		func(context.Context) v1.TargetRetriever { return noTargets{} },
		o.alertmanagers,
		func() config.Config { return config.DefaultConfig },
		o.Flags,
		v1.GlobalURLOptions{},
		// the store's errors report that it is not ready
		func(f http.HandlerFunc) http.HandlerFunc { return f },
		&deletions{shown: o.Queryable, deleter: o.Deleter, logger: o.Logger},
		"", // directory of the TSDB
		o.Admin,
		true, searchMost,
		o.Logger,
		o.rules,
		0, 1, 0, // remote read of the module; ours is used
		false, // agent
		o.Origins,
		o.runtimeInfo,
		o.buildInfo(),
		func() []notifications.Notification { return []notifications.Notification{} },
		func() (<-chan notifications.Notification, func(), bool) { return nil, nil, false },
		o.Gatherer,
		nil,        // registerer: of the module's remote read only
		nil,        // stats: the default
		false, nil, // remote write and its messages
		false, false, false, // OTLP
		false, // zero samples at start times
		o.Lookback,
		false, // type and unit labels
		false, // metadata by appenders
		overrideStatus,
		registry,
		noDescription(),
		distinctParser{engine.Parser()},
	)
}

// overrideStatus is httpapi.QueryStatus in the form that web/api/v1 wants. The type of its first
// argument is not exported there.
func overrideStatus[N any](_ N, err error) (status int, ok bool) { return httpapi.QueryStatus(err) }
