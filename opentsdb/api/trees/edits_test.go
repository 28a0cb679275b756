package trees_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsdbridge/tsdbridge/opentsdb/tsdtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// want fails the test unless an answer has a status and contains a text.
func want(t *testing.T, p *tsdtest.Process, method, target, body string, status int, text string) {
	t.Helper()
	got, answer := p.Ask(method, target, body)
	if got != status || !strings.Contains(answer, text) {
		t.Errorf("%s %s %.100s = %d %.500s, want %d and %q", method, target, body, got, answer, status, text)
	}
}

// Edits need --opentsdb.allow-edits and pages of the same origin, whatever way the method is given.
// Reads need neither.
func TestTreeEditsMustBeAllowed(t *testing.T) {
	p := tsdtest.StartProcess(t, kv.NewMem(storetest.Tables()...))
	want(t, p, http.MethodPost, "/api/tree", `{"name":"net"}`, http.StatusOK, `"treeId":1`)
	foreign := func(method, target string) *http.Request {
		r := httptest.NewRequest(method, target, strings.NewReader(""))
		r.Header.Set("Origin", "http://elsewhere.example")
		return r
	}
	for _, target := range []string{
		"/api/tree?treeid=1&notes=x&method_override=post", "/api/tree?treeid=1&definition=true&method_override=delete",
		"/api/tree/rule?treeid=1&level=0&order=0&type=METRIC&method_override=put", "/api/tree/rules?treeid=1&method_override=delete",
	} {
		w := httptest.NewRecorder()
		p.Handler.ServeHTTP(w, foreign(http.MethodGet, target))
		if w.Code != http.StatusForbidden {
			t.Errorf("GET %s from another origin = %d %s", target, w.Code, w.Body)
		}
	}
	readOnly := tsdtest.StartProcessWith(t, kv.NewMem(storetest.Tables()...), false)
	for _, target := range []string{"/api/tree", "/api/tree/rule", "/api/tree/rules"} {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
			want(t, readOnly, method, target, "", http.StatusForbidden, "--opentsdb.allow-edits")
		}
		want(t, readOnly, http.MethodGet, target+"?treeid=1&level=0&order=0&method_override=post", "", http.StatusForbidden, "--opentsdb.allow-edits")
	}
	want(t, readOnly, http.MethodGet, "/api/tree", "", http.StatusOK, "[]")
	want(t, readOnly, http.MethodPost, "/api/tree/test", `{"treeId":1,"tsuids":["00"]}`, http.StatusNotFound, "Unable to locate tree: 1")
}

// Trees of the configuration are not changed: the next start would change them back. They can be
// cleared, and no other tree can take their names.
func TestDeclaredTreesStay(t *testing.T) {
	template, err := tree.ParseTemplate("servers.{host}.{metric...}")
	if err != nil {
		t.Fatal(err)
	}
	const flag = "--graphite.template=servers.{host}.{metric...}"
	p := tsdtest.StartProcess(t, kv.NewMem(storetest.Tables()...), func(o *forest.ServiceOptions) {
		o.Declared, o.Sources = []tree.Definition{template.Definition("servers")}, map[string]string{"servers": flag}
	})
	_, before := p.Ask(http.MethodGet, "/api/tree", "")
	want(t, p, http.MethodPost, "/api/tree", `{"name":"mine"}`, http.StatusOK, `"treeId":2`)
	for _, c := range []struct{ method, target, body string }{
		{http.MethodPost, "/api/tree", `{"treeId":1,"enabled":false}`},
		{http.MethodPut, "/api/tree", `{"treeId":1,"name":"servers"}`},
		{http.MethodPost, "/api/tree/rule", `{"treeId":1,"level":9,"type":"METRIC"}`},
		{http.MethodDelete, "/api/tree/rule?treeid=1&level=0&order=0", ""},
		{http.MethodPost, "/api/tree/rules", `[{"treeId":1,"level":9,"type":"METRIC"}]`},
		{http.MethodPut, "/api/tree/rules", `[{"treeId":1,"level":9,"type":"METRIC"}]`},
		{http.MethodDelete, "/api/tree/rules?treeid=1", ""},
		{http.MethodDelete, "/api/tree?treeid=1&definition=true", ""},
		{http.MethodPost, "/api/tree", `{"name":"servers"}`},
		{http.MethodPost, "/api/tree", `{"treeId":2,"name":"servers"}`},
	} {
		want(t, p, c.method, c.target, c.body, http.StatusForbidden, flag)
	}
	want(t, p, http.MethodDelete, "/api/tree?treeid=2&definition=true", "", http.StatusNoContent, "")
	want(t, p, http.MethodDelete, "/api/tree?treeid=1", "", http.StatusNoContent, "")
	if _, after := p.Ask(http.MethodGet, "/api/tree", ""); after != before {
		t.Errorf("the declared tree is %s, was %s", after, before)
	}
}

// What clients may store is bounded.
func TestTreeBounds(t *testing.T) {
	p := tsdtest.StartProcess(t, kv.NewMem(storetest.Tables()...))
	want(t, p, http.MethodPost, "/api/tree", `{"name":"net"}`, http.StatusOK, `"treeId":1`)
	long := strings.Repeat("x", 65<<10)
	rules := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `,{"treeId":1,"level":%d,"type":"METRIC"}`, i)
		}
		return "[" + b.String()[1:] + "]"
	}
	for _, c := range []struct {
		target, body string
		status       int
		text         string
	}{
		{"/api/tree", `{"name":"` + long + `"}`, http.StatusBadRequest, "at most 65536 bytes"},
		{"/api/tree", `{"treeId":1,"notes":"` + long + `"}`, http.StatusBadRequest, "at most 65536 bytes"},
		{"/api/tree/rule", `{"treeId":1,"type":"METRIC","notes":"` + long + `"}`, http.StatusBadRequest, "at most 65536 bytes"},
		{"/api/tree/rule", `{"treeId":1,"type":"METRIC","displayFormat":"` + long[:1025] + `"}`, http.StatusBadRequest, "at most 1024 bytes"},
		{"/api/tree/rule", `{"treeId":1,"type":"METRIC","regex":"` + long[:1025] + `"}`, http.StatusBadRequest, "at most 1024 bytes"},
		{"/api/tree/rule", `{"treeId":1,"type":"METRIC","regex":"` + strings.Repeat("(", 500) + strings.Repeat(")", 500) + `"}`, http.StatusInternalServerError, "Unable to parse"},
		{"/api/tree/rules", rules(1001), http.StatusBadRequest, "At most 1000"},
		{"/api/tree/rules", rules(1000), http.StatusNoContent, ""},
		{"/api/tree/rule", `{"treeId":1,"level":1000,"type":"METRIC"}`, http.StatusBadRequest, "at most 1000 rules"},
		{"/api/tree/rule", `{"treeId":1,"level":999,"type":"METRIC","notes":"n"}`, http.StatusOK, `"notes":"n"`},
		{"/api/tree", strings.Repeat("[", 1<<20), http.StatusBadRequest, "Unable to parse"},
		{"/api/tree", strings.Repeat(`{"name":`, 1<<18), http.StatusBadRequest, "Unable to parse"},
		{"/api/tree/rules", strings.Repeat("[", 1<<20), http.StatusInternalServerError, "Unable to parse"},
		{"/api/tree", `{"name":"` + strings.Repeat("x", 5<<20) + `"}`, http.StatusRequestEntityTooLarge, ""},
		{"/api/tree/test", `{"treeId":1,"tsuids":["00"` + strings.Repeat(`,"00"`, 10000) + `]}`, http.StatusBadRequest, "At most 10000 TSUIDs"},
		{"/api/tree/collisions", `{"treeId":1,"tsuids":["` + strings.Repeat("00", 40000) + `"]}`, http.StatusOK, "{}"},
		{"/api/tree/test", `{"treeId":1,"tsuids":["` + strings.Repeat("00", 40000) + `"]}`, http.StatusOK, "Unable to locate TSUID"},
	} {
		want(t, p, http.MethodPost, c.target, c.body, c.status, c.text)
	}
	want(t, p, http.MethodGet, "/api/tree/branch?branch="+strings.Repeat("00010001", 10000), "", http.StatusNotFound, "Unable to locate branch")
}

// A store that fails is no fault of the client, and what it asked for can be asked again.
func TestTreeStoreFails(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	faulty := kvtest.New(db)
	p := tsdtest.StartProcess(t, faulty)
	want(t, p, http.MethodPost, "/api/tree", `{"name":"net"}`, http.StatusOK, `"treeId":1`)
	for _, c := range []struct{ method, target, body string }{
		{http.MethodGet, "/api/tree", ""},
		{http.MethodPost, "/api/tree/rule", `{"treeId":1,"type":"METRIC"}`},
		{http.MethodPost, "/api/tree", `{"treeId":1,"notes":"n"}`},
		{http.MethodGet, "/api/tree/collisions?treeid=1", ""},
		{http.MethodDelete, "/api/tree?treeid=1", ""},
	} {
		for _, method := range []kvtest.Method{kvtest.Get, kvtest.Scan, kvtest.CheckAndPut, kvtest.Apply} {
			faulty.Fail(method, 1, kvtest.Before)
			status, answer := p.Ask(c.method, c.target, c.body)
			if status != http.StatusServiceUnavailable && status/100 != 2 {
				t.Errorf("%s %s while %s fails = %d %s", c.method, c.target, method, status, answer)
			}
			faulty.Fail(method, 0, kvtest.Before)
		}
	}
	want(t, tsdtest.StartProcess(t, db), http.MethodGet, "/api/tree", "", http.StatusOK, `"notes":"n"`)
}

// On the local engine definitions, rules, branches and leaves are there after a restart, and the
// rules hold for series that come then.
func TestTreeAPIAfterRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	process := func(name string, do func(t *testing.T, p *tsdtest.Process)) {
		t.Run(name, func(t *testing.T) {
			db, err := pebble.Open(pebble.Options{Path: path, Tables: storetest.Tables()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
			do(t, tsdtest.StartProcess(t, db))
		})
	}
	process("first", func(t *testing.T, p *tsdtest.Process) {
		want(t, p, http.MethodPost, "/api/tree", `{"name":"net","enabled":true}`, http.StatusOK, `"treeId":1`)
		want(t, p, http.MethodPost, "/api/tree/rules", `[{"treeId":1,"type":"TAGK","field":"host"},{"treeId":1,"level":1,"type":"METRIC"}]`, http.StatusNoContent, "")
		series(t, p, "up host=a")
		want(t, p, http.MethodPost, "/api/tree", `{"name":"gone","enabled":true}`, http.StatusOK, `"treeId":2`)
		want(t, p, http.MethodDelete, "/api/tree?treeid=2&definition=true", "", http.StatusNoContent, "")
	})
	process("second", func(t *testing.T, p *tsdtest.Process) {
		want(t, p, http.MethodGet, "/api/tree?treeid=1", "", http.StatusOK, `"field":"host"`)
		want(t, p, http.MethodGet, "/api/tree?treeid=2", "", http.StatusNotFound, "")
		series(t, p, "up host=b")
		want(t, p, http.MethodGet, "/api/tree/branch?treeid=1", "", http.StatusOK, `"displayName":"a"`)
		want(t, p, http.MethodGet, "/api/tree/branch?treeid=1", "", http.StatusOK, `"displayName":"b"`)
		row := fmt.Sprintf("%X", schema.BranchRow(1, "b"))
		want(t, p, http.MethodGet, "/api/tree/branch?branch="+row, "", http.StatusOK, `"metric":"up","tags":{"host":"b"}`)
		want(t, p, http.MethodDelete, "/api/tree/rules?treeid=1", "", http.StatusNoContent, "")
	})
	process("third", func(t *testing.T, p *tsdtest.Process) {
		want(t, p, http.MethodGet, "/api/tree?treeid=1", "", http.StatusOK, `"rules":null`)
		series(t, p, "up host=c")
		if _, answer := p.Ask(http.MethodGet, "/api/tree/branch?treeid=1", ""); strings.Contains(answer, `"displayName":"c"`) {
			t.Errorf("without rules there is %s", answer)
		}
	})
}

// A tree that is cleared over the API gets the series that there are again, by its present rules.
func TestTreeClearedOverAPI(t *testing.T) { synctest.Test(t, clearOverAPI) }

func clearOverAPI(t *testing.T) {
	p := tsdtest.StartProcess(t, kv.NewMem(storetest.Tables()...))
	want(t, p, http.MethodPost, "/api/tree", `{"name":"net","enabled":true}`, http.StatusOK, `"treeId":1`)
	want(t, p, http.MethodPost, "/api/tree/rules", `[{"treeId":1,"type":"TAGK","field":"host"},{"treeId":1,"level":1,"type":"METRIC"}]`, http.StatusNoContent, "")
	series(t, p, "up host=a")
	want(t, p, http.MethodPost, "/api/tree/rule", `{"treeId":1,"field":"dc"}`, http.StatusOK, `"field":"dc"`)
	series(t, p, "up dc=b")
	want(t, p, http.MethodDelete, "/api/tree?treeid=1", "", http.StatusNoContent, "")
	time.Sleep(time.Second) // of the bubble: a pass over the series ends
	_, answer := p.Ask(http.MethodGet, "/api/tree/branch?treeid=1", "")
	if !strings.Contains(answer, `"displayName":"b"`) || strings.Contains(answer, `"displayName":"a"`) {
		t.Errorf("want the path by the present rules alone, got %s", answer)
	}
}
