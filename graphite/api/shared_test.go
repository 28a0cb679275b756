package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/carbonapi"
	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/pyjson"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// askedStore calls asked whenever it is asked for points.
type askedStore struct {
	storage.Querier
	asked func(ctx context.Context)
}

func (s *askedStore) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	s.asked(ctx)
	return s.Querier.SelectParts(ctx, q, worker)
}

// newAsked returns an API over some series, whose store calls asked.
func newAsked(t *testing.T, asked func(ctx context.Context)) (*web, *query.Registry, *query.Budget) {
	registry := query.NewRegistry()
	w := newWeb(t, func(o *Options) {
		o.Store, o.Running = &askedStore{o.Store, asked}, registry
	})
	var lines strings.Builder
	for i := range 5 {
		for at := range 60 {
			fmt.Fprintf(&lines, "a.b%d %d.5 %d\n", i, i*at%17, webNow-60*at)
		}
	}
	w.Add(t, strings.NewReader(lines.String()))
	return w, registry, query.NewBudget(1 << 30)
}

// TestSharedRenders: equal requests under way are one evaluation and one more, in each format, and have
// the bytes that each would have alone. That the first one goes away is nothing to the others.
func TestSharedRenders(t *testing.T) {
	for _, query := range []string{
		"format=json&target=a.*", "format=json&target=movingAverage(a.*,5)&maxDataPoints=7", "format=json&target=a.*&noNullPoints&pretty=1",
		"format=csv&target=a.*", "format=raw&target=a.*", "format=pickle&target=a.*", "format=msgpack&target=a.*", "format=rickshaw&target=a.*",
		"format=dygraph&target=a.*", "format=svg&target=a.*", "format=png&target=a.*", "target=a.*&graphType=pie&format=svg",
		"format=json&target=a.*&target=sumSeries(a.*)&target=a.*&maxDataPoints=10", "format=json&target=none(a.*)", "format=" + carbonapi.Format + "&target=a.*",
		"format=json&target=movingAverage(a.*,)", "format=json&target=a.*&maxDataPoints=1",
	} {
		for _, jsonp := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,%v", query, jsonp), func(t *testing.T) { sharedRenders(t, query, jsonp) })
		}
	}
}

func sharedRenders(t *testing.T, query string, jsonp bool) {
	var reads atomic.Int64
	var waits atomic.Bool
	entered, proceed := make(chan struct{}, 1000), make(chan struct{})
	w, registry, memory := newAsked(t, func(ctx context.Context) {
		if reads.Add(1); waits.Load() {
			entered <- struct{}{}
			select {
			case <-proceed:
			case <-ctx.Done():
			}
		}
	})
	w.api.o.Limits.Concurrency = 4
	handler := w.charged(memory)
	ask := func(ctx context.Context, i int) *httptest.ResponseRecorder {
		target := fmt.Sprintf("/render?%s&from=-1h&_salt=%d", query, i)
		if jsonp {
			target += fmt.Sprintf("&jsonp=call%d", i)
		}
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, httptest.NewRequest(http.MethodGet, target, nil).WithContext(ctx))
		return out
	}
	const askers = 20
	want := make([]*httptest.ResponseRecorder, askers)
	for i := range want {
		want[i] = ask(t.Context(), i)
	}
	each := reads.Swap(0) / askers
	if waits.Store(each > 0); each == 0 {
		return // it fails before it reads
	}
	first, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() {
		if got := ask(first, 0); got.Code != exchange.StatusClientClosed {
			t.Errorf("the first one: %d %s", got.Code, got.Body)
		}
	})
	<-entered
	got := make([]*httptest.ResponseRecorder, askers)
	for i := range got {
		all.Go(func() { got[i] = ask(t.Context(), i) })
	}
	for len(registry.List()) < askers+1 { // all of them are under way
		time.Sleep(time.Millisecond)
	}
	leave()
	close(proceed)
	all.Wait()
	for i := range got {
		if got[i].Code != want[i].Code || got[i].Body.String() != want[i].Body.String() || got[i].Header().Get("Content-Type") != want[i].Header().Get("Content-Type") {
			t.Fatalf("%d: %d %.300s\nwant %d %.300s", i, got[i].Code, got[i].Body, want[i].Code, want[i].Body)
		}
	}
	most := each * askers / 4 // One may be listed and not wait yet when the first one ends.
	if jsonp && strings.Contains(want[0].Header().Get("Content-Type"), "javascript") && strings.Contains(query, "svg") || jsonp && strings.Contains(query, "png") {
		most = (askers + 1) * each // the call is a part of the picture
	}
	if n := reads.Load(); n > most {
		t.Errorf("points were read %d times by %d requests, %d times by one", n, askers+1, each)
	}
	if memory.Used() != 0 {
		t.Errorf("%d bytes are left", memory.Used())
	}
}

// TestSharedRenderNeverOlder asks while points are written: no answer is older than what was
// acknowledged before it was asked for.
func TestSharedRenderNeverOlder(t *testing.T) {
	w, _, memory := newAsked(t, func(context.Context) { time.Sleep(time.Millisecond) })
	ref := w.Points(t, "written", []int64{webNow})
	var acknowledged, asked, evaluated atomic.Int64
	write := func(n int64) {
		var b storage.Batch
		b.Add(ref, (webNow-600)*1000, float64(n))
		if err := w.Append(t.Context(), &b); err != nil {
			t.Error(err)
		}
		acknowledged.Store(n)
	}
	write(1)
	w.api.o.Store = &askedStore{w.api.o.Store, func(context.Context) { evaluated.Add(1) }}
	w.mount()
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		for n := int64(2); ctx.Err() == nil; n++ {
			write(n)
			time.Sleep(time.Duration(n%5) * time.Millisecond)
		}
	})
	handler := w.charged(memory)
	target := "/render?format=raw&target=written&from=" + strconv.Itoa(webNow-660) + "&until=" + strconv.Itoa(webNow-590)
	for range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				before := acknowledged.Load()
				out := httptest.NewRecorder()
				handler.ServeHTTP(out, httptest.NewRequest(http.MethodGet, target, nil))
				asked.Add(1)
				if got := newestRaw(out.Body.String()); got < before {
					t.Errorf("%d, but %d were acknowledged before: %s", got, before, out.Body)
					return
				}
			}
		})
	}
	all.Wait()
	if asked.Load() == 0 || memory.Used() != 0 {
		t.Errorf("%d answers, %d bytes are left", asked.Load(), memory.Used())
	}
}

// newestRaw returns the greatest value of an answer in the format raw.
func newestRaw(body string) (most int64) {
	_, values, _ := strings.Cut(body, "|")
	for text := range strings.SplitSeq(strings.TrimSpace(values), ",") {
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			most = max(most, int64(v))
		}
	}
	return most
}

// TestSharedRenderPanics: a panic is an error of all that wait, and of nobody else.
func TestSharedRenderPanics(t *testing.T) {
	entered, proceed := make(chan struct{}, 100), make(chan struct{})
	w, registry, memory := newAsked(t, func(context.Context) {
		entered <- struct{}{}
		<-proceed
		panic("damaged")
	})
	var all sync.WaitGroup
	handler := w.charged(memory)
	ask := func() {
		out := httptest.NewRecorder()
		handler.ServeHTTP(out, httptest.NewRequest(http.MethodGet, "/render?format=json&target=a.*&from=-1h", nil))
		if out.Code != http.StatusInternalServerError || !strings.Contains(out.Body.String(), "internal error") {
			t.Errorf("%d %s", out.Code, out.Body)
		}
	}
	all.Go(ask)
	<-entered
	for range 10 {
		all.Go(ask)
	}
	for len(registry.List()) < 11 {
		time.Sleep(time.Millisecond)
	}
	close(proceed)
	all.Wait()
	if len(registry.List()) != 0 || memory.Used() != 0 {
		t.Errorf("%d queries and %d bytes are left", len(registry.List()), memory.Used())
	}
}

// TestRenderKey: requests are equal if their answers are.
func TestRenderKey(t *testing.T) {
	const request = "target=a&target=b&from=-1h&format=json&maxDataPoints=5"
	key := func(query string) string {
		f := exchange.Form{}
		if err := f.Add(query); err != nil {
			t.Fatal(err)
		}
		return renderKey(f)
	}
	for _, equal := range []string{
		request + "&_salt=1.5", request + "&_=7&_t=x", request + "&jsonp=f", request + "&cacheTimeout=60&noCache=1",
		"maxDataPoints=5&format=json&from=-1h&target=a&target=b", "maxDataPoints=4&" + request, "target[]=a&target[]=b&from=-1h&format=json&maxDataPoints=5",
		"target=a&target=&target=b&from=-1h&format=json&maxDataPoints=5",
	} {
		if key(equal) != key(request) {
			t.Errorf("%s is another request than %s", equal, request)
		}
	}
	for _, other := range []string{
		request + "&noNullPoints", request + "&maxDataPoints=6", request + "&until=now", request + "&tz=UTC", request + "&xFilesFactor=0.5",
		request + "&template[x]=1", request + "&format=csv", request + "&pretty=1", request + "&target=c", "target=b&target=a&from=-1h&format=json&maxDataPoints=5",
		request + "&graphType=pie&jsonp=f", request + "&now=5", "target=" + url.QueryEscape("a&target=b") + "&from=-1h&format=json&maxDataPoints=5",
	} {
		if key(other) == key(request) {
			t.Errorf("%s is the same request as %s", other, request)
		}
	}
	if key("target=a&graphType=pie&jsonp=f") == key("target=a&graphType=pie&jsonp=g") {
		t.Error("a picture has the call of another one")
	}
}

// TestWholeReply: a body for which there is no memory is encoded by each that gets it.
func TestWholeReply(t *testing.T) {
	const text = "some text"
	for _, c := range []struct {
		limit, left int64
	}{{1000, int64(len(text))}, {105, 100}} {
		account := query.NewBudget(c.limit).Open()
		if err := account.Take(100); err != nil { // of the series
			t.Fatal(err)
		}
		p := &exchange.Reply{Write: func(j *pyjson.Writer) { j.Text(text) }}
		out, err := encodedOnce(query.WithAccount(t.Context(), account), p)
		if err != nil || account.Held() != c.left {
			t.Fatalf("%d bytes are held, %v", account.Held(), err)
		}
		var j pyjson.Writer
		if out.Write(&j); string(j.Buf) != text {
			t.Errorf("%s", j.Buf)
		}
	}
}
