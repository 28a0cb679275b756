package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

// endingStore ends all queries when it is asked for points.
type endingStore struct {
	storage.Querier
	registry *query.Registry
	seen     []query.State
}

func (s *endingStore) SelectParts(ctx context.Context, q storage.Query, worker func() storage.PartWorker) error {
	s.seen = s.registry.List()
	for _, q := range s.seen {
		s.registry.Cancel(q.ID)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return s.Querier.SelectParts(ctx, q, worker)
}

// A render request is listed while it is computed, and can be ended.
func TestRenderEnded(t *testing.T) {
	registry := query.NewRegistry()
	ending := &endingStore{registry: registry}
	w := newWebOver(graphitetest.New(t), func(o *Options) {
		ending.Querier = o.Store
		o.Store, o.Running = ending, registry
	})
	w.Add(t, strings.NewReader(fmt.Sprintf("a.b 1 %d\n", webNow-600)))
	got := w.get("/render?format=json&target=sumSeries(a.*)&from=-1h")
	if got.Code != exchange.StatusClientClosed || !strings.Contains(got.Body.String(), query.ErrEnded.Error()) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if len(ending.seen) != 1 || ending.seen[0].Text != "sumSeries(a.*)" || ending.seen[0].Language != "graphite" {
		t.Errorf("listed were %+v", ending.seen)
	}
	if left := registry.List(); len(left) > 0 {
		t.Errorf("afterwards: %+v", left)
	}
	if got := w.get("/version"); got.Code != http.StatusOK {
		t.Error(got.Code)
	}
}

// A picture is listed while it is drawn, with the memory of its pixels, and can be ended then.
func TestPictureEnded(t *testing.T) {
	registry := query.NewRegistry()
	w := newWebOver(graphitetest.New(t), func(o *Options) { o.Running = registry })
	var lines strings.Builder
	for i := range 300 {
		fmt.Fprintf(&lines, "a.b%d 1 %d\na.b%d 1 %d\n", i, webNow-600, i, webNow-60)
	}
	w.Add(t, strings.NewReader(lines.String()))
	for _, url := range []string{
		"/render?target=a.*&from=-1h&areaMode=all&lineMode=connected&width=2800&height=2800", "/render?target=a.*&graphType=pie&from=-1h&width=2800&height=2800",
	} {
		got := endWhileDrawn(w, registry, url)
		for range 50 { // the picture may be done before it is ended
			if got.Code == http.StatusOK {
				got = endWhileDrawn(w, registry, url)
			}
		}
		if got.Code != exchange.StatusClientClosed || !strings.Contains(got.Body.String(), query.ErrEnded.Error()) {
			t.Errorf("%s: %d %.200q", url, got.Code, got.Body)
		}
		if left := registry.List(); len(left) > 0 {
			t.Errorf("afterwards: %+v", left)
		}
	}
}

// endWhileDrawn asks for a picture of 2800 pixels each way, ends the query once it has the memory of that,
// and returns the answer.
func endWhileDrawn(w *web, registry *query.Registry, url string) *httptest.ResponseRecorder {
	got := httptest.NewRecorder()
	drawn := make(chan struct{})
	go func() {
		defer close(drawn)
		w.charged(query.NewBudget(0)).ServeHTTP(got, httptest.NewRequest(http.MethodGet, url, nil))
	}()
	for ended := false; !ended; runtime.Gosched() {
		for _, q := range registry.List() {
			if q.Memory > 4*2800*2800 {
				_, ended = registry.Cancel(q.ID)
			}
		}
		select {
		case <-drawn:
			ended = true
		default:
		}
	}
	<-drawn
	return got
}
