package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/tree"
)

// treeTestOptions are an embedded store with four series that hang nowhere yet, and two trees in the configuration.
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
	_, errs := tool.tables.Resolve(t.Context(), treeTestSeries())
	if err := errors.Join(append(errs, tool.engine.Close())...); err != nil {
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
	}
}

func TestTreeCommands(t *testing.T) {
	o := treeTestOptions(t)
	said := func(command func(ctx context.Context, out *strings.Builder) error) string {
		t.Helper()
		var out strings.Builder
		if err := command(t.Context(), &out); err != nil {
			t.Fatalf("%v after\n%s", err, out.String())
		}
		return out.String()
	}
	for _, c := range []struct {
		name    string
		command func(ctx context.Context, out *strings.Builder) error
		want    string
	}{
		{"sync", func(ctx context.Context, out *strings.Builder) error { return SyncTrees(ctx, o, DefaultSyncOptions(), out) }, `4 series, 11 branches and 5 leaves written
tree 1 (servers): 1 hung, 0 strays, 0 collided, 0 of one name, 0 without a match, 3 refused by strict match, 0 failed
tree 2 (by dc): 2 hung, 0 strays, 0 collided, 2 of one name, 0 without a match, 0 refused by strict match, 0 failed
tree 3 (graphite): 2 hung, 0 strays, 0 collided, 0 of one name, 0 without a match, 0 refused by strict match, 0 failed
in 0s
`},
		{"sync again", func(ctx context.Context, out *strings.Builder) error { return SyncTrees(ctx, o, DefaultSyncOptions(), out) }, ""},
		{"show", func(ctx context.Context, out *strings.Builder) error { return ShowTree(ctx, o, "by dc", "", 1, out) }, ""},
		{"show all", func(ctx context.Context, out *strings.Builder) error { return ShowTree(ctx, o, "", "", 1, out) }, ""},
		{"below", func(ctx context.Context, out *strings.Builder) error { return ShowTree(ctx, o, "2", "dal", 2, out) }, ""},
		{"everything", func(ctx context.Context, out *strings.Builder) error { return ShowTree(ctx, o, "graphite", ".", 0, out) }, ""},
		{"test", func(ctx context.Context, out *strings.Builder) error { return TestTree(ctx, o, "servers.web01.cpu.user", []string{"1"}, out) }, ""},
		{"test labels", func(ctx context.Context, out *strings.Builder) error { return TestTree(ctx, o, `cpu.user{host="web01"}`, nil, out) }, ""},
		{"test tagged", func(ctx context.Context, out *strings.Builder) error { return TestTree(ctx, o, "cpu.user;host=web09", []string{"by dc"}, out) }, ""},
		{"test plain", func(ctx context.Context, out *strings.Builder) error { return TestTree(ctx, o, "carbon.a.b", []string{"graphite"}, out) }, ""},
		{"test TSUID", func(ctx context.Context, out *strings.Builder) error { return TestTree(ctx, o, "000001000001000001", []string{"2"}, out) }, ""},
	} {
		t.Logf("%s:\n%s", c.name, said(c.command))
	}
}
