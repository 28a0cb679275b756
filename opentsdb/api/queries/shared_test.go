package queries_test

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// askedStore calls asked whenever it is asked for points.
type askedStore struct {
	storage.Querier
	asked func(ctx context.Context)
}

func (s *askedStore) Select(ctx context.Context, q storage.Query) iter.Seq2[storage.Points, error] {
	s.asked(ctx)
	return s.Querier.Select(ctx, q)
}

func (s *askedStore) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	s.asked(ctx)
	return s.Querier.SelectParts(ctx, q, worker)
}

// asked is a server over some points, whose store calls asked.
type asked struct {
	address string
	running *query.Registry
	memory  *query.Budget
}

func startAsked(t *testing.T, call func(ctx context.Context)) asked {
	a := asked{running: query.NewRegistry(), memory: query.NewBudget(1 << 30)}
	a.address = tsdtest.StartOver(t, kv.NewMem(storetest.Tables()...), func(o *opentsdb.Options) {
		o.Store, o.Running, o.Budget = &askedStore{o.Store, call}, a.running, a.memory
	})
	points := []string{fmt.Sprintf(`{"metric":"late","timestamp":%d,"value":1,"tags":{"host":"a"}}`, time.Now().Unix())}
	for at := range 50 {
		for _, host := range []string{"a", "b"} {
			points = append(points, fmt.Sprintf(`{"metric":"m","timestamp":%d,"value":%d,"tags":{"host":"%s"}}`, 1356998400+60*at, at, host))
		}
	}
	if status, body := a.send(t.Context(), t, http.MethodPost, "/api/put", "["+strings.Join(points, ",")+"]"); status != http.StatusNoContent {
		t.Fatal(status, body)
	}
	return a
}

func (a asked) send(ctx context.Context, t *testing.T, method, path, body string) (int, string) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+a.address+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	out := httptest.NewRecorder()
	_ = response.Write(out)
	_, text, _ := strings.Cut(out.Body.String(), "\r\n\r\n")
	return response.StatusCode, text
}

// TestSharedQueries: equal requests under way are one evaluation and one more, and have the answer that
// each would have alone. That the first one goes away is nothing to the others.
func TestSharedQueries(t *testing.T) {
	const times = `start=1356998400&end=1357009200`
	for _, c := range []struct {
		name, method, path, body string
		reads                    int64 // of one
	}{
		{"GET", "GET", "/api/query?" + times + "&m=sum:m{host=*}", "", 1},
		{"POST", "POST", "/api/query?x", `{"start":1356998400,"end":1357009200,"showQuery":true,"queries":[{"aggregator":"sum","metric":"m"}]}`, 1},
		{"exp", "POST", "/api/query/exp?x", `{"time":{"start":1356998400,"end":1357009200,"aggregator":"sum"},"metrics":[{"id":"a","metric":"m"},{"id":"b","metric":"m"}],"expressions":[{"id":"e","expr":"a+b"}]}`, 1},
		{"gexp", "GET", "/api/query/gexp?" + times + "&exp=scale(sum:m,2)", "", 1},
		{"old", "GET", "/q?ascii&" + times + "&m=sum:m", "", 1},
		{"last", "GET", "/api/query/last?timeseries=late{host=a}", "", 2},
		{"last of equal ones", "POST", "/api/query/last?x", `{"queries":[{"metric":"late","tags":{"host":"a"}},{"metric":"late","tags":{"host":"a"}}]}`, 2},
	} {
		t.Run(c.name, func(t *testing.T) { sharedQueries(t, c.method, c.path, c.body, c.reads) })
	}
}

func sharedQueries(t *testing.T, method, path, body string, alone int64) {
	var reads atomic.Int64
	var waits atomic.Bool
	entered, proceed := make(chan struct{}, 1000), make(chan struct{})
	a := startAsked(t, func(ctx context.Context) {
		if reads.Add(1); waits.Load() {
			entered <- struct{}{}
			select {
			case <-proceed:
			case <-ctx.Done():
			}
		}
	})
	request := func(ctx context.Context, i int) (int, string) {
		return a.send(ctx, t, method, fmt.Sprintf("%s&_=%d&jsonp=f%d", path, i, i), body)
	}
	const askers = 20
	var want, got [askers]string
	for i := range want {
		_, want[i] = request(t.Context(), i)
	}
	each := reads.Swap(0) / askers
	if waits.Store(true); each != alone {
		t.Fatalf("a request reads %d times: %s", each, want[0])
	}
	first, leave := context.WithCancel(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _, _ = request(first, 0) })
	<-entered
	for i := range got {
		all.Go(func() { _, got[i] = request(t.Context(), i) })
	}
	for len(a.running.List()) < askers+1 { // all of them are under way
		time.Sleep(time.Millisecond)
	}
	leave()
	close(proceed)
	all.Wait()
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if n := reads.Load(); n > alone*askers/4 { // One may be listed and not wait yet when the first one ends.
		t.Errorf("points were read %d times by %d requests", n, askers+1)
	}
	for end := time.Now().Add(time.Minute); a.memory.Used() != 0; time.Sleep(time.Millisecond) { // the first one is not waited for
		if time.Now().After(end) {
			t.Fatalf("%d bytes are left", a.memory.Used())
		}
	}
}

// TestDeletesAreNotShared: each request that deletes is done, also beside an equal one.
func TestDeletesAreNotShared(t *testing.T) {
	entered, proceed := make(chan struct{}, 1000), make(chan struct{})
	a := startAsked(t, func(context.Context) {
		entered <- struct{}{}
		<-proceed
	})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			status, body := a.send(t.Context(), t, http.MethodPost, "/api/query", `{"start":1356998400,"end":1357009200,"delete":true,"queries":[{"aggregator":"sum","metric":"m"}]}`)
			if status != http.StatusOK {
				t.Error(status, body)
			}
		})
	}
	for range 2 {
		<-entered
	}
	close(proceed)
	all.Wait()
}

// TestSharedErrors: an error, and a panic, is that of all that wait.
func TestSharedErrors(t *testing.T) {
	entered, proceed := make(chan struct{}, 1000), make(chan struct{})
	a := startAsked(t, func(context.Context) {
		entered <- struct{}{}
		<-proceed
		panic("damaged")
	})
	request := func() {
		status, body := a.send(t.Context(), t, http.MethodGet, "/api/query?start=1356998400&end=1357009200&m=sum:m", "")
		if status != http.StatusInternalServerError || !strings.Contains(body, `{"error":{"code":500,"message":"internal error`) {
			t.Errorf("%d %s", status, body)
		}
	}
	var all sync.WaitGroup
	all.Go(request)
	<-entered
	for range 10 {
		all.Go(request)
	}
	for len(a.running.List()) < 11 {
		time.Sleep(time.Millisecond)
	}
	close(proceed)
	all.Wait()
}

// TestSharedNeverOlder asks while points are put: no answer is older than what was acknowledged before it was
// asked for.
func TestSharedNeverOlder(t *testing.T) {
	a := startAsked(t, func(context.Context) { time.Sleep(time.Millisecond) })
	var acknowledged, answers atomic.Int64
	put := func(n int64) {
		status, body := a.send(t.Context(), t, http.MethodPost, "/api/put", fmt.Sprintf(`{"metric":"n","timestamp":1356998400,"value":%d,"tags":{"host":"a"}}`, n))
		if status != http.StatusNoContent {
			t.Error(status, body)
		}
		acknowledged.Store(n)
	}
	put(1)
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	var all sync.WaitGroup
	all.Go(func() {
		for n := int64(2); ctx.Err() == nil; n++ {
			put(n)
		}
	})
	for i := range 8 {
		path := []string{"/api/query?start=1356998400&end=1357009200&m=sum:n&x", "/api/query?start=1356998000&end=1356998500&m=max:n&arrays"}[i%2]
		all.Go(func() {
			for ctx.Err() == nil {
				before := acknowledged.Load()
				_, body := a.send(t.Context(), t, http.MethodGet, path, "")
				answers.Add(1)
				var got int64
				_, dps, _ := strings.Cut(body, `"dps":`)
				_, value, _ := strings.Cut(dps, "1356998400")
				if _, err := fmt.Sscanf(strings.TrimLeft(value, `":,`), "%d", &got); err != nil || got < before {
					t.Errorf("%d were acknowledged before: %s", before, body)
					return
				}
			}
		})
	}
	all.Wait()
	if answers.Load() == 0 {
		t.Error("no answers")
	}
}
