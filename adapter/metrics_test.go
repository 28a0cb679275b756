package adapter

import (
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// Every answer of the HTTP port is counted once, by its API and status.
func TestResponsesAreCounted(t *testing.T) {
	o := DefaultOptions()
	o.Engine, o.AdminAPI = tables.EngineMemory, true
	a, _ := runAdapter(t, o)
	for _, c := range []struct{ method, path string }{
		{http.MethodGet, "/"},
		{http.MethodGet, "/-/healthy"},
		{http.MethodGet, "/absent"},
		{http.MethodGet, "/api/v1/status/log"},
		{http.MethodGet, "/api/v1/labels"},
		{http.MethodGet, "/render?target=a&format=json"},
		{http.MethodGet, "/metrics?query=*"},
		{http.MethodGet, "/api/aggregators"},
		{http.MethodPost, trees.SyncPath},
	} {
		promtest.Do(t, c.method, "http://"+a.Addr()+c.path, nil)
	}
	postText(t, "http://"+a.Addr(), `{__name__="up"} 1@1000000`)
	var got []string
	for line := range strings.Lines(servertest.Text(t, a, "/metrics")) {
		if text, ok := strings.CutPrefix(line, "tsdbridge_web_responses_total"); ok && !strings.HasSuffix(text, " 0\n") {
			got = append(got, strings.TrimSpace(text))
		}
	}
	want := `{api="admin",code="200"} 1 {api="graphite",code="200"} 2 {api="opentsdb",code="200"} 1 {api="other",code="200"} 3 {api="other",code="404"} 1 ` +
		`{api="prometheus",code="200"} 1 {api="remote write",code="204"} 1`
	if text := strings.Join(got, " "); text != want {
		t.Errorf("%s, want\n%s", text, want)
	}
}
