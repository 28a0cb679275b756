package catalog

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/tsdbridge/tsdbridge/storage"
)

// metrics are the figures of the catalogue.
type metrics struct {
	seriesNameless, renamed, discoverRows prometheus.Counter
	refreshSeconds                        prometheus.Histogram
}

func newMetrics(reg prometheus.Registerer, c *Catalog) *metrics {
	f := promauto.With(reg)
	counter := func(name, help string) prometheus.Counter {
		return f.NewCounter(prometheus.CounterOpts{Name: "tsdbridge_store_" + name, Help: help})
	}
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_store_series", Help: "Series in the index."},
		func() float64 { return float64(c.index.Size()) })
	f.NewGaugeFunc(prometheus.GaugeOpts{Name: "tsdbridge_store_uid_cache_entries", Help: "Names and UIDs in the caches."},
		func() float64 { return float64(c.uids.Cached()) })
	for _, kind := range storage.NameKinds() {
		f.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tsdbridge_store_uid_used_ratio", Help: "Share of the UIDs of a kind that is assigned; at 1 series with new names are refused.",
			ConstLabels: prometheus.Labels{"kind": kind.String()},
		}, func() float64 { return c.uids.Used(kind) })
	}
	return &metrics{
		seriesNameless: counter("series_nameless_total", "Series that retention and rollups left out because a UID of theirs has no name; queries of them are errors."),
		renamed:        counter("renamed_uids_total", "UIDs that another process was seen to give other names."),
		discoverRows:   counter("discover_rows_total", "Row keys scanned for series that tsdb-meta lacks."),
		refreshSeconds: f.NewHistogram(prometheus.HistogramOpts{
			Name: "tsdbridge_store_index_refresh_duration_seconds", Help: "Duration of reading tsdb-meta for new series.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10),
		}),
	}
}
