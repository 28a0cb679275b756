package query

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"github.com/grafana/regexp"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
)

// metadataReader returns what is known about metrics, by their stored names.
type metadataReader interface {
	Metadata(ctx context.Context) (map[string]storage.Metadata, error)
}

// metadataHandler serves GET /api/v1/metadata from the metadata that was written.
type metadataHandler struct {
	metadata metadataReader
	names    queryable.Names
	cors     *regexp.Regexp
}

// metricMetadata is one entry of the answer.
type metricMetadata struct {
	Type string `json:"type"`
	Help string `json:"help"`
	Unit string `json:"unit"`
}

// ServeHTTP answers with the metadata of all metrics, or of the one named by metric.
func (h *metadataHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !onlyGet(w, r, h.cors) {
		return
	}
	limit, perMetric, err := metadataLimits(r)
	if err != nil {
		httpapi.BadRequest(w, err)
		return
	}
	all, err := h.metadata.Metadata(r.Context())
	if err != nil {
		err = httpapi.QueryError(r.Context(), "read metadata", err)
		status, _ := httpapi.QueryStatus(err)
		httpapi.JSON(w, status, httpapi.Frame{Status: "error", ErrorType: "internal", Error: err.Error()})
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: h.selectMetrics(all, r.FormValue("metric"), limit, perMetric)})
}

// metadataLimits returns the limits of a request, negative when they are absent. As in Prometheus,
// a limit of 0 metrics selects none, and 0 per metric selects all.
func metadataLimits(r *http.Request) (metrics, perMetric int, err error) {
	if metrics, err = formInt(r, "limit"); err != nil {
		return 0, 0, errors.New("limit must be a number")
	}
	if perMetric, err = formInt(r, "limit_per_metric"); err != nil {
		return 0, 0, errors.New("limit_per_metric must be a number")
	}
	return metrics, perMetric, nil
}

func formInt(r *http.Request, name string) (int, error) {
	s := r.FormValue(name)
	if s == "" {
		return -1, nil
	}
	return strconv.Atoi(s)
}

// selectMetrics keys the metadata by Prometheus' names of the metrics. A limit keeps the first ones
// in the order of the stored names.
func (h *metadataHandler) selectMetrics(all map[string]storage.Metadata, metric string, limit, perMetric int) map[string][]metricMetadata {
	out := map[string][]metricMetadata{}
	for _, stored := range slices.Sorted(maps.Keys(all)) {
		name := h.names.FromMetric(stored)
		if name == "" || metric != "" && name != metric {
			continue
		}
		entries, known := out[name]
		entry := metricMetadata(all[stored])
		if perMetric > 0 && len(entries) >= perMetric || slices.Contains(entries, entry) {
			continue
		}
		if known || limit < 0 || len(out) < limit {
			out[name] = append(entries, entry)
		}
	}
	return out
}
