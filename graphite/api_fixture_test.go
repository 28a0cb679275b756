package graphite

import (
	"bufio"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
)

// webNow is the time that recorded requests without now were made at, near enough.
const webNow = 1741057200

// web is the API over a store in memory.
type web struct {
	db     kv.KV
	store  *storage.Store
	forest *tree.Forest
	names  *translate.Translator
	api    *api
	router chi.Router
}

// newWeb returns an empty one. Options may be changed before the API is made of them.
func newWeb(t testing.TB, change ...func(*apiOptions)) *web {
	t.Helper()
	var tables []kv.Table
	for _, name := range []string{"tsdb", "tsdb-uid", "tsdb-meta", "tsdb-tree"} {
		tables = append(tables, kv.Table{Name: name, Families: []string{schema.FamilyData, "id", "name"}})
	}
	db := kv.NewMem(tables...)
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	treeOptions := tree.DefaultOptions()
	treeOptions.Exclusive, treeOptions.DefaultTree = true, "graphite"
	treeOptions.Plain, treeOptions.Shown = names.Plain, translate.Shown
	forest := tree.New(db, treeOptions)
	if _, err := forest.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	o := storage.DefaultOptions()
	o.Exclusive, o.Observer = true, forest
	store, err := storage.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	run(t, store)
	options := apiOptions{
		Store: store, Trees: forest, Names: names, Registrar: store, Limits: DefaultLimits(),
		Registerer: prometheus.NewRegistry(), Now: func() time.Time { return time.Unix(webNow, 0) },
	}
	for _, c := range change {
		c(&options)
	}
	w := &web{db: db, store: store, forest: forest, names: names, api: newAPI(options), router: chi.NewRouter()}
	w.api.routes(w.router)
	return w
}

// run runs the store until the end of the test, and returns when it is ready.
func run(t testing.TB, store *storage.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- store.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for store.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the store does not get ready")
		}
	}
}

// add stores points of Graphite names.
func (w *web) add(t testing.TB, lines io.Reader) {
	t.Helper()
	refs := map[string]storage.Ref{}
	var series []storage.Series
	var batch storage.Batch
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		f := strings.Fields(scan.Text())
		value, err := strconv.ParseFloat(f[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		at, err := strconv.ParseInt(f[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if refs[f[0]] == 0 {
			series = append(series, w.names.FromPath(f[0]))
			refs[f[0]] = storage.Ref(len(series))
		}
		batch.Add(refs[f[0]], at*1000, value)
	}
	resolved := w.resolve(t, series)
	for i, r := range batch.Refs {
		batch.Refs[i] = resolved[r-1]
	}
	if err := w.store.Append(t.Context(), &batch); err != nil {
		t.Fatal(err)
	}
}

// addLabels makes series known.
func (w *web) addLabels(t testing.TB, sets ...labels.Labels) []storage.Ref {
	t.Helper()
	var series []storage.Series
	for _, ls := range sets {
		series = append(series, w.names.FromLabels(ls))
	}
	return w.resolve(t, series)
}

func (w *web) resolve(t testing.TB, series []storage.Series) []storage.Ref {
	t.Helper()
	refs, errs := w.store.Resolve(t.Context(), series)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return refs
}

// get sends a request.
func (w *web) get(url string) *httptest.ResponseRecorder {
	return w.do(httptest.NewRequest(http.MethodGet, url, nil))
}

func (w *web) do(r *http.Request) *httptest.ResponseRecorder {
	out := httptest.NewRecorder()
	w.router.ServeHTTP(out, r)
	return out
}

// post sends a form.
func (w *web) post(url, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, url, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return w.do(r)
}

// openFile opens a file, unpacked.
func openFile(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}
