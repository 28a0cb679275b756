package read

import (
	"context"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

func TestDescribed(t *testing.T) {
	matcher := func(kind prompb.LabelMatcher_Type, name, value string) *prompb.LabelMatcher {
		return &prompb.LabelMatcher{Type: kind, Name: name, Value: value}
	}
	req := &prompb.ReadRequest{Queries: []*prompb.Query{
		{Matchers: []*prompb.LabelMatcher{matcher(prompb.LabelMatcher_EQ, "__name__", "up"), matcher(prompb.LabelMatcher_RE, "job", `a"|b`)}},
		{Matchers: []*prompb.LabelMatcher{matcher(prompb.LabelMatcher_NEQ, "x", ""), matcher(prompb.LabelMatcher_NRE, "y", "z")}},
	}}
	if got, want := described(req), `{__name__="up",job=~"a\"|b"}, {x!="",y!~"z"}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	req.Queries[0].Matchers[0].Value = strings.Repeat("long", 1<<20)
	if n := len(described(req)); n > mostDescribed {
		t.Errorf("%d bytes describe a long request", n)
	}
}

// endingStore ends all queries when it finds series.
type endingStore struct {
	readStore
	registry *query.Registry
	seen     []query.State
}

func (s *endingStore) Find(ctx context.Context, filters []storage.Filter, start, end int64, limit int) ([]storage.Found, error) {
	s.seen = s.registry.List()
	for _, q := range s.seen {
		s.registry.Cancel(q.ID)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s.readStore.Find(ctx, filters, start, end, limit)
}

// A remote read is listed while it is answered, and can be ended.
func TestReadEnded(t *testing.T) {
	ending := &endingStore{promtest.OpenStore(t, kv.NewMem(promtest.Tables()...)), query.NewRegistry(), nil}
	server := readServer(t, newPromStorage(ending), Options{Running: ending.registry})
	_, err := readClient(t, server, samplesType).Read(t.Context(), &prompb.Query{
		EndTimestampMs: 1000, Matchers: []*prompb.LabelMatcher{{Name: "__name__", Value: "up"}},
	}, false)
	if err == nil || !strings.Contains(err.Error(), "499") {
		t.Errorf("error %v", err)
	}
	if len(ending.seen) != 1 || ending.seen[0].Text != `{__name__="up"}` || ending.seen[0].Language != "remote read" {
		t.Errorf("listed were %+v", ending.seen)
	}
	if left := ending.registry.List(); len(left) > 0 {
		t.Errorf("afterwards: %+v", left)
	}
}
