package query

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Every endpoint that parses a query or a selector refuses texts that would occupy its parser for
// long, before it parses them.
func TestTextBounds(t *testing.T) {
	server := apiServer(t, testAPIOptions(t, promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))))
	rep := strings.Repeat
	texts := map[string]string{
		"parentheses": rep("(", 30000) + "a" + rep(")", 30000),
		"signs":       rep("-", 100_000) + "a",
		"functions":   rep("abs(", 20000) + "a" + rep(")", 20000),
		"sums":        rep("a+", 50000) + "a",
		"matchers":    `a{` + rep(`b="c",`, 50000) + `}`,
		"repetitions": `a{b=~"` + rep("(a{1000})", 3000) + `"}`,
		"nested":      `a{b=~"((((a{1000}){1000}){1000}){1000})"}`,
		"long":        rep("a", 2<<20),
	}
	for _, e := range []struct{ path, parameter string }{
		{"query", "query"},
		{"query_range", "query"},
		{"query_exemplars", "query"},
		{"format_query", "query"},
		{"parse_query", "query"},
		{"series", "match[]"},
		{"labels", "match[]"},
		{"label/a/values", "match[]"},
		{"status/plan", "match[]"},
		{"targets/metadata", "match_target"},
	} {
		for name, text := range texts {
			if e.path != "query" && name != "parentheses" && name != "repetitions" {
				continue // all are checked in one place
			}
			form := url.Values{e.parameter: {text}, "start": {"0"}, "end": {"1"}, "step": {"1"}}
			method, address := http.MethodPost, server.URL+Prefix+"/"+e.path
			if strings.Contains(e.path, "/") { // these are GET alone
				if len(form.Encode()) > 900_000 {
					continue // no server takes such a head
				}
				method, address, form = http.MethodGet, address+"?"+form.Encode(), nil
			}
			begin := time.Now()
			status, body := promtest.Do(t, method, address, form)
			if status != http.StatusBadRequest || !strings.Contains(body, `"errorType":"bad_data"`) || !strings.Contains(body, "query too large") {
				t.Errorf("%s of %s: %d %.300s", name, e.path, status, body)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%s of %s took %v", name, e.path, took)
			}
		}
	}
	status, body := promtest.Do(t, http.MethodPost, server.URL+Prefix+"/series", url.Values{"match[]": make([]string, 2000)})
	if status != http.StatusBadRequest || !strings.Contains(body, "2000 selectors") {
		t.Errorf("many selectors: %d %.300s", status, body)
	}
	status, body = promtest.Do(t, http.MethodPost, server.URL+Prefix+"/search/label_values", url.Values{"label": {"a"}, "search[]": {"b", rep("x", 2000)}})
	if status != http.StatusBadRequest || !strings.Contains(body, "2000 bytes to search for") {
		t.Errorf("a long search: %d %.300s", status, body)
	}
	status, body = promtest.Do(t, http.MethodPost, server.URL+Prefix+"/query", url.Values{"query": {"1"}, "x": {rep("x", maxForm)}})
	if status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d %.300s", status, body)
	}
	status, body = promtest.Do(t, http.MethodPost, server.URL+Prefix+"/format_query", url.Values{"query": {rep(`a{b="`+rep("x", 2000)+`"}+`, 250) + "a"}})
	if status != http.StatusBadRequest || !strings.Contains(body, "format") {
		t.Errorf("format_query: %d %.300s", status, body)
	}
}

// A query that is too expensive is refused before it is evaluated, and the error names the flag.
func TestCostBounds(t *testing.T) {
	o := testAPIOptions(t, promtest.OpenStore(t, kv.NewMem(promtest.Tables()...)))
	o.Samples = 50_000_000
	server := apiServer(t, o)
	for _, query := range []string{
		`count_over_time(vector(1)[100y:1ms])`, `count_over_time(vector(1)[30d:1ms])`, `vector(1)[100y:1ms]`, `sum(1 + sum_over_time(vector(1)[100y:] @ end() offset 1d))`,
		`max_over_time(max_over_time(vector(1)[10d:1s])[10d:1s])`, `quantile_over_time(time() % 1, vector(1)[250d:1s] @ 0)`,
	} {
		for _, path := range []string{"query", "query_range"} {
			if path == "query_range" && !strings.Contains(query, "(vector") {
				continue // no range query
			}
			if path == "query" && strings.HasPrefix(query, "quantile") {
				continue // dear, but not for one step
			}
			begin := time.Now()
			status, body := promtest.Do(t, http.MethodPost, server.URL+Prefix+"/"+path, url.Values{"query": {query}, "start": {"0"}, "end": {"10000"}, "step": {"1"}})
			if status != http.StatusUnprocessableEntity || !strings.Contains(body, `"errorType":"execution"`) || !strings.Contains(body, "--query.max-samples") {
				t.Errorf("%s of %s: %d %.300s", path, query, status, body)
			}
			if took := time.Since(begin); took > 10*time.Second {
				t.Errorf("%s of %s took %v", path, query, took)
			}
		}
	}
}

// blockedStore finds nothing until the request has ended.
type blockedStore struct {
	storage.Querier
	asked chan struct{}
}

// Find reports that it was called and blocks until the end of the request; when the test no longer
// listens, it answers.
func (s blockedStore) Find(ctx context.Context, f []storage.Filter, from, to int64, limit int) ([]storage.Found, error) {
	select {
	case <-s.asked:
		return s.Querier.Find(ctx, f, from, to, limit)
	default:
	}
	close(s.asked)
	<-ctx.Done()
	return nil, ctx.Err()
}

// Queries are answered while another holds the only turn, whether they read anything or not.
func TestShortQueriesDoNotWait(t *testing.T) {
	store := blockedStore{promtest.OpenStore(t, kv.NewMem(promtest.Tables()...)), make(chan struct{})}
	o := testAPIOptions(t, store)
	o.Concurrency = 1
	server := apiServer(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	long, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+Prefix+"/query?query=x", nil)
	if err != nil {
		t.Fatal(err)
	}
	var done sync.WaitGroup
	done.Go(func() {
		if resp, err := http.DefaultClient.Do(long); err == nil {
			resp.Body.Close()
		}
	})
	<-store.asked
	for _, query := range []string{"1 + 1", "up", "count(up)", "up + on () up"} {
		if status, body := promtest.Do(t, http.MethodPost, server.URL+Prefix+"/query", url.Values{"query": {query}}); status != http.StatusOK {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	cancel()
	done.Wait()
}

// budgeted serves a query API with a budget.
func budgeted(t *testing.T, o Options, b *query.Budget) *httptest.Server {
	t.Helper()
	return promtest.NewServer(t, query.Accounts(b)(New(o)))
}

// Each kind of answer takes its memory from the budget first, and releases it.
func TestQueriesAreCharged(t *testing.T) {
	p := newMemStorage(t)
	for i := range 300 {
		times := make([]int64, 100)
		for j := range times {
			times[j] = int64(j) * 15_000
		}
		p.Write(t, promtest.Labels(t, `up{instance="`+strings.Repeat("i", i+1)+`"}`), times...)
	}
	requests := map[string]url.Values{
		"query":          {"query": {"up"}, "time": {"60"}},
		"query_range":    {"query": {"rate(up[5m])"}, "start": {"0"}, "end": {"1500"}, "step": {"1"}},
		"query_range?l":  {"query": {"rate(up[5m]) > on (instance) up"}, "start": {"0"}, "end": {"1500"}, "step": {"1"}},
		"query?matrix":   {"query": {"up[1h]"}, "time": {"1500"}},
		"query?subquery": {"query": {"count_over_time(vector(1)[1h:10ms])"}, "time": {"1500"}},
		"series":         {"match[]": {"up"}},
		"labels":         {"match[]": {"up"}},
	}
	for path, form := range requests {
		for _, c := range []struct {
			limit, others int64
			status        int
			kind          string
		}{{1 << 30, 0, 200, ""}, {20_000, 0, 422, "execution"}, {1 << 30, 1<<30 - 20_000, 503, "unavailable"}} {
			b := query.NewBudget(c.limit)
			promtest.OthersHold(t, b, c.others)
			o := testAPIOptions(t, p.stored)
			status, body := promtest.Do(t, http.MethodPost, budgeted(t, o, b).URL+Prefix+"/"+path, form)
			if status != c.status || c.kind != "" && (!strings.Contains(body, `"errorType":"`+c.kind+`"`) || !strings.Contains(body, query.MemoryFlag)) {
				t.Errorf("%s with a budget of %d: %d %.300s", path, c.limit-c.others, status, body)
			}
			if held := b.Used() - c.others; held != 0 {
				t.Errorf("%s with a budget of %d: %d bytes are held afterwards", path, c.limit-c.others, held)
			}
		}
	}
}
