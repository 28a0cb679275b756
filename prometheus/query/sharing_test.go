package query

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// TestSharedQueries: equal queries under way are one evaluation, whatever they return, and have the
// same bytes. The time of the first one ends the first one alone.
func TestSharedQueries(t *testing.T) {
	rangeForm := url.Values{"start": {"0"}, "end": {"600"}, "step": {"60"}}
	for _, c := range []struct {
		path, query string
		form        url.Values
	}{
		{"/query_range", "rate(requests_total[5m])", rangeForm},
		{"/query_range", "rate(requests_total[5m] @ end())", rangeForm},
		{"/query_range", "absent(none)", rangeForm},
		{"/query_range", `histogram_quantile(0.5, requests_total)`, rangeForm}, // with annotations
		{"/query_range", `requests_total * on() requests_total`, rangeForm},    // fails
		{"/query", "requests_total", url.Values{"time": {"600"}}},
		{"/query", "requests_total[5m]", url.Values{"time": {"600"}}},
		{"/query", "sum(requests_total)", url.Values{"time": {"600"}, "stats": {"all"}}},
		{"/query", "sum(requests_total)", url.Values{}},
	} {
		var finds atomic.Int64
		entered, proceed := make(chan struct{}, 1000), make(chan struct{})
		pausing := pausingStore{demoStore(t), func(ctx context.Context) {
			finds.Add(1)
			entered <- struct{}{}
			select {
			case <-proceed:
			case <-ctx.Done():
			}
		}}
		o := testAPIOptions(t, pausing)
		o.Changes, _ = pausing.Querier.(*store.Store)
		o.CacheBytes, o.Budget, o.Running = 1<<20, query.NewBudget(1<<30), query.NewRegistry()
		server := apiServer(t, o)
		ask := func(timeout string) (int, string) {
			form := url.Values{"query": {c.query}, "timeout": {timeout}}
			maps.Copy(form, c.form)
			return promtest.Do(t, http.MethodPost, server.URL+Prefix+c.path, form)
		}
		var all sync.WaitGroup
		all.Go(func() {
			if status, body := ask("0.2"); status != http.StatusServiceUnavailable {
				t.Errorf("%s: the first: %d %s", c.query, status, body)
			}
		})
		<-entered
		const askers = 20
		bodies := make([]string, askers)
		for i := range bodies {
			all.Go(func() { _, bodies[i] = ask("60") })
		}
		for len(o.Running.List()) < askers+1 { // all of them are under way
			time.Sleep(time.Millisecond)
		}
		for len(o.Running.List()) > askers { // the first has given up
			time.Sleep(time.Millisecond)
		}
		close(proceed)
		all.Wait()
		for i := range bodies {
			if c.form.Get("stats") == "" && bodies[i] != bodies[0] || bodies[i] == "" {
				t.Errorf("%s: %s\nand %s", c.query, bodies[0], bodies[i])
			}
		}
		perEvaluation := int64(1)
		if c.query == `requests_total * on() requests_total` {
			perEvaluation = 2
		}
		// Of some it is not known what changes: they wait for the next evaluation.
		if n := finds.Load(); n > 2*perEvaluation {
			t.Errorf("%s: series were found %d times", c.query, n)
		}
	}
}

// TestSharedNeverOlder asks while points are written: no answer is older than what was acknowledged
// before its query was asked.
func TestSharedNeverOlder(t *testing.T) {
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	o := testAPIOptions(t, store)
	o.Changes, o.Budget, o.Concurrency = store, query.NewBudget(1<<30), 20
	o.CacheBytes = 1 << 20
	o.Queryable = queryable.New(store, o.Names, queryable.Limits{})
	server := apiServer(t, o)
	ls := labels.FromStrings("__name__", "written")
	refs, errs := store.Resolve(t.Context(), []storage.Series{newPromStorage(store).Names.FromLabels(ls)})
	if errs != nil {
		t.Fatal(errs)
	}
	const begin = 1_700_000_000
	var acknowledged atomic.Int64
	write := func(n int64) {
		var b storage.Batch
		b.Add(refs[0], begin*1000+n, float64(n))
		if err := store.Append(t.Context(), &b); err != nil {
			t.Error(err)
		}
		acknowledged.Store(n)
	}
	write(1)
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		for n := int64(2); ctx.Err() == nil; n++ {
			write(n)
			time.Sleep(time.Duration(n%7) * time.Millisecond)
		}
	})
	for i := range 8 {
		path := []string{
			fmt.Sprintf("/query?query=count_over_time(written[1h])&time=%d", begin+1000),
			fmt.Sprintf("/query?query=written&time=%d", begin+60),
			fmt.Sprintf("/query_range?query=written&start=%d&end=%d&step=60", begin+60, begin+60),
			fmt.Sprintf("/query_range?query=max_over_time(written[1h]@end())&start=%d&end=%d&step=60", begin+1000, begin+1000),
		}[i%4]
		all.Go(func() {
			for ctx.Err() == nil {
				before := acknowledged.Load()
				_, body := promtest.Do(t, http.MethodGet, server.URL+Prefix+path, nil)
				if got := lastValue(t, body); got < before {
					t.Errorf("%s: %d, but %d were acknowledged before", path, got, before)
					return
				}
			}
		})
	}
	all.Wait()
}

// lastValue returns the value of an answer with one series.
func lastValue(t *testing.T, body string) int64 {
	var answer struct {
		Data struct {
			Result []struct {
				Value  [2]any
				Values [][2]any
			}
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Data.Result) != 1 {
		t.Errorf("%v: %s", err, body)
		return 0
	}
	value := answer.Data.Result[0].Value
	if values := answer.Data.Result[0].Values; len(values) > 0 {
		value = values[len(values)-1]
	}
	text, _ := value[1].(string)
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Error(err)
	}
	return int64(n)
}
