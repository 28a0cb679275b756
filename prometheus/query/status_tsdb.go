package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/grafana/regexp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/util/httputil"
	v1 "github.com/prometheus/prometheus/web/api/v1"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
)

// cardinalityReader is what status/tsdb needs of a store.
type cardinalityReader interface {
	Cardinality(ctx context.Context, limit int) (storage.Cardinality, error)
}

// tsdbStatusHandler serves status/tsdb in Prometheus' form: the number of series, and what there
// are most of. Chunks are the open hours in memory. The first and the last time are those of whole
// days, 0 on shared tables. Bytes are those of the index.
type tsdbStatusHandler struct {
	store cardinalityReader
	names queryable.Names
	cors  *regexp.Regexp
}

// The default and the largest length of a list, as in Prometheus.
const (
	defaultStatusLimit = 10
	maxStatusLimit     = 10_000
)

func (h *tsdbStatusHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	httputil.SetCORS(w, h.cors, r)
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD, OPTIONS")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	limit := defaultStatusLimit
	if text := r.FormValue("limit"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 {
			httpapi.BadRequest(w, errors.New("limit must be a positive number"))
			return
		}
		if limit > maxStatusLimit {
			httpapi.BadRequest(w, fmt.Errorf("limit must not exceed %d", maxStatusLimit))
			return
		}
	}
	c, err := h.store.Cardinality(r.Context(), limit)
	if err != nil {
		httpapi.JSON(w, http.StatusServiceUnavailable, httpapi.Frame{Status: "error", ErrorType: "unavailable", Error: err.Error()})
		return
	}
	httpapi.JSON(w, http.StatusOK, httpapi.Frame{Status: "success", Data: h.status(c, limit)})
}

func (h *tsdbStatusHandler) status(c storage.Cardinality, limit int) v1.TSDBStatus {
	s := v1.TSDBStatus{
		HeadStats: v1.HeadStats{
			NumSeries: uint64(c.Series), NumLabelPairs: c.Tags + c.Metrics, ChunkCount: int64(c.Rows), MinTime: c.First, MaxTime: c.Last,
		},
		SeriesCountByMetricName: h.metrics(c.SeriesByMetric), LabelValueCountByLabelName: h.labels(c.ValuesByKey),
		MemoryInBytesByLabelName: h.labels(c.BytesByKey), SeriesCountByLabelValuePair: []v1.TSDBStat{},
	}
	for _, n := range c.SeriesByTag {
		if name, ok := h.names.Label(n.Key); ok {
			pair := name + "=" + h.names.LabelValue(n.Value)
			s.SeriesCountByLabelValuePair = append(s.SeriesCountByLabelValuePair, v1.TSDBStat{Name: pair, Value: uint64(n.Count)})
		}
	}
	for _, m := range s.SeriesCountByMetricName {
		s.SeriesCountByLabelValuePair = append(s.SeriesCountByLabelValuePair, v1.TSDBStat{Name: model.MetricNameLabel + "=" + m.Name, Value: m.Value})
	}
	if c.Metrics > 0 {
		s.LabelValueCountByLabelName = append(s.LabelValueCountByLabelName, v1.TSDBStat{Name: model.MetricNameLabel, Value: uint64(c.Metrics)})
	}
	s.SeriesCountByLabelValuePair, s.LabelValueCountByLabelName = largest(s.SeriesCountByLabelValuePair, limit), largest(s.LabelValueCountByLabelName, limit)
	return s
}

func (h *tsdbStatusHandler) metrics(counts []storage.NamedCount) []v1.TSDBStat {
	stats := []v1.TSDBStat{}
	for _, n := range counts {
		if name := h.names.FromMetric(n.Key); name != "" {
			stats = append(stats, v1.TSDBStat{Name: name, Value: uint64(n.Count)})
		}
	}
	return stats
}

func (h *tsdbStatusHandler) labels(counts []storage.NamedCount) []v1.TSDBStat {
	stats := []v1.TSDBStat{}
	for _, n := range counts {
		if name, ok := h.names.Label(n.Key); ok {
			stats = append(stats, v1.TSDBStat{Name: name, Value: uint64(n.Count)})
		}
	}
	return stats
}

// largest sorts stats in descending order and cuts them to a limit. Equal ones keep their order.
func largest(stats []v1.TSDBStat, limit int) []v1.TSDBStat {
	slices.SortStableFunc(stats, func(a, b v1.TSDBStat) int { return cmp.Compare(b.Value, a.Value) })
	return stats[:min(len(stats), limit)]
}
