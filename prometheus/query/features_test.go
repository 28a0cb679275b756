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
	o := DefaultOptions()
	o.Features = []string{"delayed"}
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--query.enable-feature=delayed") {
		t.Errorf("%v", err)
	}
}
