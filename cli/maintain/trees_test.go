package maintain

import (
	"encoding/json"
	"errors"
	"fmt"
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

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/adapter/trees"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// treeTestOptions returns an embedded store with five series that are in no tree yet, and two trees
// in the configuration.
func treeTestOptions(t *testing.T) adapter.Options {
	t.Helper()
	o := adapter.DefaultOptions()
	o.Path = t.TempDir()
	now := time.Unix(1_700_000_000, 0)
	o.Now = func() time.Time { return now }
	o.Graphite.Trees = adaptertest.Trees(t, `
- {name: servers, path: 'servers.{host}.{metric...}'}
- name: by dc
  description: data centres
  rules: [{type: TAGK, field: dc}, {type: TAGK, field: host, regex: '(\w+)', displayFormat: 'host {value}'}, {type: METRIC}]
`)
	made, err := adapter.OpenTrees(o)
	if err == nil {
		err = made.Close()
	}
	if err == nil {
		err = tables.Read(t.Context(), o.Options, func(_ kv.KV, store *store.Store) error {
			for _, one := range treeTestSeries() { // one after the other: UIDs in this order
				if _, errs := store.Resolve(t.Context(), []storage.Series{one}); errs != nil {
					return errors.Join(errs...)
				}
			}
			return nil
		})
	}
	if err != nil {
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
	tool, err := adapter.OpenTrees(o)
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
	if err := tool.Close(); err != nil {
		t.Error(err)
	}
	o.Engine = tables.EngineMemory
	if err := ShowTree(t.Context(), o, "", "", "", 1, io.Discard); err == nil {
		t.Error("a command on the memory engine goes through")
	}
	o.Engine, o.Path = tables.EngineEmbedded, filepath.Join(o.Path, "nowhere")
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
	tool, err := adapter.OpenTrees(o)
	if err != nil {
		t.Fatal(err)
	}
	defer tool.Close()
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

// serversOptions returns a store with a tree in the configuration.
func serversOptions(t *testing.T) adapter.Options {
	t.Helper()
	o := adaptertest.Options(t, write.Through)
	o.Now = promtest.Now
	o.Graphite.Trees = adaptertest.Trees(t, "- {name: servers, path: 'servers.{host}.{metric...}'}\n")
	return o
}

// waitSynced waits until all existing series are in all trees.
func waitSynced(t *testing.T, a *adapter.Adapter) {
	t.Helper()
	// polling, with a deadline
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		s := a.Trees().Follower().State()
		if !s.Running && len(s.Waiting) == 0 && len(a.Trees().Forest().Trees()) > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("trees still wait: %+v", s)
		}
	}
}

// The commands answer the same whether an adapter has the store open or not.
func TestTreeCommandsWithRunningAdapter(t *testing.T) {
	o := serversOptions(t)
	a, stop := adaptertest.Run(t, o)
	for n := range 20 {
		if _, errs := a.Store().Resolve(t.Context(), []storage.Series{{Metric: "load", Tags: []storage.Tag{{Key: "host", Value: fmt.Sprintf("web%04d", n)}}}}); errs != nil {
			t.Fatal(errs)
		}
	}
	waitSynced(t, a)
	run := func(o adapter.Options) string {
		t.Helper()
		var out strings.Builder
		s := DefaultSyncOptions()
		s.Every = time.Nanosecond
		for _, err := range []error{
			SyncTrees(t.Context(), o, s, &out),
			ShowTree(t.Context(), o, "", "", "", 1, &out), ShowTree(t.Context(), o, "", "servers", "servers", 0, &out),
			TestTree(t.Context(), o, "", `load{host="web0003"}`, []string{"servers"}, &out),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		var lines []string
		for line := range strings.Lines(out.String()) {
			if !strings.HasPrefix(line, "done up to") && !strings.HasPrefix(line, "in ") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	second := o
	second.ListenAddress = a.Addr()
	remote := run(second)
	if err := TestTree(t.Context(), second, "", "a.b", []string{"none"}, io.Discard); err == nil || !strings.Contains(err.Error(), "no such tree") {
		t.Errorf("test of no tree: %v", err)
	}
	// The adapter of a URL is asked, whatever store there is here.
	elsewhere := adaptertest.Options(t, write.Through)
	var shown strings.Builder
	if err := ShowTree(t.Context(), elsewhere, "http://"+a.Addr(), "", "", 1, &shown); err != nil || !strings.Contains(shown.String(), "servers") {
		t.Errorf("shown by --adapter-url: %v, %s", err, shown.String())
	}
	stop()
	local := run(o)
	if remote != local || !strings.Contains(local, "servers.web0019.load") || !strings.Contains(local, "20 series") {
		t.Errorf("asked of an adapter:\n%s\nalone:\n%s", remote, local)
	}
}

// Without the admin API the adapter does not accept the request to go over all series, and the
// command names what is missing.
func TestTreeSyncNeedsAdmin(t *testing.T) {
	o := serversOptions(t)
	o.AdminAPI = false
	a, _ := adaptertest.Run(t, o)
	waitSynced(t, a)
	o.ListenAddress = a.Addr()
	if err := SyncTrees(t.Context(), o, DefaultSyncOptions(), io.Discard); err == nil || !strings.Contains(err.Error(), "--web.enable-admin-api") {
		t.Errorf("sync without the admin API: %v", err)
	}
	var status struct {
		Data trees.Status
	}
	if err := json.Unmarshal([]byte(servertest.Text(t, a, trees.StatusPath)), &status); err != nil || !status.Data.Loaded || len(status.Data.Sync.Waiting) > 0 {
		t.Errorf("status %+v, %v", status, err)
	}
	if text := servertest.Text(t, a, trees.ShowPath+"?"+url.Values{"tree": {"servers"}}.Encode()); !strings.Contains(text, "tree 1 (servers), strict match") {
		t.Errorf("show: %s", text)
	}
}
