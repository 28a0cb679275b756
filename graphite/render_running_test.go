package graphite

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/graphitetest"
	"github.com/tsdbridge/tsdbridge/running"
	"github.com/tsdbridge/tsdbridge/storage"
)

// endingStore ends all queries when it is asked for points.
type endingStore struct {
	storage.Querier
	registry *running.Registry
	seen     []running.State
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
	registry := running.New()
	ending := &endingStore{registry: registry}
	w := newWebOver(graphitetest.New(t), func(o *apiOptions) {
		ending.Querier = o.Store
		o.Store, o.Running = ending, registry
	})
	w.Add(t, strings.NewReader(fmt.Sprintf("a.b 1 %d\n", webNow-600)))
	got := w.get("/render?format=json&target=sumSeries(a.*)&from=-1h")
	if got.Code != statusClientClosed || !strings.Contains(got.Body.String(), running.ErrEnded.Error()) {
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
