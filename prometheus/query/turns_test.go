package query

import (
	"context"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
)

// However many lists are requested, few are computed at once, and a short one waits for hardly any
// of them.
func TestAPITurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newAPITurns(time.Hour)
		ctx, cancel := context.WithCancel(t.Context())
		var computing, most atomic.Int64
		long := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			for query.TurnOf(r.Context()).Yield(r.Context()) == nil {
				most.Store(max(most.Load(), computing.Add(1)))
				time.Sleep(time.Millisecond) // computes
				computing.Add(-1)
			}
		})
		var all sync.WaitGroup
		for range 200 {
			all.Go(func() {
				gate.serve(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/series", nil), long)
			})
		}
		time.Sleep(10 * time.Second)
		begin := time.Now()
		short := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
		w := httptest.NewRecorder()
		gate.serve(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v1/series", nil), short)
		if took := time.Since(begin); w.Code != http.StatusNoContent || took > 100*time.Millisecond {
			t.Errorf("a short request: %d after %v", w.Code, took)
		}
		cancel()
		all.Wait()
		if got := int(most.Load()); got > runtime.GOMAXPROCS(0) {
			t.Errorf("%d were computed at once", got)
		}
	})
}

// A client that does not read its answer does not hold a turn.
func TestAPITurnsWhileClientReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := newAPITurns(time.Hour)
		read := make(chan struct{})
		answer := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("answer")) })
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				gate.serve(stuckWriter{httptest.NewRecorder(), read}, httptest.NewRequest(http.MethodGet, "/api/v1/labels", nil), answer)
			})
		}
		synctest.Wait()
		begin, w := time.Now(), httptest.NewRecorder()
		gate.serve(w, httptest.NewRequest(http.MethodGet, "/api/v1/labels", nil), answer)
		if took := time.Since(begin); w.Body.String() != "answer" || took != 0 {
			t.Errorf("%q after %v", w.Body, took)
		}
		close(read)
		all.Wait()
	})
}

// stuckWriter waits until its client reads.
type stuckWriter struct {
	*httptest.ResponseRecorder
	read chan struct{}
}

func (w stuckWriter) Write(p []byte) (int, error) {
	<-w.read
	return w.ResponseRecorder.Write(p)
}

func TestOrdinary(t *testing.T) {
	for _, tt := range []struct {
		path, body string
		chunked    bool
		want       bool
	}{
		{path: "query?query=up", want: true},
		{path: "query_range?query=up&start=1&end=2&step=1", want: true},
		{path: "query", body: "query=up", want: true},
		{path: "query", body: "query=up", chunked: true},
		{path: "query?query=" + strings.Repeat("a", query.FreeBytes)},
		{path: "query", body: strings.Repeat("a", query.FreeBytes+1)},
		{path: "series?match[]=up"},
		{path: "query_exemplars?query=up"},
		{path: "label/job/values"},
	} {
		r := httptest.NewRequest(http.MethodPost, Prefix+"/"+tt.path, strings.NewReader(tt.body))
		if tt.chunked {
			r.ContentLength = -1
		}
		if got := ordinary(r); got != tt.want {
			t.Errorf("%.40s: %v, want %v", tt.path, got, tt.want)
		}
	}
}
