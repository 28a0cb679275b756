package api

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/tsdbridge/tsdbridge/graphite/exchange"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// trees has a Find that the test defines.
type trees struct {
	find func(ctx context.Context) ([]forest.Node, error)
}

func (t trees) Find(ctx context.Context, _ string, _ forest.FindOptions) ([]forest.Node, error) {
	return t.find(ctx)
}

func (t trees) Edition() (forest.Edition, bool) { return forest.Edition{}, false }

func (t trees) Display(uint16) (tree.Display, bool) { return tree.Display{}, false }

func withTrees(find func(context.Context) ([]forest.Node, error)) func(*Options) {
	return func(o *Options) { o.Trees = trees{find} }
}

// A panic fails only its request, and is logged with the query.
func TestPanic(t *testing.T) {
	var log bytes.Buffer
	w := newWeb(t, withTrees(func(context.Context) ([]forest.Node, error) { panic("gremlin") }), func(o *Options) {
		o.Logger, o.Limits.Concurrency = slog.New(slog.NewTextHandler(&log, nil)), 1
	})
	for range 3 { // a slot that is not released would block the second
		if got := w.get("/metrics/find?query=secret.*"); got.Code != 500 || strings.Contains(got.Body.String(), "gremlin") {
			t.Errorf("status %d, body %s", got.Code, got.Body)
		}
	}
	if !strings.Contains(log.String(), "gremlin") || !strings.Contains(log.String(), "secret") {
		t.Errorf("log: %s", log.String())
	}
}

func TestErrorsOfTheStore(t *testing.T) {
	for _, c := range []struct {
		err    error
		status int
	}{
		{storage.ErrNotReady, 503}, {storage.ErrLimit, 422}, {storage.ErrInvalid, 400}, {errors.New("region lost"), 503}, {storage.ErrDamaged, 500}, {context.DeadlineExceeded, 503},
	} {
		w := newWeb(t, withTrees(func(context.Context) ([]forest.Node, error) { return nil, c.err }))
		for _, url := range []string{"/metrics/find?query=*", "/metrics/expand?query=*", "/metrics/index.json", "/render?target=a&format=json"} {
			if got := w.get(url); got.Code != c.status {
				t.Errorf("%v: %s has status %d, want %d", c.err, url, got.Code, c.status)
			}
		}
	}
}

// A request ends at its timeout, which includes waiting for a slot, and when its client leaves.
func TestTimeout(t *testing.T) {
	entered := make(chan struct{}, 1)
	w := newWeb(t, withTrees(func(ctx context.Context) ([]forest.Node, error) {
		entered <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}), func(o *Options) { o.Limits.Timeout, o.Limits.Concurrency = 50*time.Millisecond, 1 })
	if got := w.get("/metrics/find?query=*"); got.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d after the timeout: %s", got.Code, got.Body)
	}
	<-entered
	// Another request has the slot.
	other, err := w.api.turns.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := w.get("/metrics/find?query=*"); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.Body.String(), "too many") {
		t.Errorf("status %d without a slot: %s", got.Code, got.Body)
	}
	if got := w.get("/version"); got.Code != http.StatusOK {
		t.Errorf("/version has status %d without a slot", got.Code)
	}
	other.End()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest(http.MethodGet, "/metrics/find?query=*", nil).WithContext(ctx)
	if got := w.do(r); got.Code != exchange.StatusClientClosed {
		t.Errorf("status %d for a client that went away", got.Code)
	}
	if got := testutil.ToFloat64(w.api.metrics.requests.WithLabelValues("find", "503")); got != 2 {
		t.Errorf("%v requests with status 503 counted, want 2", got)
	}
}
