package query

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// TestFederation: the newest samples within the lookback, with their times and the external labels. In e2e the answers
// are compared with those of a Prometheus.
func TestFederation(t *testing.T) {
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	now := promtest.Now()
	at := now.UnixMilli()
	put := func(ls labels.Labels, times []int64, values ...float64) {
		refs, errs := store.Resolve(t.Context(), []storage.Series{names.FromLabels(ls)})
		if errs != nil {
			t.Fatal(errs)
		}
		var b storage.Batch
		for i, v := range values {
			b.Add(refs[0], times[i], v)
		}
		if err := store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	put(labels.FromStrings("__name__", "up", "job", "a"), []int64{at - 2000, at}, 0, 1)
	put(labels.FromStrings("__name__", "up", "instance", "x", "region", "us"), []int64{at - 300_000}, 2)
	put(labels.FromStrings("__name__", "down", "job", "a"), []int64{at - 5}, math.Inf(1))
	put(labels.FromStrings("__name__", "old"), []int64{at - 300_001}, 1)
	put(labels.FromStrings("__name__", "late"), []int64{at + 1}, 1)
	put(labels.FromStrings("__name__", "stale"), []int64{at - 2, at - 1}, 1, math.Float64frombits(value.StaleNaN))
	o := DefaultOptions()
	o.Queryable, o.Names, o.Budget = queryable.New(store, names, queryable.Limits{Series: 5}), names, query.NewBudget(1<<30)
	o.Registerer, o.ExternalLabels = prometheus.NewRegistry(), map[string]string{"region": "eu"}
	f := New(o).Federation()
	f.now = func() time.Time { return now }
	ask := func(method string, selectors ...string) string {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequest(method, FederatePath+"?"+url.Values{"match[]": selectors}.Encode(), nil))
		return fmt.Sprintf("%d %s", w.Code, w.Body)
	}
	want := fmt.Sprintf(`200 # TYPE down untyped
down{job="a",instance="",region="eu"} +Inf %d
# TYPE up untyped
up{instance="x",region="us"} 2 %d
up{job="a",instance="",region="eu"} 1 %d
`, at-5, at-300_000, at)
	if diff := cmp.Diff(want, ask(http.MethodGet, `up`, `{job="a"}`, "old", "late", "stale")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for selector, want := range map[string]string{"": "400 ", "up{": "400 ", `{__name__=~".+"}`: "422 "} {
		if got := ask(http.MethodGet, selector); got[:4] != want {
			t.Errorf("%s: %s", selector, got)
		}
	}
	for _, selectors := range [][]string{nil, {"{}"}} {
		if got := ask(http.MethodGet, selectors...); got != "200 " {
			t.Error(selectors, got)
		}
	}
	if got := ask(http.MethodPost, "up"); got[:3] != "405" {
		t.Error(got)
	}

	r := httptest.NewRequest(http.MethodGet, FederatePath+"?match[]=down", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	unpacked, err := gzip.NewReader(w.Body)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(unpacked)
	if want := fmt.Sprintf("# TYPE down untyped\ndown{job=\"a\",instance=\"\",region=\"eu\"} +Inf %d\n", at-5); err != nil || string(text) != want {
		t.Errorf("compressed: %q, %v, want %q", text, err, want)
	}
}

// TestSharedScrapes: equal scrapes that come while one is computed are answered by one more.
func TestSharedScrapes(t *testing.T) {
	var reads atomic.Int64
	entered, proceed := make(chan struct{}, 1000), make(chan struct{})
	o := testAPIOptions(t, pausingStore{demoStore(t), func(ctx context.Context) {
		reads.Add(1)
		entered <- struct{}{}
		select {
		case <-proceed:
		case <-ctx.Done():
		}
	}})
	o.Budget, o.Running = query.NewBudget(1<<30), query.NewRegistry()
	f := New(o).Federation()
	f.now = func() time.Time { return time.UnixMilli(600_000) }
	ask := func(selector string) string {
		w := httptest.NewRecorder()
		f.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, FederatePath+"?"+url.Values{"match[]": {selector}}.Encode(), nil))
		return fmt.Sprintf("%d %s", w.Code, w.Body)
	}
	bodies := make([]string, 20)
	var all sync.WaitGroup
	all.Go(func() { bodies[0] = ask("requests_total") })
	<-entered
	for i := range bodies[1:] {
		all.Go(func() { bodies[1+i] = ask("requests_total") })
	}
	for len(o.Running.List()) < len(bodies) {
		time.Sleep(time.Millisecond)
	}
	close(proceed)
	all.Wait()
	for _, body := range bodies {
		if body != bodies[0] || !strings.HasPrefix(body, "200 # TYPE") {
			t.Errorf("%s\nand %s", bodies[0], body)
		}
	}
	if n := reads.Load(); n > 5 { // a request may be listed before it waits
		t.Errorf("series were found %d times", n)
	}
	if got := ask("up{"); got[:3] != "400" {
		t.Error(got)
	}
}
