package admin

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// compacting is an engine that compacts elsewhere.
type compacting struct {
	kv.KV
	tables []string
	fails  string
}

func (c *compacting) MajorCompact(_ context.Context, table string) (int, error) {
	c.tables = append(c.tables, table)
	if table == c.fails {
		return 0, errors.New(table + " is away")
	}
	return 2, nil
}

// TestCleanShared: the space of shared tables is given back by their engine, and a table that fails is told of after the
// others were asked.
func TestCleanShared(t *testing.T) {
	for _, fails := range []string{"", "tsdb"} {
		engine := &compacting{fails: fails}
		f := StoreFiles{
			Logger: slog.New(slog.DiscardHandler), Engine: engine, Tables: []kv.Table{{Name: "tsdb"}, {Name: "tsdb-meta"}},
			Want: func(string) error { return errors.New("no files") },
		}
		data, err := f.clean(httptest.NewRequest(http.MethodPost, cleanPath, http.NoBody))
		if data != nil || err != nil != (fails != "") || err != nil && !strings.Contains(err.Error(), "tsdb is away") {
			t.Errorf("%q fails: %v, %v", fails, data, err)
		}
		if !slices.Equal(engine.tables, []string{"tsdb", "tsdb-meta"}) {
			t.Errorf("%q fails: %q were compacted", fails, engine.tables)
		}
	}
}
