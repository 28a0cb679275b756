package main

import (
	goparser "go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// doors lists, for each room (package), the rooms that it may import. A room that is not listed may
// not exist.
var doors = map[string][]string{
	".":                       {"adapter", "adapter/admin", "adapter/config", "commands", "commands/ask", "commands/maintain", "commands/migrate", "commands/rules", "ingest/listen", "nearest", "opentsdb/conf", "regular", "systemd", "tracing"},
	"adapter":                 {"adapter/admin", "adapter/backups", "adapter/config", "adapter/memory", "adapter/status", "adapter/trees", "adapter/webconfig", "adapter/webport", "budget", "copying", "explain", "folder", "graphite", "graphite/files", "graphite/intake", "graphite/source", "ingest/listen", "lastlog", "opentsdb", "prometheus", "prometheus/appendable", "prometheus/extract", "prometheus/forward", "prometheus/queryable", "prometheus/reply", "prometheus/rules", "refused", "regular", "running", "seldom", "spool", "storage", "storage/fsck", "storage/hbase", "storage/kv", "storage/log", "storage/pebble", "storage/rollup", "storage/schema", "tally", "tracing", "translate", "tree", "web"},
	"adapter/admin":           {"adapter/backups", "budget", "copying", "graphite/files", "graphite/whisper", "opentsdb", "opentsdb/query", "prometheus", "prometheus/appendable", "prometheus/columns", "prometheus/extract", "prometheus/pathlabel", "prometheus/reply", "prometheus/rules", "storage", "storage/fsck", "storage/kv", "storage/schema", "transfer", "tree"},
	"adapter/adaptertest":     {"adapter", "adapter/config", "commands/commandstest", "storage"},
	"adapter/backups":         {"folder", "prometheus/reply", "statefile", "storage"},
	"adapter/config":          {"prometheus/pathlabel", "prometheus/rules", "regular", "storage", "storage/fill", "storage/rollup", "storage/schema", "translate", "tree"},
	"adapter/memory":          {"budget"},
	"adapter/status":          {"graphite/tagspec", "lastlog", "phrase", "prometheus/reply", "refused", "storage", "storage/hbase", "storage/kv", "storage/pebble", "translate"},
	"adapter/trees":           {"prometheus/reply", "storage", "storage/kv", "storage/schema", "translate", "tree", "tree/glob"},
	"adapter/webconfig":       {"recent", "regular"},
	"adapter/webport":         {"ingest/listen", "prometheus"},
	"budget":                  {},
	"commands":                {"opentsdb/query"},
	"commands/ask":            {"adapter", "adapter/admin", "commands", "opentsdb", "opentsdb/client", "opentsdb/compare", "opentsdb/query", "transfer"},
	"commands/commandstest":   {"commands"},
	"commands/maintain":       {"adapter", "adapter/admin", "adapter/backups", "adapter/trees", "commands", "folder", "storage/fsck", "storage/pebble", "storage/schema", "tree"},
	"commands/migrate":        {"adapter", "adapter/admin", "commands", "copying", "graphite/ceres", "graphite/files", "graphite/whisper", "opentsdb", "opentsdb/query", "prometheus/appendable", "prometheus/blocks", "prometheus/columns", "prometheus/fetch", "prometheus/jsonlines", "prometheus/object", "prometheus/openmetrics", "prometheus/parquet", "prometheus/vmnative", "regular", "storage", "storage/kv", "storage/pebble", "storage/schema", "transfer"},
	"commands/rules":          {"adapter", "adapter/admin", "commands", "prometheus/rules"},
	"copying":                 {"budget", "recent", "retry", "statefile", "storage", "storage/archive", "storage/rollup", "storage/schema", "transfer", "tree"},
	"decimal":                 {},
	"explain":                 {"tally"},
	"flights":                 {"budget", "running", "tracing", "turns"},
	"folder":                  {},
	"graphite":                {"budget", "decimal", "explain", "flights", "graphite/carbon", "graphite/carbonapi", "graphite/conf", "graphite/eval", "graphite/events", "graphite/expr", "graphite/files", "graphite/intake", "graphite/pickle", "graphite/picture", "graphite/pyregexp", "graphite/source", "graphite/tagspec", "ingest/listen", "recent", "refused", "regular", "running", "storage", "tally", "tracing", "translate", "tree", "turns"},
	"graphite/aggregator":     {"graphite/conf"},
	"graphite/carbon":         {"decimal", "graphite/pickle", "ingest/listen", "refused", "retry", "turns"},
	"graphite/carbonapi":      {},
	"graphite/ceres":          {"graphite/conf", "graphite/whisper"},
	"graphite/conf":           {"graphite/pyregexp", "recent"},
	"graphite/eval":           {"budget", "decimal", "explain", "graphite/expr", "graphite/pyregexp", "nearest", "running", "turns"},
	"graphite/events":         {"storage"},
	"graphite/expr":           {},
	"graphite/files":          {"graphite/ceres", "graphite/conf", "graphite/eval", "graphite/intake", "graphite/source", "graphite/whisper", "storage", "transfer"},
	"graphite/forward":        {"graphite/carbon", "graphite/pickle", "retry", "spool", "storage/log"},
	"graphite/graphitetest":   {"graphite/conf", "storage", "storage/kv", "storage/schema", "translate", "tree"},
	"graphite/intake":         {"graphite/aggregator", "graphite/carbon", "graphite/conf", "graphite/forward", "ingest", "ingest/listen", "recent", "refused", "regular", "retry", "spool", "storage", "translate", "tree"},
	"graphite/pickle":         {},
	"graphite/picture":        {"budget", "decimal", "turns"},
	"graphite/pyregexp":       {"internal/backtrack"},
	"graphite/source":         {"budget", "graphite/conf", "graphite/eval", "graphite/tagspec", "recent", "running", "storage", "translate", "tree", "turns"},
	"graphite/whisper":        {"graphite/conf"},
	"graphite/tagspec":        {"graphite/eval", "graphite/pyregexp", "storage", "translate"},
	"ingest":                  {"storage", "storage/intern"},
	"ingest/listen":           {"retry"},
	"internal/backtrack":      {},
	"lastlog":                 {},
	"seldom":                  {},
	"nearest":                 {},
	"opentsdb":                {"budget", "decimal", "explain", "ingest", "ingest/listen", "opentsdb/aggregate", "opentsdb/api", "opentsdb/client", "opentsdb/jackson", "opentsdb/query", "opentsdb/reply", "refused", "regular", "running", "storage", "storage/rollup", "storage/schema", "transfer", "tree", "tree/javaregexp", "turns"},
	"opentsdb/aggregate":      {"storage/schema"},
	"opentsdb/api":            {"budget", "explain", "flights", "ingest/listen", "opentsdb/aggregate", "opentsdb/expression", "opentsdb/graph", "opentsdb/jackson", "opentsdb/query", "opentsdb/reply", "running", "storage", "storage/documents", "storage/schema", "tally", "tracing", "tree", "tree/javaregexp", "turns"},
	"opentsdb/client":         {},
	"opentsdb/compare":        {"opentsdb/client", "opentsdb/jackson", "opentsdb/query"},
	"opentsdb/conf":           {},
	"opentsdb/expression":     {"opentsdb/aggregate", "opentsdb/jackson", "opentsdb/jexl", "opentsdb/query", "opentsdb/reply", "storage"},
	"opentsdb/graph":          {},
	"opentsdb/jackson":        {},
	"opentsdb/jexl":           {},
	"opentsdb/query":          {"budget", "explain", "internal/backtrack", "opentsdb/aggregate", "opentsdb/jackson", "opentsdb/reply", "running", "storage", "storage/rollup", "storage/schema", "tree/javaregexp", "turns"},
	"opentsdb/reply":          {},
	"phrase":                  {"graphite/expr", "opentsdb/query"},
	"prometheus/appendable":   {"ingest", "prometheus/columns", "prometheus/object", "storage"},
	"prometheus/blocks":       {"prometheus/columns", "prometheus/object", "storage"},
	"prometheus":              {"budget", "prometheus/appendable", "prometheus/lookback", "prometheus/otlp", "prometheus/pairs", "prometheus/push", "prometheus/query", "prometheus/queryable", "prometheus/read", "prometheus/reply", "prometheus/rules", "prometheus/write", "running", "storage", "translate"},
	"prometheus/bounds":       {"turns"},
	"prometheus/columns":      {"prometheus/object", "storage"},
	"prometheus/forward":      {"prometheus/object", "prometheus/wire", "recent", "retry", "spool", "storage", "storage/log"},
	"prometheus/extract":      {"prometheus/columns", "prometheus/object", "storage"},
	"prometheus/lookback":     {"prometheus/resultcache", "storage"},
	"prometheus/fetch":        {"prometheus/columns"},
	"prometheus/jsonlines":    {},
	"prometheus/object":       {"prometheus/wire", "storage", "storage/schema"},
	"prometheus/openmetrics":  {},
	"prometheus/intake":       {"ingest/listen", "prometheus/reply", "turns"},
	"prometheus/otlp":         {"ingest", "ingest/listen", "prometheus/appendable", "prometheus/intake", "prometheus/object", "prometheus/reply", "prometheus/wire", "recent", "refused", "storage", "turns"},
	"prometheus/parquet":      {"prometheus/columns", "storage"},
	"prometheus/pairs":        {"storage"},
	"prometheus/promtest":     {"budget", "prometheus/object", "prometheus/reply", "storage", "storage/kv", "storage/pebble", "storage/storetest"},
	"prometheus/pathlabel":    {},
	"prometheus/push":         {"ingest/listen", "prometheus/appendable", "prometheus/columns", "prometheus/intake", "prometheus/jsonlines", "prometheus/openmetrics", "prometheus/reply", "prometheus/vmnative", "refused"},
	"prometheus/query":        {"budget", "decimal", "explain", "flights", "prometheus/bounds", "prometheus/columns", "prometheus/lookback", "prometheus/pathlabel", "prometheus/queryable", "prometheus/rangeql", "prometheus/reply", "prometheus/resultcache", "prometheus/vmnative", "running", "storage", "tally", "tracing", "turns"},
	"prometheus/queryable":    {"budget", "prometheus/bounds", "prometheus/object", "prometheus/pathlabel", "prometheus/rangeql", "prometheus/reply", "recent", "running", "spare", "storage", "storage/schema", "translate", "turns"},
	"prometheus/rangeql":      {"budget", "explain", "prometheus/bounds", "running", "tally", "turns", "tracing"},
	"prometheus/read":         {"budget", "prometheus/bounds", "prometheus/object", "prometheus/queryable", "prometheus/rangeql", "prometheus/reply", "prometheus/wire", "running", "storage", "turns"},
	"prometheus/reply":        {"budget", "prometheus/bounds", "storage"},
	"prometheus/resultcache":  {"budget", "prometheus/pathlabel", "prometheus/rangeql", "spare", "storage", "turns"},
	"prometheus/rules":        {"budget", "regular", "retry"},
	"prometheus/vmnative":     {},
	"prometheus/wire":         {},
	"prometheus/write":        {"ingest", "ingest/listen", "prometheus/intake", "prometheus/object", "prometheus/pairs", "prometheus/reply", "prometheus/wire", "refused", "storage", "turns"},
	"statefile":               {"folder"},
	"transfer":                {"retry", "statefile"},
	"translate":               {"storage"},
	"recent":                  {},
	"regular":                 {},
	"refused":                 {},
	"retry":                   {},
	"running":                 {"budget", "explain", "tally", "tracing", "turns"},
	"spare":                   {"budget"},
	"spool":                   {"retry", "statefile", "storage/log"},
	"systemd":                 {},
	"tally":                   {},
	"tracing":                 {"regular"},
	"turns":                   {"budget"},
	"tree":                    {"budget", "internal/backtrack", "retry", "storage", "storage/fsck", "storage/kv", "storage/schema", "tree/glob", "tree/javaregexp", "turns"},
	"tree/glob":               {"storage"},
	"tree/javaregexp":         {"internal/backtrack"},
	"storage/rollup":          {"budget", "storage/index", "storage/kv", "storage/row", "storage/schema", "storage/series", "storage/write", "tally", "turns"},
	"storage/fill":            {"retry", "storage/journal", "storage/kv", "storage/rollup", "storage/schema", "storage/series"},
	"storage/archive":         {"storage/index", "storage/kv", "storage/row", "storage/schema", "storage/series", "storage/write", "tally"},
	"storage/annotations":     {"budget", "storage/index", "storage/kv", "storage/row", "storage/schema", "storage/series", "storage/write"},
	"storage/catalog":         {"budget", "storage/index", "storage/kv", "storage/row", "storage/schema", "storage/series", "storage/uid", "tracing", "turns"},
	"storage/changes":         {"storage/series"},
	"storage/closed":          {"retry", "storage/kv", "storage/row", "storage/schema"},
	"storage/election":        {"storage/kv", "storage/schema"},
	"storage/documents":       {"budget", "storage/index", "storage/kv", "storage/schema", "storage/series", "storage/uid"},
	"storage/fit":             {"storage/kv", "storage/schema"},
	"storage/fsck":            {"statefile", "storage/kv", "storage/row", "storage/schema"},
	"storage/head":            {"storage/row", "storage/schema"},
	"storage/log":             {"folder", "storage/mark"},
	"storage/log/logtest":     {"storage/log"},
	"storage":                 {"recent", "retry", "storage/annotations", "storage/archive", "storage/catalog", "storage/changes", "storage/closed", "storage/documents", "storage/election", "storage/fill", "storage/fit", "storage/fsck", "storage/index", "storage/journal", "storage/kv", "storage/leases", "storage/read", "storage/register", "storage/retain", "storage/rollup", "storage/row", "storage/schema", "storage/series", "storage/uid", "storage/write", "tracing"},
	"storage/hbase":           {"storage/kv", "tracing"},
	"storage/hbase/hbasetest": {},
	"storage/index":           {"storage/intern", "storage/schema"},
	"storage/intern":          {},
	"storage/leases":          {"storage/kv", "storage/schema"},
	"storage/journal":         {"storage/kv", "storage/schema"},
	"storage/kv":              {"tracing"},
	"storage/kv/kvtest":       {"storage/kv"},
	"storage/mark":            {},
	"storage/pebble":          {"folder", "storage/kv", "storage/mark", "storage/schema"},
	"storage/read":            {"budget", "recent", "storage/head", "storage/index", "storage/kv", "storage/row", "storage/schema", "storage/series", "tally", "turns", "tracing"},
	"storage/register":        {"storage/catalog", "storage/index", "storage/kv", "storage/schema", "storage/series", "storage/uid"},
	"storage/retain":          {"retry", "storage/schema", "storage/series"},
	"storage/row":             {"storage/kv", "storage/schema"},
	"storage/schema":          {},
	"storage/series":          {"storage/index", "storage/kv", "storage/schema"},
	"storage/storetest":       {"storage", "storage/kv", "storage/log", "storage/log/logtest", "storage/schema"},
	"storage/uid":             {"storage/intern", "storage/kv", "storage/schema", "storage/series"},
	"storage/write":           {"retry", "storage/catalog", "storage/changes", "storage/head", "storage/index", "storage/journal", "storage/kv", "storage/log", "storage/row", "storage/schema", "storage/series"},
	"docs":                    {},
	"docs/build":              {"docs", "docs/site"},
	"docs/site":               {},
	"web":                     {"docs", "docs/site"},
	"deploy/dist":             {},
	"e2e":                     {},
	"e2e/acceptance":          {"e2e/scale"},
	"e2e/bench":               {"e2e/cluster", "e2e/load"},
	"e2e/cluster":             {},
	"e2e/load":                {},
	"e2e/scale":               {},
}

// outside lists foreign packages that only one room, and the rooms below it, may import.
var outside = map[string]string{
	"github.com/tsuna/gohbase":                        "storage/hbase",
	"github.com/cockroachdb/pebble":                   "storage/pebble",
	"github.com/prometheus/prometheus/prompb":         "prometheus",
	"github.com/prometheus/prometheus/storage/remote": "prometheus",
}

// forTests are rooms that no shipped binary contains: servers, fakes and suites of tests.
var forTests = map[string]bool{
	"adapter/adaptertest": true, "docs/build": true, "e2e": true, "e2e/acceptance": true, "e2e/bench": true, "e2e/cluster": true, "e2e/load": true, "e2e/scale": true, "graphite/graphitetest": true, "prometheus/promtest": true, "storage/hbase/hbasetest": true, "storage/kv/kvtest": true,
	"storage/log/logtest": true, "storage/storetest": true,
}

const module = "github.com/tsdbridge/tsdbridge"

// Every import of every shipped file is one of the doors.
func TestArchitecture(t *testing.T) {
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "data" || d.Name() == "testdata") {
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return err
		}
		if strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, "_test.go") {
			checkImports(t, filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func checkImports(t *testing.T, file string) {
	t.Helper()
	room := path.Dir(file)
	open, ok := doors[room]
	if !ok {
		t.Errorf("%s: there is no room %s", file, room)
		return
	}
	f, err := goparser.ParseFile(token.NewFileSet(), file, nil, goparser.ImportsOnly)
	if err != nil {
		t.Error(err)
		return
	}
	for _, spec := range f.Imports {
		name := strings.Trim(spec.Path.Value, `"`)
		if name == module || strings.HasPrefix(name, module+"/") {
			if to := strings.TrimPrefix(strings.TrimPrefix(name, module), "/"); !slices.Contains(open, to) {
				t.Errorf("%s: %s has no door to %s", file, room, to)
			}
		}
		for prefix, home := range outside {
			if (name == prefix || strings.HasPrefix(name, prefix+"/")) && !within(room, home) && !forTests[room] {
				t.Errorf("%s: %s belongs to %s alone", file, name, home)
			}
		}
	}
}

// within reports whether a room is home or one of the rooms in it.
func within(room, home string) bool {
	return room == home || strings.HasPrefix(room, home+"/")
}

// Each room has a row in ARCHITECTURE.md, and each Go file that the documents name exists.
func TestDocuments(t *testing.T) {
	architecture := readFile(t, "ARCHITECTURE.md")
	for room := range doors {
		if !strings.Contains(architecture, "`"+room+"`") {
			t.Errorf("ARCHITECTURE.md has no row for %s", room)
		}
	}
	named := regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_]+)+\\.go)`")
	pages, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, "README.md", "ARCHITECTURE.md", "RATIONALE.md", "CONTRIBUTING.md") {
		for _, m := range named.FindAllStringSubmatch(readFile(t, page), -1) {
			if _, err := os.Stat(filepath.FromSlash(m[1])); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
