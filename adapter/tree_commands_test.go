package adapter

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/go-chi/chi/v5"

	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/storage"
)

// treeTestOptions returns an embedded store with five series that are in no tree yet, and two trees
// in the configuration.
func treeTestOptions(t *testing.T) Options {
	t.Helper()
	o := DefaultOptions()
	o.Path = t.TempDir()
	now := time.Unix(1_700_000_000, 0)
	o.Now = func() time.Time { return now }
	trees, err := parseTreesText(t, `
- {name: servers, path: 'servers.{host}.{metric...}'}
- name: by dc
  description: data centres
  rules: [{type: TAGK, field: dc}, {type: TAGK, field: host, regex: '(\w+)', displayFormat: 'host {value}'}, {type: METRIC}]
`)
	if err != nil {
		t.Fatal(err)
	}
	o.Graphite.Trees = trees
	tool, err := openTreeTool(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range treeTestSeries() { // one after the other: UIDs in this order
		if _, errs := tool.tables.Resolve(t.Context(), []storage.Series{one}); errs != nil {
			t.Fatal(errs)
		}
	}
	if err := tool.engine.Close(); err != nil {
		t.Fatal(err)
	}
	return o
}

func treeTestSeries() []storage.Series {
	return []storage.Series{
		{Metric: "cpu.user", Tags: []storage.Tag{{Key: "host", Value: "web01"}}},
		{Metric: "cpu.user", Tags: []storage.Tag{{Key: "dc", Value: "dal"}, {Key: "host", Value: "web02"}}},
		{Metric: "carbon.a.b", Tags: []storage.Tag{{Key: "-_", Value: "1"}}},
		{Metric: "single", Tags: []storage.Tag{{Key: "-_", Value: "1"}}},
		{Metric: "cpu.user", Tags: []storage.Tag{{Key: "cpu", Value: "1"}, {Key: "host", Value: "web01"}}},
	}
}

// TestTreeCommands runs the data file about the tree commands, each line of an input one command:
//
//	sync [from]              SyncTrees
//	show [tree [path [depth]]]   ShowTree
//	test trees name          TestTree; * is all trees
func TestTreeCommands(t *testing.T) {
	o := treeTestOptions(t)
	datadriven.RunTest(t, "testdata/tree_commands", func(t *testing.T, d *datadriven.TestData) string {
		var out strings.Builder
		args := strings.Split(d.Input, "\n")
		at := func(i int) string {
			if i < len(args) {
				return args[i]
			}
			return ""
		}
		var err error
		switch d.Cmd {
		case "sync":
			s := DefaultSyncOptions()
			s.From = at(0)
			err = SyncTrees(t.Context(), o, s, &out)
		case "show":
			depth, _ := strconv.Atoi(at(2))
			err = ShowTree(t.Context(), o, "", at(0), at(1), depth, &out)
		case "test":
			err = TestTree(t.Context(), o, "", at(1), strings.Fields(strings.Trim(at(0), "*")), &out)
		default:
			d.Fatalf(t, "unknown command")
		}
		if err != nil {
			return out.String() + "error: " + strings.ReplaceAll(err.Error(), o.Path, "PATH") + "\n"
		}
		return out.String()
	})
}

// A command that finds neither a store that it can open nor a running adapter reports that.
func TestTreeCommandsWithoutStore(t *testing.T) {
	o := treeTestOptions(t)
	tool, err := openTreeTool(o)
	if err != nil {
		t.Fatal(err)
	}
	o.ListenAddress = "127.0.0.1:1"
	for _, command := range []func() error{
		func() error { return ShowTree(t.Context(), o, "", "", "", 1, io.Discard) },
		func() error { return SyncTrees(t.Context(), o, DefaultSyncOptions(), io.Discard) },
	} {
		if err := command(); err == nil || !strings.Contains(err.Error(), "--adapter-url") {
			t.Errorf("a command on a store that is open: %v", err)
		}
	}
	if err := tool.engine.Close(); err != nil {
		t.Error(err)
	}
	o.Engine = EngineMemory
	if err := ShowTree(t.Context(), o, "", "", "", 1, io.Discard); err == nil {
		t.Error("a command on the memory engine goes through")
	}
	o.Engine, o.Path = EngineEmbedded, filepath.Join(o.Path, "nowhere")
	if err := ShowTree(t.Context(), o, "", "", "", 1, io.Discard); err == nil || !strings.Contains(err.Error(), "there is no store") {
		t.Errorf("a command without a store: %v", err)
	}
}

// The API of a running adapter returns the same.
func TestTreeAPI(t *testing.T) {
	o := treeTestOptions(t)
	if err := SyncTrees(t.Context(), o, DefaultSyncOptions(), io.Discard); err != nil {
		t.Fatal(err)
	}
	tool, err := openTreeTool(o)
	if err != nil {
		t.Fatal(err)
	}
	defer tool.engine.Close()
	if _, err := tool.Forest.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	routes := chi.NewRouter()
	(&trees.API{Printer: tool.Printer}).Routes(routes)
	for _, c := range []struct {
		name   string
		path   string
		form   url.Values
		status int
		wants  []string
	}{
		{"all", trees.StatusPath, nil, 200, []string{`"leaves":8`, `"name":"by dc"`, `"default":true`, `"noInverse":"strictMatch is off`}},
		{"one", trees.TestPath, url.Values{"name": {"servers.web01.cpu.user"}, "tree": {"servers"}}, 200, []string{
			`"inverse":"tree 1 (servers)"`, `"tsuid":"000001000001000001"`, `"path":"servers.web01.cpu.user"`, `"messages":["Processing rule: [1:0:0:METRIC]"`,
		}},
		{"no name", trees.TestPath, nil, 400, []string{"the name is empty"}},
		{"bad labels", trees.TestPath, url.Values{"name": {"{}}"}}, 400, []string{"bad_data"}},
		{"no tree", trees.TestPath, url.Values{"name": {"a.b"}, "tree": {"7"}}, 404, []string{"have 1 (servers), 2 (by dc)"}},
	} {
		w := httptest.NewRecorder()
		routes.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, c.path+"?"+c.form.Encode(), nil))
		for _, want := range c.wants {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: %s is not in\n%s", c.name, want, w.Body)
			}
		}
		if w.Code != c.status {
			t.Errorf("%s: status %d, want %d", c.name, w.Code, c.status)
		}
	}
}
