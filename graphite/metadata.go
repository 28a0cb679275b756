package graphite

import (
	"fmt"
	"slices"
)

// Metadata of metrics are what graphite-web asks its caches for. The way to them is broken in
// graphite-web 1.1.10 (metrics/views.py calls methods of a function), so that it answers every
// question with an error of its own; clients know no other answer.

// metadata answers /metrics/get-metadata.
func (a *api) metadata(r *request) (*reply, error) {
	key := "None"
	if r.form.has("key") {
		key = r.form.get("key")
	}
	var results object
	for i, metric := range r.form["metric"] {
		if i < a.o.Limits.Targets && !slices.Contains(r.form["metric"][:i], metric) {
			results = append(results, noLink(metric, "get_metadata(%s, %s)", metric, key))
		}
	}
	return r.metricsReply(func(j *jsonWriter) { j.value(results) })
}

// setMetadata answers /metrics/set-metadata.
func (a *api) setMetadata(r *request) (*reply, error) {
	for _, name := range [...]string{"metric", "key", "value"} {
		if !r.form.has(name) {
			return nil, invalidParams("Missing required parameter '%s'", name)
		}
	}
	metric := r.form.get("metric")
	result := noLink(metric, "set_metadata(%s, %s)", metric, r.form.get("key"))
	return r.metricsReply(func(j *jsonWriter) { j.value(object{result}) })
}

// noLink is graphite-web's answer for a metric.
func noLink(metric, call string, args ...any) member {
	return member{metric, object{{"error", "Unexpected error occurred in CarbonLink." + fmt.Sprintf(call, args...)}}}
}
