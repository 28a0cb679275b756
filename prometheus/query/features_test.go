package query

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestFeatures asks experimental queries with and without their features, by both engines.
func TestFeatures(t *testing.T) {
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	for feature, text := range map[string]string{
		FeatureFunctions:      `sort_by_label(vector(1), "a")`,
		FeatureRangeSelectors: `rate(nothing[5m] smoothed) or vector(1)`,
		FeatureFillModifiers:  `vector(1) + fill(2) vector(0)`,
	} {
		for _, engine := range []string{EngineColumns, EnginePrometheus} {
			for _, enabled := range []bool{false, true} {
				o := testAPIOptions(t, store)
				if o.Engine = engine; enabled {
					o.Features = []string{feature}
				}
				status, body := promtest.Do(t, http.MethodGet, apiServer(t, o).URL+Prefix+"/query?time=1&query="+url.QueryEscape(text), nil)
				if enabled && (status != http.StatusOK || !strings.Contains(body, `"1"`)) || !enabled && status != http.StatusBadRequest {
					t.Errorf("%s by %s, enabled: %v: %d %s", text, engine, enabled, status, body)
				}
			}
		}
	}
	o := testAPIOptions(t, store)
	api := New(o)
	for name, api := range map[string]*API{"first": api, "after a reload": api.With(o), "with other limits": api.With(withSamples(o, 1000))} {
		_, body := promtest.Do(t, http.MethodGet, promtest.NewServer(t, api).URL+Prefix+"/features", nil)
		for _, part := range []string{`"subqueries":true`, `"remote_write_receiver":true`, `"humanize":true`, `"keep_firing_for":true`} {
			if !strings.Contains(body, part) {
				t.Errorf("%s: no %s in %s", name, part, body)
			}
		}
	}
	o = DefaultOptions()
	o.Features = []string{strings.Join(Features(), ",")} // as Prometheus' flag
	if _, err := o.Parser().ParseExpr(`sort_by_label(x, "a") + fill(2) rate(x[5m] smoothed)`); err != nil || o.Validate() != nil {
		t.Errorf("%v, %v", err, o.Validate())
	}
	o.Features = []string{FeatureFunctions + ",delayed"}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--query.enable-feature=delayed") {
		t.Errorf("%v", err)
	}
}

func withSamples(o Options, n int) Options {
	o.Samples = n
	return o
}
