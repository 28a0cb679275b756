package api

import (
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
)

// Metadata of metrics are what graphite-web asks its caches for. The way to them is broken in
// graphite-web 1.1.10 (metrics/views.py calls methods of a function), so that it answers every
// question with an error of its own; clients know no other answer.

// metadata answers /metrics/get-metadata.
func (a *API) metadata(r *exchange.Request) (*exchange.Reply, error) {
	key := "None"
	if r.Params.Has("key") {
		key = r.Params.Get("key")
	}
	var results pyjson.Object
	for i, metric := range r.Params["metric"] {
		if i < a.o.Limits.Targets && !slices.Contains(r.Params["metric"][:i], metric) {
			results = append(results, noLink(metric, "get_metadata(%s, %s)", metric, key))
		}
	}
	return r.MetricsReply(func(j *pyjson.Writer) { j.Value(results) })
}

// setMetadata answers /metrics/set-metadata.
func (a *API) setMetadata(r *exchange.Request) (*exchange.Reply, error) {
	for _, name := range [...]string{"metric", "key", "value"} {
		if !r.Params.Has(name) {
			return nil, exchange.InvalidParams("Missing required parameter '%s'", name)
		}
	}
	metric := r.Params.Get("metric")
	result := noLink(metric, "set_metadata(%s, %s)", metric, r.Params.Get("key"))
	return r.MetricsReply(func(j *pyjson.Writer) { j.Value(pyjson.Object{result}) })
}

// noLink is graphite-web's answer for a metric.
func noLink(metric, call string, args ...any) pyjson.Member {
	return pyjson.Member{Key: metric, Value: pyjson.Object{{Key: "error", Value: "Unexpected error occurred in CarbonLink." + fmt.Sprintf(call, args...)}}}
}
