package query

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// The data of TestManyLargeQueries, and the queries that are asked at once.
const (
	largeSeries = 1600
	largePoints = 360
	largeAsked  = 64
	largeTimes  = 10 // timeout, in times of a query alone
)

// TestManyLargeQueries: of many different queries with a timeout about as many are answered as if they
// were evaluated one after the other (none were when they computed by turns), and a small one is
// answered at once. Tests of turns have the exact numbers.
func TestManyLargeQueries(t *testing.T) {
	api := largeAPI(t)
	alone := time.Duration(0)
	for i := range 3 {
		status, took := askLarge(api, 1000+i, time.Minute)
		if status != http.StatusOK {
			t.Fatal(status)
		}
		alone = max(alone, took)
	}
	timeout := largeTimes * alone
	statuses := make([]int, largeAsked)
	begin := time.Now()
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() { statuses[i], _ = askLarge(api, i, timeout) })
	}
	time.Sleep(alone) // all are under way
	_, small := ask(api, "/query", url.Values{"query": {`m{i="1"}`}, "time": {"3600"}}, "192.0.2.2:1")
	all.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	t.Logf("one alone %v; with a timeout of %v: %v in %v; a small one %v", alone, timeout, count, time.Since(begin), small)
	if count[http.StatusOK] < largeTimes/3 || count[http.StatusOK]+count[http.StatusServiceUnavailable] != largeAsked {
		t.Errorf("the answers are %v", count)
	}
	if small > max(time.Second, 2*alone) {
		t.Errorf("a small query took %v", small)
	}
}

// TestManyMiddleQueries is the same with queries of less than 0.1 s: those that begin end.
func TestManyMiddleQueries(t *testing.T) {
	api := largeAPI(t)
	ask := func(i int, timeout time.Duration) (int, time.Duration) {
		return askSteps(api, i, 600, timeout)
	}
	alone := time.Duration(0)
	for i := range 5 {
		status, took := ask(1000+i, time.Minute)
		if status != http.StatusOK {
			t.Fatal(status)
		}
		alone = max(alone, took)
	}
	statuses := make([]int, largeAsked)
	var all sync.WaitGroup
	for i := range statuses {
		all.Go(func() { statuses[i], _ = ask(i, largeTimes*alone) })
	}
	all.Wait()
	count := map[int]int{}
	for _, status := range statuses {
		count[status]++
	}
	t.Logf("one alone %v: %v", alone, count)
	if count[http.StatusOK] < largeTimes/3 || count[http.StatusOK]+count[http.StatusServiceUnavailable] != largeAsked {
		t.Errorf("one alone %v: the answers are %v", alone, count)
	}
}

func largeAPI(t testing.TB) *API {
	t.Helper()
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	o := testAPIOptions(t, store)
	o.Budget, o.Running, o.Concurrency = query.NewBudget(1<<30), query.NewRegistry(), 20
	o.Queryable = queryable.New(store, o.Names, queryable.Limits{})
	batch := &storage.Batch{}
	for i := range largeSeries {
		ls := labels.FromStrings("__name__", "m", "i", fmt.Sprint(i))
		refs, errs := store.Resolve(t.Context(), []storage.Series{newPromStorage(store).Names.FromLabels(ls)})
		if errs != nil && errs[0] != nil {
			t.Fatal(errs[0])
		}
		for p := range int64(largePoints) {
			batch.Add(refs[0], p*10_000, float64(p*7919%1000))
		}
	}
	if err := store.Append(t.Context(), batch); err != nil {
		t.Fatal(err)
	}
	return New(o)
}

func askLarge(api *API, i int, timeout time.Duration) (int, time.Duration) {
	return askSteps(api, i, 3600, timeout)
}

func askSteps(api *API, i, end int, timeout time.Duration) (int, time.Duration) {
	return ask(api, "/query_range", url.Values{
		"query": {fmt.Sprintf("sum(quantile_over_time(0.%04d, m[30m]))", i)}, "timeout": {fmt.Sprintf("%.3f", timeout.Seconds())},
		"start": {"0"}, "end": {strconv.Itoa(end)}, "step": {"10"},
	}, "192.0.2.1:1")
}

// BenchmarkInstantQuery is a query alone: of a millisecond, and of middle size.
func BenchmarkInstantQuery(b *testing.B) {
	api := largeAPI(b)
	for name, query := range map[string]string{"small": `m{i="1"}`, "middle": "sum(quantile_over_time(0.5, m[1h]))"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if status, _ := ask(api, "/query", url.Values{"query": {query}, "time": {"3600"}}, "192.0.2.2:1"); status != http.StatusOK {
					b.Fatal(status)
				}
			}
		})
	}
}

func ask(api *API, path string, form url.Values, client string) (int, time.Duration) {
	r := httptest.NewRequest(http.MethodGet, Prefix+path+"?"+form.Encode(), nil)
	r.RemoteAddr = client
	w := httptest.NewRecorder()
	begin := time.Now()
	api.ServeHTTP(w, r)
	return w.Code, time.Since(begin)
}
