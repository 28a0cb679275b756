package query

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// TestKeptAnswers: an answer that is kept is sent byte for byte as one that is evaluated.
func TestKeptAnswers(t *testing.T) {
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Queryable, o.Names, o.Changes, o.Budget = queryable.New(store, names, queryable.Limits{}), names, store, query.NewBudget(1<<30)
	registry := prometheus.NewRegistry()
	o.Registerer, o.Gatherer = registry, registry
	api := New(o)
	const begin, step = 1_700_000_000, 15
	write := func(from, to int64) {
		var b storage.Batch
		for i, v := range []float64{1, 0.1, 1e300, -1e-9, 1.0 / 3} {
			refs, errs := store.Resolve(t.Context(), []storage.Series{names.FromLabels(labels.FromStrings("__name__", "m", "quoted", fmt.Sprintf("%d\"\\\n", i)))})
			if errs != nil {
				t.Fatal(errs)
			}
			for s := from; s < to; s += step {
				if s%7 != int64(i) {
					b.Add(refs[0], s*1000+250, v*float64(s%100/10))
				}
			}
		}
		if err := store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	ask := func(expr string, start, end int64, more string) string {
		form := url.Values{"query": {expr}, "start": {fmt.Sprint(start)}, "end": {fmt.Sprint(end)}, "step": {fmt.Sprint(step)}}
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, Prefix+"/query_range?"+form.Encode()+more, nil)
		if start%2 == 0 {
			r.Header.Set("Accept-Encoding", "gzip, deflate")
		}
		account := o.Budget.Open()
		defer account.Close()
		api.ServeHTTP(w, r.WithContext(query.WithAccount(r.Context(), account)))
		if w.Code != http.StatusOK {
			t.Fatalf("%s: %d %s", expr, w.Code, w.Body)
		}
		if vary := w.Header().Values("Vary"); !slices.Equal(vary, []string{"Accept-Encoding", "Origin"}) {
			t.Fatalf("Vary: %q", vary)
		}
		if start%2 != 0 {
			return w.Body.String()
		}
		if encoding := w.Header().Get("Content-Encoding"); encoding != "gzip" {
			t.Fatalf("the answer is %q", encoding)
		}
		packed, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(packed)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for now := int64(begin + 600); now < begin+1200; now += step {
		write(now-600, now)
		for _, q := range []string{"m", "-m", "sum(m)", "rate(m[1m])", "m > 1", "none", "count_values(\"v\", m)"} {
			for _, end := range []int64{now, now, now + 60} {
				for _, more := range []string{"", "&limit=2", "&stats=all", "&lookback_delta=1m"} {
					if got, want := ask(q, now-600, end, more), ask(q, now-600, end, more+"&nocache=1"); got != want && more != "&stats=all" {
						t.Fatalf("%s to %d%s:\n%s\nwant\n%s", q, end, more, got, want)
					}
				}
			}
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	kept := 0.0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			if f.GetName() == "tsdbridge_query_cache_requests_total" && m.GetLabel()[0].GetValue() != "new" {
				kept += m.GetCounter().GetValue()
			}
		}
	}
	if kept < 400 {
		t.Errorf("%v answers were kept", kept)
	}
}
