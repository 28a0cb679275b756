package tsdtest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A Process is a process that answers the API over tables, in the year 2023.
type Process struct {
	Store   *store.Store
	Handler http.Handler
}

// StartProcess starts a process over tables, whose clients may change names, metadata and trees.
func StartProcess(t *testing.T, db kv.KV, change ...func(*forest.ServiceOptions)) *Process {
	t.Helper()
	return StartProcessWith(t, db, true, change...)
}

// StartProcessWith starts a process over tables. edits: its clients may change names, metadata and trees.
func StartProcessWith(t *testing.T, db kv.KV, edits bool, change ...func(*forest.ServiceOptions)) *Process {
	t.Helper()
	store, trees := OpenTrees(t, db, change...)
	o := Options("127.0.0.1:0")
	o.Store, o.Catalog, o.Names, o.Layout = store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.Trees, o.Documents, o.AllowEdits, o.Renamer = trees, store.Documents(), edits, store
	o.Budget, o.Running, o.Concurrency, o.Timeout = query.NewBudget(1<<30), query.NewRegistry(), 4, time.Minute
	o.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	s, err := opentsdb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	routes := chi.NewRouter()
	s.Routes(routes)
	return &Process{store, routes}
}

// Ask sends a request and returns its status and its answer.
func (p *Process) Ask(method, target, body string) (int, string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	w := httptest.NewRecorder()
	p.Handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}
