package queries_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
)

// TestLast asks for the newest points of series that were put a moment ago, as text of what they
// were put as.
func TestLast(t *testing.T) {
	address := tsdtest.Start(t)
	now := time.Now().Unix()
	body := fmt.Sprintf(`[{"metric":"m","timestamp":%d,"value":41,"tags":{"host":"a"}},{"metric":"m","timestamp":%d,"value":42,"tags":{"host":"a"}},
		{"metric":"m","timestamp":%d,"value":1.5,"tags":{"host":"a","cpu":"0"}},{"metric":"m","timestamp":1356998400,"value":1,"tags":{"host":"old"}}]`, now-20, now-10, now-10)
	send := func(method, path, body string) string {
		request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if text := send(http.MethodPost, "/api/put", body); text != "" {
		t.Fatal(text)
	}
	alone := fmt.Sprintf(`[{"metric":"m","timestamp":%d000,"value":"42","tags":{"host":"a"},"tsuid":"000001000001000001"}]`, now-10)
	both := fmt.Sprintf(`[{"timestamp":%d000,"value":"42","tsuid":"000001000001000001"},{"timestamp":%d000,"value":"1.5","tsuid":"000001000001000001000002000002"}]`, now-10, now-10)
	byTSUID := fmt.Sprintf(`[{"timestamp":%d000,"value":"42","tsuid":"000001000001000001"}]`, now-10)
	for _, c := range []struct{ method, path, body, want string }{
		{"GET", "/api/query/last?timeseries=m%7Bhost=a%7D&back_scan=2&resolve", "", alone},
		{"GET", "/api/query/last?timeseries=m%7Bhost=a%7D", "", both},
		{"GET", "/api/query/last?tsuids=000001000001000001&back_scan=2", "", byTSUID},
		{"POST", "/api/query/last", `{"queries":[{"metric":"m","tags":{"host":"a"}}],"resolveNames":true,"backScan":2}`, alone},
		{"GET", "/api/query/last?timeseries=m%7Bhost=old%7D&back_scan=2", "", "[]"},
	} {
		if d := cmp.Diff(c.want, send(c.method, c.path, c.body)); d != "" {
			t.Errorf("%s %s: %s", c.method, c.path, d)
		}
	}
	for path, want := range map[string]string{
		"/api/query/last":                               "Missing sub queries",
		"/api/query/last?timeseries=m&back_scan=1":      "Tags cannot be null or empty when getting a TSUID",
		"/api/query/last?timeseries=nope%7Bhost=a%7D":   "No such name for 'metrics': 'nope'",
		"/api/query/last?tsuids=00zz":                   "For input string",
		"/api/query/last?tsuids=000001&back_scan=bogus": "Unable to parse back_scan parameter",
	} {
		if got := send("GET", path, ""); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", path, got, want)
		}
	}
}
