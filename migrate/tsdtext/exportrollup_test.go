package tsdtext

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// exportedRollups has rows of hours, months and years, and an interval that keeps groups beside series.
const exportedRollups = `{"aggregationIds":{"sum":0,"count":1,"min":2,"max":3,"p99":17},"intervals":[
	{"table":"tsdb","preAggregationTable":"pre","interval":"1m","rowSpan":"1h","defaultInterval":true},
	{"table":"t10m","preAggregationTable":"pre-10m","interval":"10m","rowSpan":"6h"},
	{"table":"t1h","preAggregationTable":"t1h","interval":"1h","rowSpan":"1n"},
	{"table":"t1d","preAggregationTable":"pre-1d","interval":"1d","rowSpan":"1y"}]}`

// rolledStore runs a store with rollup tables.
func rolledStore(t *testing.T, db kv.KV, config *rollup.Config, exclusive bool) (*store.Store, func()) {
	t.Helper()
	return runStoreWith(t, db, func(o *store.Options) { o.Exclusive, o.Rollups = exclusive, config })
}

func rolledTables(config *rollup.Config) []kv.Table {
	tables := exportTables()
	for _, name := range config.Tables() {
		tables = append(tables, kv.Table{Name: name, Families: []string{schema.FamilyData}})
	}
	return tables
}

func parsedRollups(t *testing.T) *rollup.Config {
	t.Helper()
	config, err := rollup.ParseConfig([]byte(exportedRollups), aggregate.Exists)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// rolledImporter takes rolled up values.
func rolledImporter(s *store.Store) *Importer {
	return NewImporter(ImportOptions{
		Appender: s, AutoCreate: put.AutoCreate{Metrics: true, TagKeys: true, TagValues: true}, SeriesCache: 1000, Rollups: s.Rollups(), RollupTag: "_aggregate",
	})
}

// rolledCells lists the cells of all rollup tables, with the names of their series; of two values of one interval the newer one.
func rolledCells(t *testing.T, db kv.KV, store *store.Store, config *rollup.Config) []string {
	t.Helper()
	type newest struct {
		stamp int64
		text  string
	}
	all := map[string]newest{}
	for _, table := range config.Tables() {
		for row, err := range db.Scan(t.Context(), kv.Scan{Table: table, Family: schema.FamilyData}) {
			if err != nil {
				t.Fatal(err)
			}
			key, err := schema.DefaultLayout().ParseRowKey(row.Key)
			if err != nil {
				t.Fatal(err)
			}
			named, err := store.Catalog().NameSeries(t.Context(), [][]byte{key.AppendTSUID(nil)})
			if err != nil || len(named) != 1 {
				t.Fatal(named, err)
			}
			for _, c := range row.Cells {
				q := c.Qualifier
				if name, rest, ok := bytes.Cut(q, []byte(":")); ok && len(q) > 4 {
					q = append([]byte{config.IDs[string(name)]}, rest...)
				}
				flags := q[len(q)-1] & 15
				q = append(slices.Clone(q[:len(q)-1]), q[len(q)-1]&^15)
				at := fmt.Sprintf("%s %s %d %x", table, named[0].Series, key.Base, q)
				if was, ok := all[at]; !ok || c.Time > was.stamp {
					all[at] = newest{c.Time, fmt.Sprintf("%x %x", flags, c.Value)}
				}
			}
		}
	}
	var lines []string
	for at, v := range all {
		lines = append(lines, at+" "+v.text)
	}
	slices.Sort(lines)
	return lines
}

// exportRolled writes all ranges of rolled up values, as text.
func exportRolled(t *testing.T, store *store.Store, shared bool, q ExportQuery, window int) exported {
	t.Helper()
	return exportWith(t, ExportOptions{Store: store, Shared: shared, Rollups: store.Rollups()}, q, window)
}

// rolledPoint is a value that finite cells have, of any width.
func rolledPoint(r *rand.Rand) schema.Point {
	for {
		bits, form := testValue(r)
		values := schema.ValuesAuto
		if r.IntN(3) == 0 {
			values = schema.ValuesDouble
		}
		if p, ok := schema.ValuePoint(0, math.Float64frombits(bits), form, values); ok {
			return p
		}
	}
}

// Rolled up values of series and groups are in the same cells, with the same bytes, after they were exported and imported into an
// empty store, on every kind of tables and however the reading is cut.
func TestExportImportRollups(t *testing.T) {
	config := parsedRollups(t)
	for seed := range uint64(8) {
		exclusive := seed%2 == 0
		r := rand.New(rand.NewPCG(seed, 11))
		db := kv.KV(kv.NewMem(rolledTables(config)...))
		if !exclusive {
			db = kv.NewShared(rolledTables(config)...)
		}
		store, stop := rolledStore(t, db, config, exclusive)
		o := put.DefaultOptions()
		o.Appender, o.Rollups, o.Rollup, o.Registerer = store, store.Rollups(), put.RollupConfig{TagKey: "_aggregate", RawTag: []string{"", "RAW"}[seed%2]}, prometheus.NewRegistry()
		puts := put.New(o)
		lines := put.NewExportedRollups("_aggregate", store.Rollups(), store, putline.NameRules{MaxTags: o.MaxTags})
		begins := []int64{1356998400, 1357500000}
		for range 1 + r.IntN(4) {
			var values []string
			var series []storage.Series
			var points []rollup.Point
			for range 200 + r.IntN(400) {
				s := testSeries(6)[r.IntN(6)]
				at := begins[r.IntN(len(begins))] + r.Int64N(1+r.Int64N(90000))
				aggregation := []string{"sum", "COUNT", "min", "p99"}[r.IntN(4)]
				interval, group := []string{"", "10m", "1h", "1d"}[r.IntN(4)], ""
				if interval == "" || r.IntN(3) == 0 {
					group = []string{"sum", "MAX", "p99"}[r.IntN(3)]
				}
				value, ok := finiteText(testValue(r))
				if !ok {
					continue
				}
				if r.IntN(2) == 0 { // with floats of 8 bytes
					values = append(values, sentRolled(s, at, interval, aggregation, group, value))
					continue
				}
				one, err := lines.ParseLine(rolledWords(s, at, interval, aggregation, group, value, r.IntN(2) == 0))
				if err != nil {
					t.Fatal(err)
				}
				series, points = append(series, one.Series), append(points, one.Value)
			}
			putRolled(t, puts, values)
			if refused, err := lines.Store(t.Context(), series, points); err != nil || slices.ContainsFunc(refused, func(err error) bool { return err != nil }) {
				t.Fatal(err, refused)
			}
		}
		foreignRollups(t, r, db, store)
		want := rolledCells(t, db, store, config)
		for _, window := range []int{0, 20} {
			out := exportRolled(t, store, !exclusive, ExportQuery{End: storage.MaxTime, With: []string{WithRollups}}, window)
			to := kv.NewMem(rolledTables(config)...)
			other, stopOther := rolledStore(t, to, config, true)
			stored, err := rolledImporter(other).Store(t.Context(), []byte(out.text), false)
			if err != nil || stored.Bad > 0 || int64(stored.Points) != out.points {
				t.Fatalf("seed %d: %v, %+v, %d points of %d", seed, err, stored.Shown, stored.Points, out.points)
			}
			if diff := cmp.Diff(want, rolledCells(t, to, other, config)); diff != "" || out.leftOut > 0 {
				t.Fatalf("seed %d, window %d: %d left out (%s), %s", seed, window, out.leftOut, out.reason, diff)
			}
			again := exportRolled(t, other, false, ExportQuery{End: storage.MaxTime, With: []string{WithRollups}}, 0)
			if d := cmp.Diff(sortedLines(out.text), sortedLines(again.text)); d != "" {
				t.Fatalf("seed %d: what was imported is exported otherwise: %s", seed, d)
			}
			stopOther()
		}
		some := exportRolled(t, store, !exclusive, ExportQuery{Start: 1356998400000 + 1, End: 1356998400000 + 40000000, Match: []string{"sys.m1{dc=*}"}, With: []string{WithRollups}}, 0)
		if some.points == 0 {
			t.Error("nothing is exported of a match")
		}
		for line := range strings.Lines(some.text) {
			var word, metric string
			var at int64
			if _, err := fmt.Sscan(strings.TrimPrefix(line, "rollup "), &word, &metric, &at); err != nil || metric != "sys.m1" || at <= 1356998400 || at > 1356998400+40000 {
				t.Errorf("exported, but not asked for: %s", line)
			}
		}
		stop()
	}
}

// finiteText returns the text of a value, unless it is not finite.
func finiteText(bits uint64, form storage.Form) (text string, ok bool) {
	if form == storage.FormInteger {
		return strconv.FormatInt(int64(bits), 10), true
	}
	v := math.Float64frombits(bits)
	return string(appendFloat(nil, bits)), !math.IsNaN(v) && !math.IsInf(v, 0)
}

// sentRolled returns a value as it is put.
func sentRolled(s storage.Series, at int64, interval, aggregation, group, value string) string {
	tags := map[string]string{}
	for _, tag := range s.Tags {
		tags[tag.Key] = tag.Value
	}
	text, _ := json.Marshal(map[string]any{"metric": s.Metric, "timestamp": at, "value": value, "tags": tags, "interval": interval, "aggregator": aggregation, "groupByAggregator": group})
	return string(text)
}

// rolledWords returns a value as the words of an exported line; double: a float takes 8 bytes.
func rolledWords(s storage.Series, at int64, interval, aggregation, group, value string, double bool) []string {
	by := group
	if interval != "" {
		if by = interval + "-" + aggregation; group != "" {
			by += ":" + group
		}
	}
	if double && strings.ContainsAny(value, ".eE") {
		value += put.DoubleSuffix
	}
	words := []string{by, s.Metric, strconv.FormatInt(at, 10), value}
	for _, tag := range s.Tags {
		words = append(words, tag.Key+"="+tag.Value)
	}
	return words
}

// putRolled puts values of sentRolled.
func putRolled(t *testing.T, puts *put.Store, values []string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/api/rollup?details", strings.NewReader("["+strings.Join(values, ",")+"]"))
	put.NewHandler(put.DefaultHandlerOptions(), puts, nil, nil).ServeHTTP(w, r)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"failed":0`) {
		t.Fatal(w.Code, w.Body)
	}
}

// foreignRollups puts cells as other writers have them: named aggregations, floats of 8 bytes that have room in 4, and of several types.
func foreignRollups(t *testing.T, r *rand.Rand, db kv.KV, store *store.Store) {
	t.Helper()
	refs, errs := store.Resolve(t.Context(), testSeries(6))
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	stamp := int64(1400000000000)
	for range 40 {
		m := kv.Mutation{Key: schema.DefaultLayout().AppendRowKey(nil, store.Catalog().TSUIDOf(refs[r.IntN(len(refs))]), 1357020000+21600*uint32(r.IntN(3)))}
		puts := map[string]bool{}
		for range 1 + r.IntN(20) {
			p := rolledPoint(r)
			q := schema.RollupQualifier(byte(r.IntN(4)), r.IntN(36), p.Flags)
			if r.IntN(2) == 0 {
				q = append([]byte([]string{"sum:", "count:", "min:", "max:"}[q[0]]), q[1:]...)
			}
			if !puts[string(q)] {
				puts[string(q)] = true
				stamp += 10
				m.Puts = append(m.Puts, kv.Put{Qualifier: q, Value: p.AppendValue(nil), Time: stamp})
			}
		}
		if err := db.Apply(t.Context(), "t10m", schema.FamilyData, []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
}

func sortedLines(text string) []string {
	lines := slices.Collect(strings.Lines(text))
	slices.Sort(lines)
	return lines
}

// Values that have no line are counted, with the reason.
func TestExportRollupsLeftOut(t *testing.T) {
	config := parsedRollups(t)
	db := kv.NewMem(rolledTables(config)...)
	store, stop := rolledStore(t, db, config, true)
	defer stop()
	refs, _ := store.Resolve(t.Context(), []storage.Series{{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "a"}}}})
	key := schema.DefaultLayout().AppendRowKey(nil, store.Catalog().TSUIDOf(refs[0]), 1356998400)
	for _, c := range []struct {
		table, qualifier, value, want string
		left                          int64
	}{
		{"t10m", "\x00\x00\x00", "\x07", "", 0},
		{"t10m", "\x05\x00\x00", "\x07", "no aggregation has the id 5", 1},
		{"t10m", "avg:\x00\x00", "\x07", `no aggregation is named "avg"`, 1},
		{"t10m", "\x00\x02\x40", "\x07", "interval 36 is not one of the row at 1356998400", 1},
		{"t10m", "\x00\x00\x0f", "\x7f\xf0\x00\x00\x00\x00\x00\x00", "it is not a finite number", 1},
		{"t10m", "\x00\x00\x0f", "\x7f\xf0", "its value has 2 bytes", 1},
		{"t10m", "\x52\x00\x00", "window", "", 0},
		{"t10m", "x", "y", "", 0}, // no reader sees it
		{"pre-10m", "\x00\x00\x00", "\x07", "no tag _aggregate tells the aggregator of its group", 1},
		{"pre", "\xf0\x00\x00\x40", "\x07", "no tag _aggregate", 1},
	} {
		if err := db.Apply(t.Context(), c.table, schema.FamilyData, []kv.Mutation{{Key: key, Puts: []kv.Put{{Qualifier: []byte(c.qualifier), Value: []byte(c.value)}}}}); err != nil {
			t.Fatal(err)
		}
		out := exportRolled(t, store, false, ExportQuery{End: storage.MaxTime, With: []string{WithRollups}}, 0)
		if out.leftOut != c.left || !strings.Contains(out.reason, c.want) || c.left == 0 && c.table == "t10m" && c.qualifier[0] == 0 && out.text != "rollup 10m-sum m 1356998400 7 host=a\n" {
			t.Errorf("%s %x: %+v, want %q", c.table, c.qualifier, out, c.want)
		}
		if err := db.Apply(t.Context(), c.table, schema.FamilyData, []kv.Mutation{{Key: key, DeleteRow: true}}); err != nil {
			t.Fatal(err)
		}
	}
}

// The last interval that has a time is exported, too.
func TestExportLastRollup(t *testing.T) {
	config := parsedRollups(t)
	db := kv.NewMem(rolledTables(config)...)
	store, stop := rolledStore(t, db, config, true)
	defer stop()
	refs, _ := store.Resolve(t.Context(), []storage.Series{{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "a"}}}})
	key := schema.DefaultLayout().AppendRowKey(nil, store.Catalog().TSUIDOf(refs[0]), math.MaxUint32/21600*21600)
	if err := db.Apply(t.Context(), "t10m", schema.FamilyData, []kv.Mutation{{Key: key, Puts: []kv.Put{{Qualifier: []byte{1, 0, 0x20}, Value: []byte{5}}}}}); err != nil {
		t.Fatal(err)
	}
	out := exportRolled(t, store, false, ExportQuery{End: storage.MaxTime, With: []string{WithRollups}}, 0)
	if want := "rollup 10m-count m 4294966800 5 host=a\n"; out.text != want {
		t.Errorf("exported: %q, want %q", out.text, want)
	}
}

// Lines of rolled up values that are wrong are bad.
func TestImportBadRollups(t *testing.T) {
	config := parsedRollups(t)
	db := kv.NewMem(rolledTables(config)...)
	store, stop := rolledStore(t, db, config, true)
	defer stop()
	for _, c := range []struct{ line, bad string }{
		{"rollup 1356998400 1 host=a", ""}, // a metric
		{"rollup 1h-sum m 1356998400 1 host=a", ""},
		{"rollup 1h-sum:max m 0ms 1.5d host=a", ""},
		{"rollup max m 1356998400 1.5 host=a _aggregate=max", ""},
		{"rollup 1h-sum m 1356998400 1 host=a _aggregate=RAW", ""},
		{"rollup 1h-sum m 1500ms 1 host=a", "Invalid character 'm'"},
		{"rollup 1h-sum:max m 1356998400 1 host=a _aggregate=min", "did not match the group by aggregator"},
		{"rollup 1h-sum:nope m 1356998400 1 host=a", "Invalid group by aggregator nope"},
		{"rollup 7h-sum m 1356998400 1 host=a", "No rollups configured for the interval: 7h"},
		{"rollup 1h-avg m 1356998400 1 host=a", "No ID found mapping to aggregator: avg"},
		{"rollup 1h-sum m 1356998400 NaN host=a", "Invalid character 'N'"},
		{"rollup 1h-sum m 4294967296 1 host=a", "bad timestamp"},
		{"rollup 1h-sum m 0 1 host=a", "invalid timestamp: 0"},
		{"rollup 1h-sum m 1356998400 1", "not enough arguments"},
		{"rollup 1h-sum m:n 1356998400 1 host=a", "illegal character: :"},
	} {
		stored, err := rolledImporter(store).Store(t.Context(), []byte(c.line+"\n"), true)
		bad := ""
		for _, b := range stored.Shown {
			bad += b.Reason
		}
		if err != nil || !strings.Contains(bad, c.bad) || (c.bad == "") != (stored.Points == 1) || (bad != "") != (c.bad != "") {
			t.Errorf("%s: %v, %d points, bad %q, want %q", c.line, err, stored.Points, bad, c.bad)
		}
	}
	if stored, err := testImporter(store).Store(t.Context(), []byte("rollup 1h-sum m 1356998400 1 host=a\n"), true); err != nil || stored.Bad != 1 || !strings.Contains(stored.Shown[0].Reason, "--storage.rollups") {
		t.Errorf("without rollups: %v, %+v", err, stored)
	}
	got := rolledCells(t, db, store, config)
	if d := cmp.Diff([]string{
		"pre m{_aggregate=max,host=a} 1356998400 0000 b 3fc00000",
		"t1h m{_aggregate=MAX,host=a} 0 000000 f 3ff8000000000000",
		"t1h m{_aggregate=RAW,host=a} 1356998400 000000 0 01",
		"t1h m{host=a} 1356998400 000000 0 01",
	}, got); d != "" {
		t.Error(d)
	}
}

// An export goes on at each block where another one, of the same store, ended.
func TestExportRollupsResumed(t *testing.T) {
	config := parsedRollups(t)
	store, stop := rolledStore(t, kv.NewMem(rolledTables(config)...), config, true)
	defer stop()
	var lines strings.Builder
	for n := range 3000 {
		fmt.Fprintf(&lines, "rollup %s-sum m%d %d %d host=a\n", []string{"10m", "1h", "1d"}[n%3], n%7, 1356998400+n*7200, n)
	}
	if stored, err := rolledImporter(store).Store(t.Context(), []byte(lines.String()), false); err != nil || stored.Points != 3000 {
		t.Fatal(err, stored)
	}
	q := ExportQuery{End: storage.MaxTime, With: []string{WithRollups}}
	x, err := NewExporter(exportOptions(ExportOptions{Store: store, Rollups: store.Rollups()}), q)
	if err != nil {
		t.Fatal(err)
	}
	x.windowPoints = 10
	whole := sortedLines(exportRolled(t, store, false, q, 0).text)
	var got []string
	for after := (pipeline.Range{}); ; {
		ranges, err := x.Ranges(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if len(ranges) == 0 {
			break
		}
		for _, after = range ranges {
			for rest := after; rest.From <= rest.To; { // each read ends at its first block that tells how far it is
				ctx, end := context.WithCancel(t.Context())
				var kept, lines []string
				err := x.Read(ctx, rest, func(b pipeline.Block) error {
					if lines = append(lines, sortedLines(string(b.Text))...); b.Until > 0 {
						kept, rest.From = lines, b.Until
						end()
						return context.Canceled
					}
					return nil
				})
				if end(); err == nil || len(kept) != len(lines) {
					t.Fatal(err, len(kept), len(lines))
				}
				got = append(got, kept...)
			}
		}
	}
	slices.Sort(got)
	if d := cmp.Diff(whole, got); d != "" || len(got) != 3000 {
		t.Errorf("%d lines: %s", len(got), d)
	}
	if _, err := x.Ranges(t.Context(), pipeline.Range{Part: "2h of t2h"}); err == nil || !strings.Contains(err.Error(), `no rolled up values "2h of t2h"`) {
		t.Errorf("after an unknown part: %v", err)
	}
}

// An export without rolled up values says so when there are some.
func TestExportBehind(t *testing.T) {
	config := parsedRollups(t)
	store, stop := rolledStore(t, kv.NewMem(rolledTables(config)...), config, true)
	defer stop()
	behind := func(with ...string) string {
		t.Helper()
		x, err := NewExporter(exportOptions(ExportOptions{Store: store, Rollups: store.Rollups(), Budget: query.NewBudget(1 << 20)}), ExportQuery{End: storage.MaxTime, With: with})
		if err != nil {
			t.Fatal(err)
		}
		text, err := x.Behind(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	if got := behind(); got != "" {
		t.Errorf("nothing is there: %s", got)
	}
	if _, err := rolledImporter(store).Store(t.Context(), []byte("rollup 1h-sum m 1356998400 1 host=a\nrollup sum m 1356998400 1 host=a\n"), false); err != nil {
		t.Fatal(err)
	}
	if got := behind(); got != "the rolled up values of pre, t1h were not exported: --with=rollups" {
		t.Error(got)
	}
	if got := behind(WithRollups); got != "" {
		t.Error(got)
	}
}
