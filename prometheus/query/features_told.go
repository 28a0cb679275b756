package query

import (
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/features"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

// tell registers what is served besides PromQL, which registers itself. There is nothing of scraping and of
// Prometheus' own TSDB but what this store keeps, too.
func (o Options) tell(r features.Collector) {
	for name, enabled := range map[string]bool{
		"admin": o.Admin, "lifecycle": o.Lifecycle, "search": true, "remote_write_receiver": true, "otlp_write_receiver": true,
		"label_values_match": true, "query_warnings": true, "query_stats": true, "time_range_series": true, "time_range_labels": true,
		"exclude_alerts": true, "openapi_3.1": true, "openapi_3.2": true,
	} {
		r.Set(features.API, name, enabled)
	}
	for _, algorithm := range v1.FuzzAlgorithms() {
		r.Enable(features.API, "search_fuzz_alg_"+algorithm)
	}
	r.Enable(features.OTLPReceiver, "delta_conversion")
	r.Disable(features.OTLPReceiver, "native_delta_ingestion")
	r.Disable(features.Prometheus, "agent_mode")
	r.Enable(features.Prometheus, "server_mode")
	r.Disable(features.Prometheus, "auto_reload_config")
	r.Enable(features.Prometheus, labels.ImplementationName)
	r.Disable(features.Rules, "concurrent_rule_eval")
	r.Enable(features.Rules, "keep_firing_for")
	r.Enable(features.Rules, "query_offset")
	r.Enable(features.TSDB, "exemplar_storage")
	r.Enable(features.TSDB, "native_histograms")
	r.Enable(features.TSDB, "st_storage")
	template.RegisterFeatures(r)
}
