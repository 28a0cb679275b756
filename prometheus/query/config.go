package query

import (
	"net/http"

	"github.com/grafana/regexp"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
)

// configHandler shows the configuration. The module would show an empty one of a Prometheus.
type configHandler struct {
	yaml string
	cors *regexp.Regexp
}

// ServeHTTP answers as Prometheus does.
func (h *configHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !onlyGet(w, r, h.cors) {
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: map[string]string{"yaml": h.yaml}})
}
