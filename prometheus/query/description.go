package query

import (
	"log/slog"
	"net/http"
	"sync"

	"github.com/grafana/regexp"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

// descriptions returns the module's description of its API, which takes 0.2 s of a core to write. So
// it is written when it is asked for, and not at each start and reload.
func descriptions(logger *slog.Logger) func() *v1.OpenAPIBuilder {
	return sync.OnceValue(func() *v1.OpenAPIBuilder {
		return v1.NewOpenAPIBuilder(v1.OpenAPIOptions{Version: promVersion}, logger)
	})
}

// noDescription keeps the module from writing one.
func noDescription() v1.OpenAPIOptions { return v1.OpenAPIOptions{IncludePaths: []string{"none"}} }

// descriptionHandler serves the description of the API.
type descriptionHandler struct {
	description func() *v1.OpenAPIBuilder
	cors        *regexp.Regexp
}

// ServeHTTP answers as Prometheus does.
func (h *descriptionHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !onlyGet(w, r, h.cors) {
		return
	}
	h.description().ServeOpenAPI(w, r)
}
