package query

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// pausingStore calls paused before it finds series.
type pausingStore struct {
	storage.Querier
	paused func(ctx context.Context)
}

func (s pausingStore) Find(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error) {
	s.paused(ctx)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.Querier.Find(ctx, filters, start, end, limit)
}

func demoStore(t *testing.T) storage.Querier {
	t.Helper()
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	promtest.WriteDemo(t, newPromStorage(store))
	return store
}

// The error of a query that was ended because of memory states that. Statistics are made by the
// library.
func TestEndedQuery(t *testing.T) {
	registry := query.NewRegistry()
	o := testAPIOptions(t, pausingStore{demoStore(t), func(context.Context) { registry.EndEstimated() }})
	o.Samples, o.Running = 50_000_000, registry
	form := url.Values{"query": {`count_values("v", requests_total)`}, "start": {"0"}, "end": {"10000"}, "step": {"1"}, "stats": {"all"}}
	status, body := promtest.Do(t, http.MethodPost, apiServer(t, o).URL+Prefix+"/query_range", form)
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, query.MemoryFlag) || !strings.Contains(body, `"errorType":"execution"`) {
		t.Errorf("%d %.300s", status, body)
	}
}

// TestQueries lists queries that are being answered, over columns and by Prometheus' engine, and ends
// them by their ids.
func TestQueries(t *testing.T) {
	for _, stats := range []string{"", "all"} {
		found := make(chan struct{})
		store := pausingStore{demoStore(t), func(ctx context.Context) {
			close(found)
			<-ctx.Done()
		}}
		o := testAPIOptions(t, store)
		o.Running, o.Admin = query.NewRegistry(), true
		server := apiServer(t, o)
		type answer struct {
			status int
			body   string
		}
		answered := make(chan answer)
		go func() {
			form := url.Values{"query": {"sum(requests_total)"}, "time": {"600"}, "stats": {stats}}
			status, body := promtest.Do(t, http.MethodPost, server.URL+Prefix+"/query", form)
			answered <- answer{status, body}
		}()
		<-found
		status, body := promtest.Do(t, http.MethodGet, server.URL+Prefix+"/status/queries", nil)
		var list struct{ Data []runningQuery }
		if err := json.Unmarshal([]byte(body), &list); err != nil || status != http.StatusOK || len(list.Data) != 1 {
			t.Fatal(status, body, err)
		}
		q := list.Data[0]
		if q.Query != "sum(requests_total)" || q.Language != "promql" || q.Client == "" || q.Started.IsZero() || q.Seconds < 0 {
			t.Errorf("%+v", q)
		}
		one := server.URL + Prefix + "/status/queries/"
		if status, body := promtest.Do(t, http.MethodDelete, one+"none", nil); status != http.StatusNotFound || !strings.Contains(body, "no query with the id none") {
			t.Errorf("an unknown id: %d %s", status, body)
		}
		if status, body := promtest.Do(t, http.MethodDelete, one+q.ID, nil); status != http.StatusOK || !strings.Contains(body, q.ID) {
			t.Errorf("%d %s", status, body)
		}
		if a := <-answered; a.status != 499 || !strings.Contains(a.body, `"errorType":"canceled"`) {
			t.Errorf("stats=%s: the query answers %d %s", stats, a.status, a.body)
		}
		if _, body := promtest.Do(t, http.MethodGet, server.URL+Prefix+"/status/queries", nil); !strings.Contains(body, `"data":[]`) {
			t.Errorf("afterwards: %s", body)
		}
	}
}

// TestQueriesRefused: a query is ended with the flag only, and not by scripts of other origins.
func TestQueriesRefused(t *testing.T) {
	for _, c := range []struct {
		admin                bool
		method, path, origin string
		status               int
		want                 string
	}{
		{false, http.MethodDelete, "/x", "", http.StatusForbidden, "--web.enable-admin-api"},
		{false, http.MethodPost, "/x", "", http.StatusForbidden, "--web.enable-admin-api"},
		{true, http.MethodPost, "/x", "", http.StatusNotFound, "no query with the id x"},
		{true, http.MethodPost, "/x", "https://elsewhere.example", http.StatusForbidden, "cross-origin"},
		{true, http.MethodGet, "/x", "", http.StatusMethodNotAllowed, "method GET"},
		{true, http.MethodPost, "", "", http.StatusMethodNotAllowed, "method POST"},
	} {
		o := testAPIOptions(t, &promtest.PlainStore{})
		o.Running, o.Admin = query.NewRegistry(), c.admin
		req, err := http.NewRequestWithContext(t.Context(), c.method, apiServer(t, o).URL+Prefix+"/status/queries"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.origin != "" {
			req.Header.Set("Origin", c.origin)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.status || !strings.Contains(string(body), c.want) {
			t.Errorf("%+v: %d %s, %v", c, resp.StatusCode, body, err)
		}
	}
}

// A query that took long is listed after its end.
func TestSlowQueries(t *testing.T) {
	o := testAPIOptions(t, demoStore(t))
	o.Running = query.NewRegistry()
	o.Running.Watch(1, nil)
	server := apiServer(t, o)
	if status, body := promtest.Do(t, http.MethodGet, server.URL+Prefix+"/query?time=600&query=sum(requests_total)", nil); status != http.StatusOK {
		t.Fatal(body)
	}
	_, body := promtest.Do(t, http.MethodGet, server.URL+slowPath, nil)
	var answer struct {
		Data []struct {
			Query   string
			Seconds float64
			Bytes   int64
			Plan    query.Node
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data) != 1 {
		t.Fatalf("%v %s", err, body)
	}
	const query = "sum(requests_total)"
	if q := answer.Data[0]; q.Query != query || q.Seconds == 0 || q.Bytes == 0 || q.Plan.ID != 1 || q.Plan.Operator != "aggregation" || q.Plan.Expression != query {
		t.Errorf("%s", body)
	}
	if status, _ := promtest.Do(t, http.MethodPost, server.URL+slowPath, url.Values{}); status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", status)
	}
}
