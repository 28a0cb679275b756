package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestStatusAnswers: what tells about the server has the fields of a real Prometheus.
func TestStatusAnswers(t *testing.T) {
	needE2E(t)
	t.Parallel()
	peer := startPrometheus(t, "", "--web.enable-remote-write-receiver", "--enable-feature=search-api")
	a := startAdapter(t)
	for _, to := range []client{peer.client, a.client} {
		if r := to.Write(t, federated(time.Now().UnixMilli())...); r.status/100 != 2 {
			t.Fatal(r)
		}
	}
	for _, path := range []string{
		"status/runtimeinfo", "status/buildinfo", "status/walreplay", "status/tsdb", "status/tsdb/blocks", "notifications",
		"alertmanagers", "rules", "alerts", "status/flags", "status/config",
	} {
		want, got := shapeOf(dataOf(t, peer.client, path)), shapeOf(dataOf(t, a.client, path))
		if path == "status/flags" { // the names are each server's own
			want, got = want[:1], got[:1]
		}
		if want != got {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	info, ok := dataOf(t, a.client, "status/runtimeinfo").(map[string]any)
	for _, field := range []string{"startTime", "CWD", "hostname", "serverTime", "lastConfigTime", "goroutineCount", "GOMAXPROCS", "GOMEMLIMIT", "GOGC"} {
		if !ok || info[field] == "" || info[field] == 0.0 {
			t.Errorf("runtimeinfo: no %s in %v", field, info)
		}
	}
	compareFeatures(t, dataOf(t, peer.client, "features"), dataOf(t, a.client, "features"))
}

func dataOf(t *testing.T, c client, path string) any {
	t.Helper()
	r := get(t, c, "/api/v1/"+path, "")
	var answer struct {
		Status string
		Data   any
	}
	if err := json.Unmarshal(r.body, &answer); err != nil || answer.Status != "success" {
		t.Fatalf("%s: %d %s", path, r.status, r.body)
	}
	return answer.Data
}

// shapeOf returns the fields of a JSON value with their types. A list has the shape of its first element.
func shapeOf(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var fields []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			fields = append(fields, key+":"+shapeOf(v[key]))
		}
		return "{" + strings.Join(fields, " ") + "}"
	case []any:
		if len(v) == 0 {
			return "[]"
		}
		return "[" + shapeOf(v[0]) + "]"
	}
	return fmt.Sprintf("%T", v)
}

// compareFeatures expects the names of Prometheus in all that both have, and each value but those that differ on
// purpose.
func compareFeatures(t *testing.T, want, got any) {
	t.Helper()
	theirs, ours := want.(map[string]any), got.(map[string]any)
	differs := map[string]bool{
		"api remote_write_receiver": true, "api otlp_write_receiver": true, // always here
		"otlp_receiver delta_conversion": true, "promql per_step_stats": true, "tsdb st_storage": true,
	}
	nothing := map[string]bool{"scrape": true, "service_discovery_providers": true, "ui": true}
	for category, all := range theirs {
		here, ok := ours[category].(map[string]any)
		if ok == nothing[category] {
			t.Errorf("category %s: %v", category, here)
		}
		for name, value := range all.(map[string]any) {
			own, known := here[name]
			if category == "tsdb" && !known || nothing[category] || differs[category+" "+name] {
				continue
			}
			if own != value {
				t.Errorf("%s %s: %v, want %v", category, name, own, value)
			}
		}
	}
}
