package adapter

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
)

// metricsPage is the reference of the metrics, made from those that are registered: go test ./adapter -run
// MetricsPage -rewrite.
const metricsPage = "../docs/metrics.md"

// metricSections are the sections of the page. A metric stands in the one with the longest prefix.
var metricSections = []struct{ prefix, title, intro string }{
	{"tsdbridge_", "The process", "Whether it serves, and what it is."},
	{"tsdbridge_config_", "The configuration", "Whether the file was loaded; see [configuration.md](configuration.md)."},
	{"tsdbridge_port_", "Ports", "Connections of each port: `http`, `carbon`, `carbon_pickle`, `carbon_protobuf`, `opentsdb`."},
	{"tsdbridge_web_", "HTTP", "All requests of the HTTP port, but for remote write."},
	{"tsdbridge_write_", "Remote write", "Received = written + rejected + failed + deduplicated, for each protocol and kind."},
	{"tsdbridge_write_dedup_", "HA pairs", "With `--write.dedup.cluster-label`; see [ha.md](ha.md)."},
	{"tsdbridge_carbon_", "Carbon's listener", "Lines = points + rejected lines + lost points + held points. A point of a frame of pickle or protobuf counts as a line."},
	{"tsdbridge_carbon_aggregation_", "Carbon's aggregation", "With `--carbon.aggregation-rules`. Inputs = those in aggregates + dropped ones; see [carbon.md](carbon.md)."},
	{"tsdbridge_carbon_forward_", "Sending on to other carbons", "With `--carbon.forward`, for each destination; see [carbon.md](carbon.md)."},
	{"tsdbridge_graphite_points_", "Points from carbon's listener", "Received = written + rejected + failed."},
	{"tsdbridge_graphite_", "Graphite's API", "See [graphite.md](graphite.md)."},
	{"tsdbridge_opentsdb_", "OpenTSDB's port", "Received = written + rejected + failed, for each protocol; see [opentsdb.md](opentsdb.md)."},
	{"tsdbridge_quer", "Queries", "All languages: PromQL, Graphite's targets, OpenTSDB's queries, remote read. The memory is that of `--query.max-memory-bytes`."},
	{"tsdbridge_query_cache_", "Kept answers of range queries", "See [promql.md](promql.md)."},
	{"tsdbridge_promql_", "PromQL", "See [promql.md](promql.md)."},
	{"tsdbridge_remote_write_", "Sending on by remote write", "With `remote_write` in the configuration file, for each destination; see [forwarding.md](forwarding.md)."},
	{"tsdbridge_federation_", "Federation", "See [prometheus.md](prometheus.md#federation)."},
	{"tsdbridge_remote_read_", "Remote read", "See [prometheus.md](prometheus.md)."},
	{"tsdbridge_log_", "The log", "The log of points, which a start replays (`points`), and that of new series of the embedded store (`series`)."},
	{"tsdbridge_head_", "Points in memory, and their flush", "Points are in the log and in memory until a flush puts their rows into the tables; see [durability.md](durability.md)."},
	{"tsdbridge_store_", "The store", "Series, UIDs, appends, rows, deletions, and how queries are read."},
	{"tsdbridge_embedded_", "The embedded engine", "With `--storage.engine=embedded`; see [maintenance.md](maintenance.md)."},
	{"tsdbridge_backup_", "Backups", "Of the embedded store; see [maintenance.md](maintenance.md)."},
	{"tsdbridge_hbase_", "HBase", "With `--storage.engine=hbase`; see [hbase.md](hbase.md)."},
	{"tsdbridge_closed_rows_", "Compaction of closed rows", "With `--storage.engine=hbase`; see [hbase.md](hbase.md)."},
	{"tsdbridge_retention_", "Retention", "With `--storage.retention`; see [maintenance.md](maintenance.md)."},
	{"tsdbridge_retention_rules_", "Rules of the retention", "With `retention` in the configuration file; see [maintenance.md](maintenance.md)."},
	{"tsdbridge_rollup_fill_", "Filling of rollup tables", "With `rollups` in the configuration file; see [rollups.md](rollups.md)."},
	{"tsdbridge_tracing_", "Traces", "With `--tracing.endpoint`; see [tracing.md](tracing.md)."},
	{"tsdbridge_tree_", "Trees", "See [trees.md](trees.md)."},
}

// document is what the page shows of a metric.
type document struct {
	name, kind, help string
	labels           map[string]map[string]bool // values by name
	engines          map[string]bool
}

func TestMetricsPage(t *testing.T) {
	all := documentedMetrics(t)
	want := renderMetrics(t, all)
	if *rewrite {
		if err := os.WriteFile(metricsPage, []byte(want), 0o644); err != nil { //nolint:gosec // a document
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(metricsPage)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s differs from the code; go test ./adapter -run MetricsPage -rewrite (-code +page):\n%s", metricsPage, diff)
	}
}

// Names follow Prometheus' conventions, and no metric has the name of another one when OpenMetrics takes _total
// from the names of counters.
func TestMetricNames(t *testing.T) {
	all := documentedMetrics(t)
	for _, d := range all {
		if base, ok := strings.CutSuffix(d.name, "_total"); ok && all[base].name != "" {
			t.Errorf("%s and %s have one name in OpenMetrics", d.name, base)
		}
		if strings.HasSuffix(d.name, "_seconds") && d.kind == "histogram" && !strings.HasSuffix(d.name, "_duration_seconds") {
			t.Errorf("%s: a histogram of durations ends in _duration_seconds", d.name)
		}
		if !strings.HasSuffix(d.help, ".") {
			t.Errorf("%s: the help %q is no sentence", d.name, d.help)
		}
	}
	for name, text := range mentionedMetrics(t) {
		if all[name].name == "" && !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(of string) bool { return strings.HasPrefix(of, name+"_") }) {
			t.Errorf("%s names %s, which is no metric", text, name)
		}
	}
}

// mentionedMetrics returns the metrics that the page and the documents name, with a file of each.
func mentionedMetrics(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	name := regexp.MustCompile(`tsdbridge_[a-z][a-z0-9_]*[a-z0-9]\b`)
	beginning := regexp.MustCompile(`_$|…|[{]`) // of several names
	for _, pattern := range []string{"../docs/*.md", "../README.md", "../web/app/src/*/*.tsx"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range name.FindAllIndex(text, -1) {
				if at[0] > 0 && text[at[0]-1] == ':' {
					continue // a recorded one
				}
				rest := string(text[at[1]:min(at[1]+3, len(text))])
				if metric := string(text[at[0]:at[1]]); !beginning.MatchString(rest) || strings.HasPrefix(rest, "{") && !strings.Contains(rest, ",") {
					found[sampleName.ReplaceAllString(metric, "")] = file
				}
			}
		}
	}
	return found
}

// sampleName is what the names of a histogram's samples have besides its own. No other metric of ours ends in it.
var sampleName = regexp.MustCompile(`_(bucket|sum|count)$`)

// documentedMetrics returns the metrics of adapters that have everything switched on, on both engines.
func documentedMetrics(t *testing.T) map[string]document {
	t.Helper()
	all := map[string]document{}
	for _, engine := range []string{tables.EngineEmbedded, tables.EngineHBase} {
		a := adapterWithEverything(t, engine)
		families, err := a.registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range families {
			if strings.HasPrefix(f.GetName(), "tsdbridge_") {
				d := all[f.GetName()]
				d.add(f, engine)
				all[f.GetName()] = d
			}
		}
		problems, err := promlint.NewWithMetricFamilies(families).Lint()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range problems {
			if strings.HasPrefix(p.Metric, "tsdbridge_") {
				t.Errorf("%s: %s", p.Metric, p.Text)
			}
		}
		for _, d := range described(a.registry) {
			if all[d.name].name == "" {
				all[d.name] = d
			}
			all[d.name].engines[engine] = true
		}
	}
	return all
}

func (d *document) add(f *dto.MetricFamily, engine string) {
	if d.labels == nil {
		*d = document{f.GetName(), strings.ToLower(f.GetType().String()), f.GetHelp(), map[string]map[string]bool{}, map[string]bool{}}
	}
	d.engines[engine] = true
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if d.labels[l.GetName()] == nil {
				d.labels[l.GetName()] = map[string]bool{}
			}
			d.labels[l.GetName()][l.GetValue()] = true
		}
	}
}

// described returns all metrics of a registry, with those that have no series yet, of which only the names tell the
// type.
func described(r *prometheus.Registry) (all []document) {
	descs := make(chan *prometheus.Desc)
	go func() { r.Describe(descs); close(descs) }()
	parts := regexp.MustCompile(`fqName: "([^"]+)", help: "(.*?)", (?:unit: ".*", )?constLabels: .*, variableLabels: {(.*)}}`)
	for desc := range descs {
		part := parts.FindStringSubmatch(desc.String())
		d := document{name: part[1], help: part[2], kind: "gauge", labels: map[string]map[string]bool{}, engines: map[string]bool{}}
		switch {
		case strings.HasSuffix(d.name, "_total"):
			d.kind = "counter"
		case strings.HasSuffix(d.name, "_duration_seconds"):
			d.kind = "histogram"
		}
		for label := range strings.SplitSeq(part[3], ",") {
			d.labels[label] = nil
		}
		if strings.HasPrefix(d.name, "tsdbridge_") {
			all = append(all, d)
		}
	}
	return all
}

// adapterWithEverything returns an adapter whose options switch everything on that has metrics. It does not run.
func adapterWithEverything(t *testing.T, engine string) *Adapter {
	t.Helper()
	dir := t.TempDir()
	rules := filepath.Join(dir, "rules")
	if err := os.WriteFile(rules, []byte("<env>.requests (10) = sum <env>.*.requests\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	web := filepath.Join(dir, "web.yml")
	if err := os.WriteFile(web, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.WebConfigFile = web
	o.Engine, o.ZooKeeper, o.Path, o.ListenAddress = engine, "127.0.0.1:1", filepath.Join(dir, "store"), "127.0.0.1:0"
	o.Carbon.ListenAddress, o.Carbon.PickleAddress, o.Carbon.ProtobufAddress = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	o.Carbon.Aggregation.Rules, o.Carbon.Forward.Addresses = rules, []string{"carbon:2003"}
	o.OpenTSDB.ListenAddress = "127.0.0.1:0"
	o.Prometheus.Write.Dedup.ClusterLabel, o.Prometheus.Write.Dedup.ReplicaLabel = "cluster", "replica"
	o.Rollups = filepath.Join("config", "testdata", "rollups.json")
	o.PromConfig = mustParseProm(t, dir, "remote_write: [{url: 'http://mirror:9201/api/v1/write'}]")
	var err error
	if o.RetentionRules, err = parsed(t, config.ParseRetention, `- {matcher: "{job=\"a\"}", age: 1d}`); err != nil {
		t.Fatal(err)
	}
	if o.FillRules, err = parsed(t, config.ParseFill, "[{intervals: [1h]}]"); err != nil {
		t.Fatal(err)
	}
	if engine == tables.EngineEmbedded {
		o.Retention = 24 * 365 * time.Hour
	}
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// renderMetrics renders the metrics as Markdown.
func renderMetrics(t *testing.T, all map[string]document) string {
	t.Helper()
	alerts := alertsOfMetrics(t)
	sections := map[string][]document{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		prefix := ""
		for _, s := range metricSections {
			if strings.HasPrefix(name, s.prefix) && len(s.prefix) > len(prefix) {
				prefix = s.prefix
			}
		}
		sections[prefix] = append(sections[prefix], all[name])
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# Metrics

<!-- Made from the code: go test ./adapter -run MetricsPage -rewrite -->

The %d metrics of `+"`/metrics`"+`. Counters begin at 0 when the process starts. Bytes are bytes, times are seconds. The last column
has the [alerts](monitoring.md#alerts) that use a metric: their text tells what to do. Metrics of Go (`+"`go_`"+`), of the process (`+"`process_`"+`),
of Prometheus' engine (`+"`prometheus_engine_`"+`), of [rules](rules.md) (`+"`prometheus_rule_`, `prometheus_notifications_`"+`) and, on HBase, of its client (`+"`gohbase_`"+`) are there in addition.
`, len(all))
	for _, s := range metricSections {
		if len(sections[s.prefix]) == 0 {
			t.Errorf("no metric is in the section %q", s.title)
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| metric | type | labels | what it means | alerts |\n|---|---|---|---|---|\n", s.title, s.intro)
		for _, d := range sections[s.prefix] {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.name, d.kind, renderLabels(d.labels), strings.ReplaceAll(d.meaning(), "|", `\|`), alerts[d.name])
		}
	}
	return b.String()
}

// meaning is the help, with the engine if there is only one that its section does not name.
func (d document) meaning() string {
	own := strings.HasPrefix(d.name, "tsdbridge_embedded_") || strings.HasPrefix(d.name, "tsdbridge_hbase_") || strings.HasPrefix(d.name, "tsdbridge_closed_rows_")
	if own || len(d.engines) > 1 {
		return d.help
	}
	return d.help + " (" + slices.Sorted(maps.Keys(d.engines))[0] + ")"
}

// renderLabels renders labels, each with its values if they are words of ours.
func renderLabels(labels map[string]map[string]bool) string {
	open := []string{"version", "revision", "goversion", "goos", "goarch", "destination", "tree"}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		text := "`" + name + "`"
		if len(labels[name]) > 0 && !slices.Contains(open, name) {
			text += ": " + strings.Join(slices.Sorted(maps.Keys(labels[name])), ", ")
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// alertsOfMetrics returns links to the alerts that use each metric, itself or by a recording rule.
func alertsOfMetrics(t *testing.T) map[string]string {
	t.Helper()
	links := map[string][]string{}
	recorded := map[string][]string{}
	for _, group := range ruleGroups(t) {
		for _, r := range group.Rules {
			names := metricsOf(t, r.Expr, recorded)
			if r.Record != "" {
				recorded[r.Record] = names
				continue
			}
			for _, name := range names {
				if link := fmt.Sprintf("[%s](monitoring.md#%s)", strings.TrimPrefix(r.Alert, "Tsdbridge"), strings.ToLower(r.Alert)); !slices.Contains(links[name], link) {
					links[name] = append(links[name], link)
				}
			}
		}
	}
	out := map[string]string{}
	for name, l := range links {
		out[name] = strings.Join(l, ", ")
	}
	return out
}

// ruleGroups returns the groups of deploy/prometheus/rules, those with recording rules first.
func ruleGroups(t *testing.T) (groups []rulefmt.RuleGroup) {
	t.Helper()
	files, err := filepath.Glob("../deploy/prometheus/rules/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		all, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatalf("%s: %v", file, errs)
		}
		groups = append(groups, all.Groups...)
	}
	slices.SortStableFunc(groups, func(a, b rulefmt.RuleGroup) int { return cmp.Compare(recordsOf(b), recordsOf(a)) })
	return groups
}

func recordsOf(g rulefmt.RuleGroup) (n int) {
	for _, r := range g.Rules {
		if r.Record != "" {
			n = 1
		}
	}
	return n
}

// metricsOf returns the metrics of an expression. A recorded one stands for those of its rule.
func metricsOf(t *testing.T, expr string, recorded map[string][]string) (names []string) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	parser.Inspect(parsed, func(n parser.Node, _ []parser.Node) error {
		s, ok := n.(*parser.VectorSelector)
		switch {
		case !ok:
		case recorded[s.Name] != nil:
			names = append(names, recorded[s.Name]...)
		default:
			names = append(names, sampleName.ReplaceAllString(s.Name, ""))
		}
		return nil
	})
	return names
}
