package query

import (
	"net/http"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

const noAdmin = "without --web.enable-admin-api there is no admin API"

// notServed returns the paths of Prometheus' API that this adapter lacks, each with the reason. The
// module's own answers would name flags that only Prometheus has.
func notServed(admin bool) map[string]string {
	paths := map[string]string{
		"/otlp/v1/metrics":             "OTLP is received only where samples are taken",
		"/admin/tsdb/snapshot":         noAdmin,
		"/admin/tsdb/compact":          noAdmin,
		"/admin/tsdb/clean_tombstones": noAdmin,
	}
	if !admin {
		paths[deletePath] = noAdmin
	}
	return paths
}

func notFoundHandler(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		httpapi.JSON(w, http.StatusNotFound, httpapi.Frame{Status: "error", ErrorType: "not_found", Error: text})
	})
}
