package opentsdb

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A treeProcess is a process that answers the API over tables.
type treeProcess struct {
	store   *store.Store
	handler http.Handler
}

func startTreeProcess(t *testing.T, db kv.KV, change ...func(*forest.ServiceOptions)) *treeProcess {
	t.Helper()
	return startTreeProcessWith(t, db, true, change...)
}

func startTreeProcessWith(t *testing.T, db kv.KV, edits bool, change ...func(*forest.ServiceOptions)) *treeProcess {
	t.Helper()
	store, trees := openTrees(t, db, change...)
	o := serverOptions("")
	o.Store, o.Catalog, o.Names, o.Layout = store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.Trees, o.Documents, o.AllowEdits, o.Renamer = trees, store.Documents(), edits, store
	o.Budget, o.Running, o.Concurrency, o.Timeout = query.NewBudget(1<<30), query.NewRegistry(), 4, time.Minute
	o.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return &treeProcess{store, s.queries}
}

// ask sends a request and returns its status and its answer.
func (p *treeProcess) ask(method, target, body string) (int, string) {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// TestTreeAPI runs the scripts in testdata/trees, each over empty tables:
//
//	GET, POST, PUT, DELETE, PATCH   lines with a path, a blank and a body, if any -> statuses and answers
//	series                          a metric and tags a line -> their TSUIDs
//	definitions                     -> the cells of definitions and rules in tsdb-tree
//	restart                         a new process over the same tables
func TestTreeAPI(t *testing.T) {
	datadriven.Walk(t, "testdata/trees", func(t *testing.T, path string) {
		db := kv.NewMem(storetest.Tables()...)
		p := startTreeProcess(t, db)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodPatch:
				var out strings.Builder
				for line := range strings.Lines(d.Input) {
					target, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
					status, answer := p.ask(d.Cmd, target, body)
					fmt.Fprintln(&out, strings.TrimSpace(fmt.Sprint(status, " ", timeless(answer))))
				}
				return out.String()
			case "series":
				return p.series(t, d.Input)
			case "definitions":
				return definitions(t, db)
			case "restart":
				p = startTreeProcess(t, db)
				return ""
			}
			d.Fatalf(t, "unknown command")
			return ""
		})
	})
}

// timeless replaces the times of documents of series.
func timeless(answer string) string {
	return regexp.MustCompile(`"(created|lastReceived)":17[1-9]\d{7}`).ReplaceAllString(answer, `"$1":"now"`)
}

// series registers series, one after the other.
func (p *treeProcess) series(t *testing.T, lines string) string {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		s := storage.Series{Metric: words[0]}
		for _, word := range words[1:] {
			key, value, _ := strings.Cut(word, "=")
			s.Tags = append(s.Tags, storage.Tag{Key: key, Value: value})
		}
		slices.SortFunc(s.Tags, func(a, b storage.Tag) int { return strings.Compare(a.Key, b.Key) })
		if _, errs := p.store.Resolve(t.Context(), []storage.Series{s}); errs != nil {
			t.Fatal(errs)
		}
		tsuid, _, err := p.store.Catalog().TSUID(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%X\n", tsuid)
	}
	return out.String()
}

// definitions returns the cells of definitions and rules.
func definitions(t *testing.T, db kv.KV) string {
	t.Helper()
	var out strings.Builder
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-tree", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if strings.HasPrefix(string(c.Qualifier), "tree") && len(row.Key) == 2 {
				fmt.Fprintf(&out, "%X %s %s\n", row.Key, c.Qualifier, c.Value)
			}
		}
	}
	return out.String()
}
