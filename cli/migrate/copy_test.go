package migrate

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/adapter"
	"github.com/tsdbridge/tsdbridge/adapter/adaptertest"
	"github.com/tsdbridge/tsdbridge/adapter/admin"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/cli/command"
	"github.com/tsdbridge/tsdbridge/cli/command/commandtest"
	"github.com/tsdbridge/tsdbridge/cli/session"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/archive"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

const copyRollups = `{"aggregationIds": {"sum": 0, "count": 1, "max": 2}, "intervals": [
 {"table": "tsdb", "preAggregationTable": "p", "interval": "1m", "rowSpan": "1h", "defaultInterval": true},
 {"table": "t1h", "preAggregationTable": "p1h", "interval": "1h", "rowSpan": "1d"}]}`

// copyOptions returns the options of a store of an engine, with layouts that differ.
func copyOptions(t *testing.T, engine string, n int) adapter.Options {
	t.Helper()
	o := adapter.DefaultOptions()
	o.ListenAddress, o.AdminAPI = "127.0.0.1:0", true
	o.Path, o.Rollups = filepath.Join(t.TempDir(), "store"), copyRollups
	o.Engine = engine
	o.MetricWidth, o.TagkWidth, o.TagvWidth = []int{3, 4, 2}[n%3], []int{3, 2, 8}[n%3], []int{3, 4, 5}[n%3]
	o.SaltWidth, o.SaltBuckets = []int{0, 1, 0}[n%3], []int{20, 3, 20}[n%3]
	if engine == tables.EngineHBase {
		tables := map[string][]string{}
		for _, table := range o.Tables() {
			tables[table.Name] = table.Families
		}
		o.ZooKeeper = hbasetest.Start(t, tables).ZooKeeper()
	}
	return o
}

// A filler puts random things of all kinds into a store.
type filler struct {
	t   *testing.T
	rng *rand.Rand
	a   *adapter.Adapter
}

// copyBegin is the time of the first points.
const copyBegin = 1_700_000_000_000

func (f *filler) series(n int) storage.Series {
	return storage.Series{
		Metric: fmt.Sprintf("m\u00e4.%d", n%5),
		Tags:   []storage.Tag{{Key: "host", Value: fmt.Sprint("h", n/5)}, {Key: "zone", Value: []string{"a", "b"}[n%2]}},
	}
}

func (f *filler) check(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *filler) at() int64 {
	t := copyBegin + f.rng.Int64N(40*24)*3_600_000 + f.rng.Int64N(3600)*1000
	if f.rng.IntN(3) == 0 {
		t += f.rng.Int64N(1000)
	}
	return t
}

func (f *filler) value() float64 {
	switch f.rng.IntN(8) {
	case 0:
		return math.Inf(1 - 2*f.rng.IntN(2))
	case 1:
		return math.Float64frombits(0x7ff0000000000002) // stale
	case 2:
		return math.Float64frombits(0x7ff8000000000001 + f.rng.Uint64N(100))
	case 3:
		return math.Copysign(0, -1)
	case 4:
		return f.rng.NormFloat64() * 1e300
	case 5:
		return float64(f.rng.IntN(100))
	}
	return f.rng.NormFloat64()
}

// fill puts things of so many series.
func (f *filler) fill(count int) {
	f.t.Helper()
	ctx, s := f.t.Context(), f.a.Store()
	var all []storage.Series
	for n := range count {
		all = append(all, f.series(n))
	}
	refs, errs := s.Resolve(ctx, all)
	if errs != nil {
		f.t.Fatal(errs)
	}
	b := &storage.Batch{}
	var coded []storage.CodedHistogram
	var notes []storage.Annotation
	var rolled []rollup.Point
	hour, _ := s.Rollups().Config().Interval("1h")
	for n, ref := range refs[:count*4/5] {
		for range 1 + f.rng.IntN(60) {
			f.point(b, ref)
		}
		if n%3 == 0 {
			at := f.at()
			coded = append(coded, storage.CodedHistogram{Ref: ref, Time: at, Value: []byte{0, byte(n), 1, 2}})
			if at%1000 == 0 { // two of one instant
				coded = append(coded, storage.CodedHistogram{Ref: ref, Time: at, Millis: true, Value: []byte{0, byte(n), 3}})
			}
			notes = append(notes, storage.Annotation{
				TSUID: schema.FormatTSUID(s.Catalog().TSUIDOf(ref)), Start: f.at() / 1000, Description: fmt.Sprint("n\u00f6te ", n), Custom: map[string]string{"k": "v"},
			})
		}
		if n%4 == 0 {
			f.check(s.Archives().Put(ctx, ref, []storage.ArchiveSlots{{Step: 300, Times: []int64{copyBegin / 1000 / 300 * 300, copyBegin/1000/300*300 + 300*5000}, Values: []float64{1.5, float64(n)}}}))
			v, _ := schema.FloatPoint(0, f.rng.Float64(), schema.ValuesAuto)
			rolled = append(rolled,
				rollup.Point{Series: ref, Time: copyBegin / 1000, Interval: hour, Aggregation: "sum", Value: v},
				rollup.Point{Series: ref, Time: copyBegin/1000 + 86400, Interval: hour, Aggregation: "max", Value: schema.IntPoint(0, int64(n)), Group: true})
		}
	}
	notes = append(notes, storage.Annotation{Start: f.at(), Description: "an event", Custom: map[string]string{"id": "7", "tags": "a b"}})
	f.check(s.Append(ctx, b))
	f.check(s.PutHistograms(ctx, coded))
	_, err := s.Annotations().Put(ctx, storage.ReplaceAnnotation, notes)
	f.check(err)
	f.check(s.Rollups().Put(ctx, rolled))
	f.documents(refs)
	f.tree()
}

// point adds a random point or object.
func (f *filler) point(b *storage.Batch, ref storage.Ref) {
	at := f.at()
	switch f.rng.IntN(8) {
	case 0:
		b.AddForm(ref, at, math.Float64frombits(f.rng.Uint64()), storage.FormInteger)
	case 1:
		b.AddForm(ref, at, f.rng.Float64(), storage.FormDouble)
	case 2:
		b.AddObject(ref, at, storage.KindHistogram, []byte(fmt.Sprint("histogram ", f.rng.IntN(1000))))
	case 3:
		b.AddObject(ref, at, storage.KindExemplar, []byte(fmt.Sprint("exemplar ", f.rng.IntN(1000))))
		b.AddObject(ref, at, storage.KindExemplar, []byte(fmt.Sprint("exemplar ", f.rng.IntN(1000))))
	case 4:
		b.Add(ref, at, f.value())
		b.AddObject(ref, at, storage.KindStartTime, []byte{byte(f.rng.IntN(100))})
	default:
		b.Add(ref, at, f.value())
	}
}

// documents edits documents of series and names.
func (f *filler) documents(refs []storage.Ref) {
	ctx, d := f.t.Context(), f.a.Store().Documents()
	f.check(d.PutMetadata(ctx, map[string]storage.Metadata{f.series(0).Metric: {Type: "counter", Help: "help \"me\"", Unit: "seconds"}}))
	edit, err := schema.ParseTSMetaEdit([]byte(`{"displayName":"shown","custom":{"a":"b"},"max":3.5}`))
	f.check(err)
	f.check(d.EditSeriesMeta(ctx, f.a.Store().Catalog().TSUIDOf(refs[1]), &edit, false))
	f.check(d.SetSeriesCustom(ctx, "step", []storage.CustomEdit{{Ref: refs[2], New: "60"}}))
	_, errs := f.a.Store().Names().Assign(ctx, storage.TagKeyName, []string{"unused"})
	f.check(errsOf(errs))
}

func errsOf(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tree makes a tree with two rules.
func (f *filler) tree() {
	e := f.a.Trees().Editor()
	id, err := e.Create(f.t.Context(), schema.Tree{Name: "by host", Description: "d", StoreFailures: true})
	f.check(err)
	rule := func(r schema.TreeRule) forest.RuleEdit {
		return forest.RuleEdit{Level: r.Level, Change: func(schema.TreeRule, bool) (schema.TreeRule, error) { return r, nil }}
	}
	f.check(e.EditRules(f.t.Context(), id, []forest.RuleEdit{
		rule(schema.TreeRule{Type: "TAGK", Field: "host"}), rule(schema.TreeRule{Type: "METRIC", Level: 1, Separator: "\\."}),
	}))
	f.check(e.Edit(f.t.Context(), id, func(t *schema.Tree) { t.Enabled = true }))
}

// dump returns all that a store holds as text, under names that do not depend on UIDs.
func dump(t *testing.T, a *adapter.Adapter) map[string]string {
	t.Helper()
	d := &dumper{t: t, a: a, all: map[string]string{}}
	d.series()
	d.global()
	return d.all
}

type dumper struct {
	t   *testing.T
	a   *adapter.Adapter
	all map[string]string
}

func (d *dumper) check(err error) {
	d.t.Helper()
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *dumper) add(key, format string, args ...any) {
	d.all[key] += fmt.Sprintf(format, args...) + "\n"
}

// series dumps series by series.
func (d *dumper) series() {
	ctx, s := d.t.Context(), d.a.Store()
	d.check(s.Catalog().EachTSUID(ctx, storage.SeriesScan{}, func(tsuids [][]byte) error {
		named, err := s.Catalog().NameSeries(ctx, tsuids)
		d.check(err)
		for _, one := range named {
			d.one(one)
		}
		return nil
	}))
}

func (d *dumper) one(one storage.NewSeries) {
	ctx, s, name := d.t.Context(), d.a.Store(), one.String()
	refs, err := s.Catalog().Refs([][]byte{one.TSUID})
	d.check(err)
	meta, ok, err := s.Documents().SeriesMeta(ctx, one.TSUID)
	d.check(err)
	meta.TSUID = ""
	d.add(name, "document %v %s", ok, meta.AppendTo(nil))
	q := storage.Query{Refs: refs, End: storage.MaxTime, Samples: true, Integers: true, Exemplars: true, Histograms: true}
	for p, err := range s.Select(ctx, q) {
		d.check(err)
		for i, at := range p.Times {
			d.add(name, "%d %016x", at, math.Float64bits(p.Values[i]))
		}
		for _, i := range p.Integers {
			d.add(name, "integer %d %d", i.Time, i.Value)
		}
		slices.SortStableFunc(p.Objects, func(a, b storage.Object) int {
			return cmp.Or(cmp.Compare(a.Time, b.Time), bytes.Compare(a.Data, b.Data))
		})
		for _, o := range p.Objects {
			d.add(name, "object %d %d %v %q", o.Time, o.Kind, o.Millis, o.Data)
		}
	}
	notes, err := s.Annotations().List(ctx, storage.AnnotationRange{TSUID: schema.FormatTSUID(one.TSUID), From: 0, To: storage.MaxTime}, 0)
	d.check(err)
	for _, note := range notes {
		note.TSUID = ""
		d.add(name, "annotation %s", schema.AppendAnnotation(nil, note))
	}
}

// global dumps what is of no series, and what is found by rows.
func (d *dumper) global() {
	ctx, s := d.t.Context(), d.a.Store()
	names := func(tsuid []byte) string {
		named, err := s.Catalog().NameSeries(ctx, [][]byte{tsuid})
		if err != nil || len(named) != 1 {
			d.t.Fatal(named, err)
		}
		return named[0].String()
	}
	d.check(s.Archives().Each(ctx, nil, func(row archive.SeriesSlots) error {
		for _, slots := range row.Slots {
			d.add("archive "+names(row.TSUID), "%v", slots)
		}
		return row.Bad
	}))
	for _, part := range s.Rollups().Config().Parts() {
		metrics, err := s.Metrics(ctx, 0, storage.MaxTime)
		d.check(err)
		uids, err := s.Names().Lookup(ctx, storage.MetricName, metrics)
		d.check(err)
		for _, uid := range uids {
			for row, err := range s.Rollups().Rows(ctx, part, uid, 0, math.MaxUint32) {
				d.check(err)
				for _, v := range row.Values {
					d.add(part.String()+" "+names(row.TSUID), "%s %d %d %x", v.Aggregation, v.Time, v.Point.Flags, v.Point.Bits)
				}
			}
		}
	}
	notes, err := s.Annotations().List(ctx, storage.AnnotationRange{From: 0, To: storage.MaxTime}, 0)
	d.check(err)
	for _, note := range notes {
		d.add("annotations", "%s", schema.AppendAnnotation(nil, note))
	}
	kinds := storage.NameKinds()
	d.check(s.Names().Each(ctx, kinds[:], func(m storage.Mapping) error {
		documents, err := s.Documents().UIDDocuments(ctx, m.Kind, []string{string(m.UID)})
		d.add("name "+m.Name, "%s %s", m.Kind, documents[0])
		return err
	}))
	trees, err := d.a.Trees().Editor().All(ctx)
	d.check(err)
	for _, one := range trees {
		for i := range one.Rules {
			one.Rules[i].TreeID = 0
		}
		d.add("tree "+one.Name, "%+v %+v", one.Tree, one.Rules)
	}
}

// copyAll copies one store into another and returns what is printed.
func copyAll(t *testing.T, from, to CopySide, change ...func(*CopyOptions)) (code int, out string) {
	t.Helper()
	c := DefaultCopyOptions()
	c.From, c.To, c.Patience = from, to, time.Second
	c.From.Given, c.To.Given = cmp.Or(from.Given, "from"), cmp.Or(to.Given, "to")
	for _, f := range change {
		f(&c)
	}
	if err := c.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	return commandtest.Code(t, func(console command.Console) error { return Copy(t.Context(), c, console) })
}

// opened calls use with an adapter of options.
func opened(t *testing.T, o adapter.Options, use func(a *adapter.Adapter)) {
	t.Helper()
	err := session.WriteLocal(t.Context(), o, func(_ context.Context, a *adapter.Adapter) error {
		for a.Trees().Ready() != nil {
			time.Sleep(time.Millisecond)
		}
		use(a)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func dumped(t *testing.T, o adapter.Options) (all map[string]string) {
	t.Helper()
	opened(t, o, func(a *adapter.Adapter) { all = dump(t, a) })
	return all
}

// Everything is equal in all bits after a copy through stores of all engines and other layouts.
func TestCopyAround(t *testing.T) {
	for n, engines := range [][]string{
		{tables.EngineEmbedded, tables.EngineEmbedded, tables.EngineEmbedded},
		{tables.EngineEmbedded, tables.EngineHBase, tables.EngineEmbedded},
		{tables.EngineHBase, tables.EngineEmbedded, tables.EngineHBase},
	} {
		t.Run(strings.Join(engines, " "), func(t *testing.T) {
			var sides []CopySide
			for i, engine := range engines {
				sides = append(sides, CopySide{Options: copyOptions(t, engine, i)})
			}
			var want map[string]string
			opened(t, sides[0].Options, func(a *adapter.Adapter) {
				(&filler{t, rand.New(rand.NewPCG(uint64(n), 1)), a}).fill(50)
			})
			want = dumped(t, sides[0].Options)
			for i := range sides[1:] {
				code, out := copyAll(t, sides[i], sides[i+1])
				if code != 0 {
					t.Fatal(code, out)
				}
				if diff := gocmp.Diff(want, dumped(t, sides[i+1].Options)); diff != "" {
					t.Fatalf("copy %d: %s\n%s", i, out, diff)
				}
			}
			if len(want) < 100 || !bytes.Contains([]byte(want["annotations"]), []byte("event")) {
				t.Errorf("not much was copied: %v", slices.Sorted(maps.Keys(want)))
			}
		})
	}
}

// Running adapters give and take all that their stores hold, also what is only in their memory.
func TestCopyRemote(t *testing.T) {
	from, stopFrom := adaptertest.Run(t, copyOptions(t, tables.EngineEmbedded, 0))
	to, stopTo := adaptertest.Run(t, copyOptions(t, tables.EngineEmbedded, 1))
	defer stopFrom()
	defer stopTo()
	(&filler{t, rand.New(rand.NewPCG(3, 1)), from}).fill(50)
	want := dump(t, from)
	code, out := copyAll(t, CopySide{Given: "http://" + from.Addr()}, CopySide{Given: "http://" + to.Addr() + "/"})
	if code != 0 || !strings.Contains(out, "50 series and") {
		t.Fatal(code, out)
	}
	if diff := gocmp.Diff(want, dump(t, to)); diff != "" {
		t.Error(diff)
	}
	if body := servertest.Text(t, to, admin.TransfersPath); !strings.Contains(body, `"kind":"copy into here"`) {
		t.Error(body)
	}
	// A store that is in use is reached by way of the adapter that has it open.
	o := copyOptions(t, tables.EngineEmbedded, 2)
	used := from.Options()
	used.ListenAddress = from.Addr()
	code, out = copyAll(t, CopySide{Options: used}, CopySide{Options: o})
	if code != 0 {
		t.Fatal(code, out)
	}
	if diff := gocmp.Diff(want, dumped(t, o)); diff != "" {
		t.Error(diff)
	}
}

// What the target has in addition stays, and what the source has at the same place replaces it.
func TestCopyIntoOtherData(t *testing.T) {
	source, target := copyOptions(t, tables.EngineEmbedded, 0), copyOptions(t, tables.EngineEmbedded, 1)
	put := func(o adapter.Options, metrics string, value float64, from, to int) {
		opened(t, o, func(a *adapter.Adapter) {
			for _, metric := range metrics {
				refs, errs := a.Store().Resolve(t.Context(), []storage.Series{{Metric: string(metric), Tags: []storage.Tag{{Key: "k", Value: "v"}}}})
				if err := errsOf(errs); err != nil {
					t.Fatal(err)
				}
				b := &storage.Batch{}
				for n := from; n < to; n++ {
					b.Add(refs[0], copyBegin+int64(n)*600_000, value)
				}
				if err := a.Store().Append(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	put(target, "abc", 1, 0, 20)
	put(source, "bcd", 2, 10, 30)
	if code, out := copyAll(t, CopySide{Options: source}, CopySide{Options: target}, func(c *CopyOptions) { c.Match, c.Rate = []string{"b", "d{k=v}"}, 100 }); code != 0 {
		t.Fatal(code, out)
	}
	got := dumped(t, target)
	count := func(metric string, value float64) int {
		return strings.Count(got[metric+"{k=v}"], fmt.Sprintf(" %016x\n", math.Float64bits(value)))
	}
	for metric, want := range map[string][2]int{"a": {20, 0}, "b": {10, 20}, "c": {20, 0}, "d": {0, 20}} {
		if one, two := count(metric, 1), count(metric, 2); one != want[0] || two != want[1] {
			t.Errorf("%s has %d and %d points, want %v", metric, one, two, want)
		}
	}
	if code, out := copyAll(t, CopySide{Options: source}, CopySide{Options: source}); code != command.ExitUsage || !strings.Contains(out, "the same store") {
		t.Error(code, out)
	}
}

// Rows that cannot be read are listed, and all others are copied.
func TestCopyDamaged(t *testing.T) {
	source, target := copyOptions(t, tables.EngineHBase, 0), copyOptions(t, tables.EngineEmbedded, 1)
	opened(t, source, func(a *adapter.Adapter) {
		(&filler{t, rand.New(rand.NewPCG(4, 1)), a}).fill(30)
	})
	want := dumped(t, source)
	var series string
	opened(t, source, func(a *adapter.Adapter) { // an append cell that ends in the middle of a point, in a row of its own
		s := (&filler{t: t}).series(0)
		series = s.String()
		tsuid, _, err := a.Store().Catalog().TSUID(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		key := a.Options().Layout().AppendRowKey(nil, tsuid, (copyBegin/1000+400*86400)/3600*3600)
		m := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{5, 0, 0}, Value: []byte{0, 7, 1}}}}
		if err := a.Tables().Apply(t.Context(), a.Options().TableData, schema.FamilyData, []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	})
	code, out := copyAll(t, CopySide{Options: source}, CopySide{Options: target})
	if code != command.ExitIncomplete || strings.Count(out, "not copied: ") != 1 || !strings.Contains(out, series+" at 2024-12-18T") || !strings.Contains(out, "1 things were not copied") {
		t.Errorf("%d %s", code, out)
	}
	if diff := gocmp.Diff(want, dumped(t, target)); diff != "" {
		t.Error(diff)
	}
}

// A comparison finds each point that the target lacks, and minds nothing that it has in addition.
func TestCopyVerify(t *testing.T) {
	source, target := copyOptions(t, tables.EngineEmbedded, 0), copyOptions(t, tables.EngineEmbedded, 1)
	opened(t, source, func(a *adapter.Adapter) {
		(&filler{t, rand.New(rand.NewPCG(5, 1)), a}).fill(30)
	})
	all := func(c *CopyOptions) { c.Verify, c.State = VerifyAll, filepath.Join(filepath.Dir(source.Path), "state") }
	code, out := copyAll(t, CopySide{Options: source}, CopySide{Options: target}, all)
	if code != 0 || !strings.Contains(out, "compared: 30 series, ") || !strings.Contains(out, "; 0 series differ, 0 points are missing") {
		t.Fatal(code, out)
	}
	name := (&filler{t: t}).series(3)
	change := func(o adapter.Options, at int64, value float64) {
		opened(t, o, func(a *adapter.Adapter) {
			refs, errs := a.Store().Resolve(t.Context(), []storage.Series{name})
			if err := errsOf(errs); err != nil {
				t.Fatal(err)
			}
			b := &storage.Batch{}
			b.Add(refs[0], at, value)
			if err := a.Store().Append(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		})
	}
	change(target, copyBegin+1, 5) // in addition
	if code, out := copyAll(t, CopySide{Options: source}, CopySide{Options: target}, all); code != 0 || !strings.Contains(out, "0 points copied") {
		t.Error(code, out)
	}
	change(source, copyBegin+2, 5)
	code, out = copyAll(t, CopySide{Options: source}, CopySide{Options: target}, all)
	if code != command.ExitIncomplete || !strings.Contains(out, "differs: points of "+name.String()+": 1 are missing, the first at 2023-11-14T22:13:20Z") || !strings.Contains(out, "1 series differ, 1 points are missing") {
		t.Error(code, out)
	}
}

// A tree that the target's configuration declares stays, and another one of its name is listed.
func TestCopyDeclaredTree(t *testing.T) {
	source, target := copyOptions(t, tables.EngineEmbedded, 0), copyOptions(t, tables.EngineEmbedded, 1)
	opened(t, source, func(a *adapter.Adapter) {
		e := a.Trees().Editor()
		for _, name := range []string{"servers", "own"} {
			id, err := e.Create(t.Context(), schema.Tree{Name: name, Enabled: true})
			if err != nil {
				t.Fatal(err)
			}
			rule := func(schema.TreeRule, bool) (schema.TreeRule, error) { return schema.TreeRule{Type: "METRIC"}, nil }
			if err := e.EditRules(t.Context(), id, []forest.RuleEdit{{Change: rule}}); err != nil {
				t.Fatal(err)
			}
		}
	})
	target.Graphite.Trees = adaptertest.Trees(t, "- {name: servers, path: 'servers.{host}.{metric...}'}\n")
	code, out := copyAll(t, CopySide{Options: source}, CopySide{Options: target})
	if code != command.ExitIncomplete || strings.Count(out, "not copied: ") != 1 || !strings.Contains(out, "not copied: the tree servers: ") {
		t.Error(code, out)
	}
	// The default tree, which the first series makes, is that of each configuration.
	source, target = copyOptions(t, tables.EngineEmbedded, 0), copyOptions(t, tables.EngineEmbedded, 1)
	opened(t, source, func(a *adapter.Adapter) {
		d := forest.NewDefinitions(a.Tables(), a.Options().TableTree)
		id, err := d.Create(t.Context(), schema.Tree{Name: "graphite", Enabled: true})
		if err == nil {
			err = d.PutRule(t.Context(), id, schema.TreeRule{Type: "METRIC", Separator: `\.`})
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if code, out := copyAll(t, CopySide{Options: source}, CopySide{Options: target}); code != 0 {
		t.Error(code, out)
	}
}

// lines are the output of a command, which others wait for.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
	news chan struct{}
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(b)
	select {
	case l.news <- struct{}{}:
	default:
	}
	return len(b), nil
}

// rounds waits until so many more rounds have ended than now.
func (l *lines) rounds(t *testing.T, more int) {
	t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Count(l.text.String(), "following: ")
	}
	for want := count() + more; count() < want; {
		select {
		case <-l.news:
		case <-t.Context().Done():
			t.Fatal(l.text.String())
		case <-time.After(time.Minute):
			t.Fatal("no further round: " + l.text.String())
		}
	}
}

// What is written, corrected and deleted while a copy follows arrives, whatever engine the source has.
func TestCopyFollow(t *testing.T) {
	for _, engine := range []string{tables.EngineEmbedded, tables.EngineHBase} {
		t.Run(engine, func(t *testing.T) {
			from, stopFrom := adaptertest.Run(t, copyOptions(t, engine, 0))
			to, stopTo := adaptertest.Run(t, copyOptions(t, tables.EngineEmbedded, 1))
			defer stopFrom()
			defer stopTo()
			f := &filler{t, rand.New(rand.NewPCG(6, 1)), from}
			f.fill(20)
			c := followOptions(t, from, to)
			out := &lines{news: make(chan struct{}, 1)}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- Copy(ctx, c, command.Console{Out: out, Err: out}) }()
			out.rounds(t, 1)

			refs, errs := from.Store().Resolve(t.Context(), []storage.Series{f.series(0), f.series(100), f.series(1), {Metric: "emptied", Tags: f.series(0).Tags}})
			f.check(errsOf(errs))
			b := &storage.Batch{}
			b.Add(refs[0], time.Now().UnixMilli(), 1)   // recent
			b.Add(refs[1], copyBegin-86_400_000_000, 2) // long ago, of a series that is new
			b.Add(refs[0], copyBegin, 3)
			b.Add(refs[3], copyBegin, 1)
			b.AddObject(refs[0], copyBegin+5, storage.KindExemplar, []byte("deleted"))
			f.check(from.Store().Append(t.Context(), b))
			out.rounds(t, 2)
			b.Reset()
			b.Add(refs[0], copyBegin, 4) // a correction
			f.check(from.Store().Append(t.Context(), b))
			_, err := from.Store().Delete(t.Context(), storage.Deletion{Refs: refs[2:], Start: copyBegin, End: copyBegin + 20*86_400_000})
			f.check(err)
			// The only point of a metric, and an exemplar in whose place there is another one.
			_, err = from.Store().Delete(t.Context(), storage.Deletion{Refs: []storage.Ref{refs[0], refs[3]}, Start: copyBegin, End: copyBegin + 5})
			f.check(err)
			b.Reset()
			b.AddObject(refs[0], copyBegin+5, storage.KindExemplar, []byte("kept"))
			f.check(from.Store().Append(t.Context(), b))
			out.rounds(t, 2)
			cancel()
			if err := <-ended; err != nil {
				t.Fatal(err, out.text.String())
			}
			if !strings.Contains(out.text.String(), "; this was the last one") || !strings.Contains(out.text.String(), " deleted") || !strings.Contains(out.text.String(), "0 series differ") {
				t.Error(out.text.String())
			}
			if diff := gocmp.Diff(dump(t, from), dump(t, to)); diff != "" {
				t.Errorf("%s\n%s", diff, out.text.String())
			}

			// With the same state it goes on with what has changed since.
			b.Reset()
			b.Add(refs[0], copyBegin+1, 5)
			f.check(from.Store().Append(t.Context(), b))
			out = &lines{news: make(chan struct{}, 1)}
			ctx, cancel = context.WithCancel(t.Context())
			go func() { ended <- Copy(ctx, c, command.Console{Out: out, Err: out}) }()
			out.rounds(t, 1)
			cancel()
			if err := <-ended; err != nil || strings.Contains(out.text.String(), "no longer knows") {
				t.Fatal(err, out.text.String())
			}
			if diff := gocmp.Diff(dump(t, from), dump(t, to)); diff != "" {
				t.Errorf("%s\n%s", diff, out.text.String())
			}
		})
	}
}

// followOptions are those of a copy that follows one adapter with another one, deletions included, and compares all at the end.
func followOptions(t *testing.T, from, to *adapter.Adapter) CopyOptions {
	t.Helper()
	c := DefaultCopyOptions()
	c.From.Given, c.To.Given = "http://"+from.Addr(), "http://"+to.Addr()
	c.Follow, c.Delete, c.Pause, c.State, c.Verify = true, true, 10*time.Millisecond, filepath.Join(t.TempDir(), "state"), VerifyAll
	if err := c.Validate(time.Now()); err != nil {
		t.Fatal(err)
	}
	return c
}

// A rename in the source has all points copied under the new names.
func TestCopyFollowRename(t *testing.T) {
	from, stopFrom := adaptertest.Run(t, copyOptions(t, tables.EngineEmbedded, 0))
	to, stopTo := adaptertest.Run(t, copyOptions(t, tables.EngineEmbedded, 1))
	defer stopFrom()
	defer stopTo()
	f := &filler{t, rand.New(rand.NewPCG(7, 1)), from}
	refs, errs := from.Store().Resolve(t.Context(), []storage.Series{f.series(0), f.series(1)})
	f.check(errsOf(errs))
	b := &storage.Batch{}
	b.Add(refs[0], copyBegin, 1)
	b.Add(refs[1], copyBegin, 1)
	f.check(from.Store().Append(t.Context(), b))

	c := followOptions(t, from, to)
	out := &lines{news: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- Copy(ctx, c, command.Console{Out: out, Err: out}) }()
	out.rounds(t, 1)
	f.check(from.Store().Rename(t.Context(), storage.MetricName, f.series(0).Metric, "renamed"))
	f.check(from.Store().Rename(t.Context(), storage.TagValueName, "b", "other"))
	out.rounds(t, 2)
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err, out.text.String())
	}
	if !strings.Contains(out.text.String(), "0 series differ") {
		t.Error(out.text.String())
	}
}
