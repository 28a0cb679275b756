package query

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/reply"
)

// notServed returns the paths of Prometheus' API that this adapter lacks, each with the reason. The
// module's own answers would name flags that only Prometheus has.
func notServed() map[string]string {
	const admin = "without --web.enable-admin-api there is no admin API"
	return map[string]string{
		"/otlp/v1/metrics":             "OTLP is not received here; remote write is, at " + Prefix + "/write",
		"/admin/tsdb/snapshot":         admin,
		"/admin/tsdb/compact":          admin,
		"/admin/tsdb/delete_series":    "series are not deleted through this API; --storage.retention deletes by age",
		"/admin/tsdb/clean_tombstones": "there are no tombstones here",
		"/search/metric_names":         "search is not served here",
		"/search/label_names":          "search is not served here",
		"/search/label_values":         "search is not served here",
	}
}

func notFoundHandler(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reply.JSON(w, http.StatusNotFound, reply.Frame{Status: "error", ErrorType: "not_found", Error: text})
	})
}
