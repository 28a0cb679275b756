package query

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/grafana/regexp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
)

// someMetadata is metadata by stored name.
type someMetadata map[string]storage.Metadata

func (m someMetadata) Metadata(context.Context) (map[string]storage.Metadata, error) {
	if _, broken := m["broken"]; broken {
		return nil, promtest.ErrEngine
	}
	return m, nil
}

func testAPIOptions(t testing.TB, q storage.Querier) Options {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewRegistry()
	o := Options{
		Names: names, Queryable: queryable.New(q, names, queryable.Limits{}),
		Metadata: someMetadata{
			"up":       {Type: "gauge", Help: "Is it?"},
			"_-a_3Ab":  {Type: "counter", Help: "Escaped.", Unit: "seconds"},
			"requests": {Type: "counter"},
		},
		Samples: 1000_000, Timeout: time.Minute, Lookback: 5 * time.Minute, Concurrency: 2, Origins: regexp.MustCompile("^$"),
		Flags: map[string]string{"storage.engine": "memory"}, Started: time.Unix(1, 0),
		Logger: slog.New(slog.DiscardHandler), Registerer: reg, Gatherer: reg,
	}
	o.Planner, _ = q.(planner)
	if s, ok := q.(*store.Store); ok {
		o.Catalog = s.Catalog()
	}
	return o
}

func apiServer(t testing.TB, o Options) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(New(o))
	t.Cleanup(s.Close)
	return s
}

// TestAPI requests every endpoint and checks the answers; endpoints that need Prometheus' scraper
// must not panic.
func TestAPI(t *testing.T) {
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	promtest.WriteDemo(t, newPromStorage(store))
	server := apiServer(t, testAPIOptions(t, store))
	for _, tc := range []struct {
		request string
		status  int
		want    string // part of the answer
	}{
		{"GET query?query=1%2B1", 200, `"resultType":"scalar"`},
		{"GET query?query=requests_total&time=600", 200, `"resultType":"vector","result":[{"metric":{"__name__":"requests_total","instance":`},
		{"POST query?query=sum(rate(requests_total[5m]))&time=600&stats=all", 200, `"stats":`},
		{"GET query?query=latency&time=600", 200, `"histogram":[600,{"count":`},
		{"GET query?query=count_over_time(requests_total[1h:])&time=3600", 200, `"60"`},
		{"GET query?query=requests_total%20@%20600%20offset%20-5m&time=1", 200, `"resultType":"vector"`},
		{"GET query?query=up%7B", 400, `"errorType":"bad_data"`},
		{"GET query?query=requests_total%20%2B%20on()%20requests_total&time=600", 422, `"errorType":"execution"`},
		{"GET query_range?query=requests_total&start=0&end=3600&step=60", 200, `"resultType":"matrix"`},
		{"GET query_range?query=requests_total&start=0&end=36000000&step=1", 400, `11,000 points`},
		{"GET query_exemplars?query=requests_total&start=0&end=7200", 200, `"labels":{"trace_id":"a"},"value":"`},
		{"GET query_exemplars?query=nothing&start=0&end=7200", 200, `"data":[]`},
		{"GET series?match[]=latency", 200, `{"__name__":"latency","instance":"c:9090","job":"demo"}`},
		{"POST series?match[]=latency&match[]=latency_float&limit=2", 200, `"results truncated due to limit"`},
		{"GET series", 400, `no match[]`},
		{"GET labels", 200, `"data":["__name__","instance","job"]`},
		{"GET labels?match[]=latency&start=0&end=10", 200, `"data":["__name__","instance","job"]`},
		{"GET label/instance/values", 200, `"data":["a","b","c:9090"]`},
		{"GET label/__name__/values?limit=2", 200, `"data":["changing","in_use"]`},
		{"GET label/U__instance/values?match[]=latency%7Binstance!=%22a%22%7D", 200, `"data":["b","c:9090"]`},
		{"GET label/nothing/values", 200, `"data":[]`},
		{"GET format_query?query=a%2Bb", 200, `"a + b"`},
		{"GET parse_query?query=a%2Bb", 200, `"binaryExpr"`},
		{"GET metadata", 200, `{"status":"success","data":{"a:b":[{"type":"counter","help":"Escaped.","unit":"seconds"}],"requests":[{"type":"counter","help":"","unit":""}],"up":[`},
		{"GET metadata?metric=up", 200, `"data":{"up":[{"type":"gauge","help":"Is it?","unit":""}]}`},
		{"GET metadata?metric=nothing", 200, `"data":{}`},
		{"GET metadata?limit=1", 200, `"data":{"a:b":[{"type":"counter","help":"Escaped.","unit":"seconds"}]}}`},
		{"GET metadata?limit=0", 200, `"data":{}`},
		{"GET metadata?limit=x", 400, `limit must be a number`},
		{"GET metadata?limit_per_metric=x", 400, `limit_per_metric must be a number`},
		{"POST metadata", 405, ``},
		{"GET status/buildinfo", 200, `"version":"` + promVersion + `"`},
		{"GET status/config", 200, `"yaml":`},
		{"GET status/flags", 200, `"storage.engine":"memory"`},
		{"GET status/runtimeinfo", 200, `"reloadConfigSuccess":true`},
		{"GET status/tsdb", 200, `"headStats"`},
		{"GET status/tsdb/blocks", 200, `"blocks":[]`},
		{"GET status/walreplay", 200, `"current":0`},
		{"GET status/self_metrics", 200, `prometheus_engine_queries`},
		{"GET features", 200, `"promql"`},
		{"GET notifications", 200, `"data":[]`},
		{"GET notifications/live", 204, ``},
		{"GET targets", 200, `"activeTargets":[]`},
		{"GET targets/metadata", 200, `"data":[]`},
		{"GET targets/relabel_steps?scrapePool=a&labels=%7B%7D", 400, `nothing is scraped`},
		{"GET scrape_pools", 200, `"scrapePools":[]`},
		{"GET scrape_pools/config?scrapePool=a", 400, `nothing is scraped`},
		{"GET alertmanagers", 200, `"activeAlertmanagers":[]`},
		{"GET rules", 200, `"groups":[]`},
		{"GET alerts", 200, `"alerts":[]`},
		{"GET search/metric_names", 200, `"status":"success"`},
		{"GET search/label_names", 200, `"status":"success"`},
		{"GET search/label_values?label=a", 200, `"status":"success"`},
		{"GET search/label_values", 400, `missing required parameter`},
		{"GET openapi.yaml", 200, `openapi:`},
		{"POST admin/tsdb/delete_series?match[]=up", 404, `web.enable-admin-api`},
		{"POST admin/tsdb/clean_tombstones", 404, `web.enable-admin-api`},
		{"POST admin/tsdb/snapshot", 404, `--web.enable-admin-api`},
		{"POST write", 404, ``},
		{"POST otlp/v1/metrics", 404, `OTLP is received only where`},
		{"GET no/such/path", 404, ``},
		{"OPTIONS query", 204, ``},
	} {
		method, path, _ := strings.Cut(tc.request, " ")
		var form url.Values
		if method == http.MethodPost {
			path, form = postForm(t, path)
		}
		status, body := promtest.Do(t, method, server.URL+"/api/v1/"+path, form)
		if status != tc.status || !strings.Contains(body, tc.want) {
			t.Errorf("%s: %d %.600s\nwant %d %s", tc.request, status, body, tc.status, tc.want)
		}
	}
}

// postForm turns the query of a path into a form.
func postForm(t testing.TB, path string) (string, url.Values) {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	return u.Path, u.Query()
}

// TestAPIStatus: errors of the store get the status of their class, at every endpoint.
func TestAPIStatus(t *testing.T) {
	paths := []string{
		"query?query=up", "query_range?query=up&start=0&end=60&step=60", "query_exemplars?query=up", "series?match[]=up",
		"labels", "labels?match[]=up", "label/a/values", "label/__name__/values", "label/a/values?match[]=up",
	}
	for _, tc := range []struct {
		err    error
		status int
	}{
		{promtest.ErrEngine, 503},
		{storage.ErrNotReady, 503},
		{fmt.Errorf("%w: too many", storage.ErrLimit), 422},
		{fmt.Errorf("%w: bad", storage.ErrInvalid), 400},
	} {
		server := apiServer(t, testAPIOptions(t, failingQuerier{tc.err}))
		for _, path := range paths {
			if status, body := promtest.Do(t, http.MethodGet, server.URL+"/api/v1/"+path, nil); status != tc.status || !strings.Contains(body, tc.err.Error()) {
				t.Errorf("%v: %s: %d %s, want %d", tc.err, path, status, body, tc.status)
			}
		}
	}
}

// failingQuerier returns only an error.
type failingQuerier struct{ err error }

func (q failingQuerier) Find(context.Context, []storage.Filter, int64, int64, int) ([]storage.Found, error) {
	return nil, q.err
}

func (q failingQuerier) Select(context.Context, storage.Query) iter.Seq2[storage.Points, error] {
	return func(yield func(storage.Points, error) bool) { yield(storage.Points{}, q.err) }
}

func (q failingQuerier) SelectParts(context.Context, storage.Query, func() storage.PartWorker) error {
	return q.err
}

func (q failingQuerier) Metrics(context.Context, int64, int64) ([]string, error) { return nil, q.err }

func (q failingQuerier) TagKeys(context.Context, int64, int64) ([]string, error) { return nil, q.err }

func (q failingQuerier) TagValues(context.Context, string, int64, int64) ([]string, error) {
	return nil, q.err
}

// hangingQuerier answers when the context ends.
type hangingQuerier struct{ failingQuerier }

func (hangingQuerier) Find(ctx context.Context, _ []storage.Filter, _, _ int64, _ int) ([]storage.Found, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAPITimeout(t *testing.T) {
	o := testAPIOptions(t, hangingQuerier{})
	o.Timeout = time.Millisecond
	server := apiServer(t, o)
	status, body := promtest.Do(t, http.MethodGet, server.URL+"/api/v1/query?query=up", nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, `"timeout"`) {
		t.Errorf("%d %s, want 503 timeout", status, body)
	}
}

func TestAPINotReady(t *testing.T) {
	missing := fmt.Errorf("%w: table tsdb is missing", storage.ErrNotReady)
	server := apiServer(t, testAPIOptions(t, failingQuerier{missing}))
	for _, request := range []string{"GET query?query=up", "GET series?match[]=up", "GET labels"} {
		method, path, _ := strings.Cut(request, " ")
		status, body := promtest.Do(t, method, server.URL+"/api/v1/"+path, nil)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, missing.Error()) || !json.Valid([]byte(body)) {
			t.Errorf("%s: %d %s", request, status, body)
		}
	}
}

func TestAPIMetadataFails(t *testing.T) {
	o := testAPIOptions(t, failingQuerier{})
	o.Metadata = someMetadata{"broken": {}}
	status, body := promtest.Do(t, http.MethodGet, apiServer(t, o).URL+"/api/v1/metadata", nil)
	if status != http.StatusServiceUnavailable || !strings.Contains(body, promtest.ErrEngine.Error()) {
		t.Errorf("%d %s", status, body)
	}
}

func TestAPIOrigins(t *testing.T) {
	for _, tc := range []struct{ pattern, origin, want string }{
		{"", "https://example.com", ""},
		{".*", "https://example.com", "*"},
		{`https://.*\.example\.com`, "https://a.example.com", "https://a.example.com"},
		{`https://.*\.example\.com`, "https://a.example.com.evil", ""},
	} {
		o := testAPIOptions(t, failingQuerier{})
		o.Origins = regexp.MustCompile("^(?:" + tc.pattern + ")$")
		h := New(o)
		for _, path := range []string{"/api/v1/query?query=1", "/api/v1/metadata"} {
			w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
			r.Header.Set("Origin", tc.origin)
			h.ServeHTTP(w, r)
			if got := w.Header().Get("Access-Control-Allow-Origin"); got != tc.want || w.Code != 200 {
				t.Errorf("%q %s from %s: %d %q, want %q", tc.pattern, path, tc.origin, w.Code, got, tc.want)
			}
		}
	}
}

// TestPromVersion ties the version that is reported to the module in go.mod.
func TestPromVersion(t *testing.T) {
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`github.com/prometheus/prometheus v0\.(\d)(\d\d)\.(\d+)`).FindStringSubmatch(string(mod))
	if m == nil {
		t.Fatal("go.mod does not name the module")
	}
	if want := fmt.Sprintf("%s.%s.%s", m[1], strings.TrimPrefix(m[2], "0"), m[3]); promVersion != want {
		t.Errorf("promVersion %s, want %s", promVersion, want)
	}
}
