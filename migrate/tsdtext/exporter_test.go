package tsdtext

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/opentsdb/putline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// exportTables are the tables of a store.
func exportTables() []kv.Table {
	var tables []kv.Table
	o := store.DefaultOptions()
	for _, table := range []string{o.Tables.Data, o.Tables.UID, o.Tables.Meta, o.Tables.Tree} {
		tables = append(tables, kv.Table{Name: table, Families: []string{"t", "id", "name"}})
	}
	return tables
}

// runStore runs a store over tables until stop.
func runStore(t *testing.T, db kv.KV, exclusive bool) (s *store.Store, stop func()) {
	t.Helper()
	return runStoreWith(t, db, func(o *store.Options) { o.Exclusive = exclusive })
}

func runStoreWith(t *testing.T, db kv.KV, change func(*store.Options)) (s *store.Store, stop func()) {
	t.Helper()
	o := store.DefaultOptions()
	change(&o)
	s, err := store.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	for s.Ready(t.Context()) != nil {
		if t.Context().Err() != nil {
			t.Fatal("the store does not get ready")
		}
	}
	return s, func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// exported is what an Exporter writes.
type exported struct {
	text    string
	points  int64
	leftOut int64
	reason  string
}

// export writes all ranges. window is the size of a window in points, 0: as it is.
func export(t *testing.T, store *store.Store, shared bool, q ExportQuery, window int) (out exported) {
	t.Helper()
	return exportWith(t, ExportOptions{Store: store, Shared: shared}, q, window)
}

// exportOptions completes options whose Store is a store.
func exportOptions(o ExportOptions) ExportOptions {
	store := o.Store.(*store.Store)
	o.Catalog, o.Annotations, o.Names, o.RollupTag = store.Catalog(), store.Annotations(), store.Names(), "_aggregate"
	if o.Budget == nil {
		o.Budget = query.NewBudget(256 << 20)
	}
	return o
}

func exportWith(t *testing.T, o ExportOptions, q ExportQuery, window int) (out exported) {
	t.Helper()
	x, err := NewExporter(exportOptions(o), q)
	if err != nil {
		t.Fatal(err)
	}
	if window > 0 {
		x.windowPoints, x.mostPoints = int64(window), 2*window
	}
	var b bytes.Buffer
	for after := (pipeline.Range{}); ; {
		ranges, err := x.Ranges(t.Context(), after)
		if err != nil {
			t.Fatal(err)
		}
		if len(ranges) == 0 {
			break
		}
		for _, after = range ranges {
			until := int64(0)
			err := x.Read(t.Context(), after, func(block pipeline.Block) error {
				b.Write(block.Text)
				out.points += block.Points
				if out.leftOut += block.LeftOut; out.reason == "" {
					out.reason = block.Reason
				}
				until = max(until, block.Until)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if until != after.To+1 {
				t.Errorf("%+v was read until %d", after, until)
			}
		}
	}
	out.text = b.String()
	if n := strings.Count(out.text, "\n"); int64(n) != out.points {
		t.Errorf("%d lines of %d points", n, out.points)
	}
	return out
}

// everything is all points of a store, with the bits of their values.
func everything(t *testing.T, store *store.Store) (lines []string) {
	t.Helper()
	found, err := store.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		q := storage.Query{Refs: []storage.Ref{f.Ref}, End: storage.MaxTime, Samples: true, Integers: true}
		for p, err := range store.Select(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			integers := map[int64]int64{}
			for _, i := range p.Integers {
				integers[i.Time] = i.Value
			}
			for i, at := range p.Times {
				value := fmt.Sprintf("%016x", math.Float64bits(p.Values[i]))
				if v, ok := integers[at]; ok {
					value = fmt.Sprint(v)
				}
				lines = append(lines, fmt.Sprintf("%s %d %s", f.Series, at, value))
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// importInto imports text into a new store, and returns all that it has.
func importInto(t *testing.T, text string) []string {
	t.Helper()
	store, stop := runStore(t, kv.NewMem(exportTables()...), true)
	defer stop()
	stored, err := testImporter(store).Store(t.Context(), []byte(text), true)
	if err != nil || stored.Bad > 0 {
		t.Fatalf("%v, %+v", err, stored.Shown)
	}
	return everything(t, store)
}

// testValue is a value of any form.
func testValue(r *rand.Rand) (bits uint64, form storage.Form) {
	switch r.IntN(8) {
	case 0:
		return uint64(int64(int8(r.Uint64()))), storage.FormInteger
	case 1:
		return uint64(int64(int16(r.Uint64()))), storage.FormInteger
	case 2:
		return uint64(int64(int32(r.Uint64()))), storage.FormInteger
	case 3:
		return r.Uint64(), storage.FormInteger
	case 4:
		return math.Float64bits(float64(math.Float32frombits(r.Uint32() &^ (1 << 30)))), storage.FormFloat // finite
	case 5:
		return math.Float64bits(float64(r.IntN(1e6)) / 100), storage.FormDouble
	case 6:
		return r.Uint64(), storage.FormFloat // any bits, NaNs too
	}
	odd := []float64{0, math.Copysign(0, -1), 1, -1, 1e15, 1e21, 1e300, 5e-324, math.Inf(1), math.Inf(-1), math.NaN(), 1 << 53, 123456789}
	return math.Float64bits(odd[r.IntN(len(odd))]), storage.FormFloat
}

// testSeries are series of several metrics.
func testSeries(n int) (all []storage.Series) {
	for i := range n {
		all = append(all, storage.Series{
			Metric: fmt.Sprint("sys.m", i%3),
			Tags:   []storage.Tag{{Key: "dc", Value: []string{"lga", "z\u00fcrich"}[i%2]}, {Key: "host", Value: fmt.Sprint("web", i)}},
		})
	}
	return all
}

// What is exported and imported again is what was there, bit for bit: points of all forms, at instants from
// 1970 to 2106, each with the value that was written last, however the reading is cut.
func TestExportImport(t *testing.T) {
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 2))
		store, stop := runStore(t, kv.NewMem(exportTables()...), true)
		refs, errs := store.Resolve(t.Context(), testSeries(1+r.IntN(8)))
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		begins := []int64{0, 1356998400000, 1356998400000 + rangeHours*hourMillis, 1700000000000, storage.MaxTime - 4*hourMillis}
		for range 3 {
			var b storage.Batch
			for range 200 + r.IntN(1000) {
				at := begins[r.IntN(len(begins))] + r.Int64N(1+r.Int64N(4*hourMillis))
				if r.IntN(2) == 0 {
					at = at / 1000 * 1000
				}
				bits, form := testValue(r)
				if r.IntN(4) == 0 && at%1000 == 0 {
					form |= storage.FormMillis
				}
				b.AddForm(refs[r.IntN(len(refs))], at, math.Float64frombits(bits), form)
			}
			if err := store.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		}
		for _, window := range []int{0, 20} {
			out := export(t, store, false, ExportQuery{End: storage.MaxTime}, window)
			want := everything(t, store)
			if diff := cmp.Diff(want, importInto(t, out.text)); diff != "" || out.leftOut > 0 {
				t.Fatalf("seed %d, window %d: %d left out, %s", seed, window, out.leftOut, diff)
			}
		}
		stop()
	}
}

// Cells that TSDs wrote are exported: points, compacted cells, append cells; of several values of an
// instant the newest one. Tables without tsdb-meta have the same text.
func TestExportForeignCells(t *testing.T) {
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 3))
		db := kv.NewShared(exportTables()...)
		store, stop := runStore(t, db, false)
		all := testSeries(1 + r.IntN(8))
		refs, _ := store.Resolve(t.Context(), all)
		layout, want := schema.DefaultLayout(), map[string]string{}
		stamp := int64(1400000000000)
		var rows []kv.Mutation
		for i, ref := range refs {
			if ref == 0 {
				t.Fatal(all[i])
			}
			for hour := range uint32(1 + r.IntN(4)) {
				base := 1356998400 + 3600*hour
				row := kv.Mutation{Key: layout.AppendRowKey(nil, store.Catalog().TSUIDOf(ref), base)}
				puts := map[string]bool{}
				for range 1 + r.IntN(6) {
					points := make([]schema.Point, 1)
					if r.IntN(2) == 0 {
						points = make([]schema.Point, 2+r.IntN(20))
					}
					var q, v []byte
					appended, last := r.IntN(3) == 0, uint32(0)
					for n := range points {
						p := testPoint(r, last)
						last = p.Offset + 1000
						points[n] = p
						if !appended && puts[fmt.Sprint(p.Offset)] {
							points = points[:n]
							break
						}
						if q = p.AppendQualifier(q); appended {
							v = p.AppendQualifier(v)
						}
						v = p.AppendValue(v)
					}
					if len(points) == 0 {
						continue
					}
					switch {
					case appended:
						q = []byte{5, 0, 0}
					case len(points) > 1:
						q, v = schema.AppendCell(nil, nil, points)
					}
					if puts[string(q)] {
						continue
					}
					puts[string(q)] = true
					stamp += 10
					row.Puts = append(row.Puts, kv.Put{Qualifier: q, Value: v, Time: stamp})
					for _, p := range points {
						value := fmt.Sprint(p.Int())
						if !p.IsInt() {
							value = fmt.Sprintf("%016x", math.Float64bits(p.Float()))
						}
						want[fmt.Sprintf("%s %d", all[i], int64(base)*1000+int64(p.Offset))] = value
					}
				}
				rows = append(rows, row)
			}
		}
		if err := db.Apply(t.Context(), "tsdb", "t", rows); err != nil {
			t.Fatal(err)
		}
		var lines []string
		for key, value := range want {
			lines = append(lines, key+" "+value)
		}
		slices.Sort(lines)
		stop()
		for _, meta := range []bool{true, false} {
			if !meta {
				dropMeta(t, db)
			}
			store, stop := runStore(t, db, false)
			out := export(t, store, true, ExportQuery{End: storage.MaxTime}, 8*r.IntN(5))
			if diff := cmp.Diff(lines, importInto(t, out.text)); diff != "" {
				t.Fatalf("seed %d, tsdb-meta %v: %s", seed, meta, diff)
			}
			stop()
		}
	}
}

// testPoint is a point of any form behind an offset.
func testPoint(r *rand.Rand, from uint32) schema.Point {
	offset := from + uint32(r.IntN(60_000))
	if r.IntN(2) == 0 {
		offset = offset / 1000 * 1000
		if offset < from {
			offset += 1000
		}
	}
	for {
		bits, form := testValue(r)
		if p, ok := schema.ValuePoint(offset, math.Float64frombits(bits), form, schema.ValuesAuto); ok {
			p.Millis = p.Millis || r.IntN(3) == 0
			return p
		}
	}
}

func dropMeta(t *testing.T, db kv.KV) {
	t.Helper()
	var rows []kv.Mutation
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: "name", Start: []byte{0}}) {
		if err != nil {
			t.Fatal(err)
		}
		m := kv.Mutation{Key: row.Key}
		for _, c := range row.Cells {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
		}
		rows = append(rows, m)
	}
	if err := db.Apply(t.Context(), "tsdb-meta", "name", rows); err != nil {
		t.Fatal(err)
	}
}

// The query selects series by their tags, and points by their instants, both ends included.
func TestExportQuery(t *testing.T) {
	store, stop := runStore(t, kv.NewMem(exportTables()...), true)
	defer stop()
	text := ""
	for _, s := range []string{"a 1356998400 1 host=web01 dc=lga", "a 1356998401.500 2 host=web01 dc=lga", "a 1356998402 3 host=web02", "b 1356998400 4 host=web02"} {
		text += s + "\n"
	}
	if stored, err := testImporter(store).Store(t.Context(), []byte(text), false); err != nil || stored.Bad > 0 {
		t.Fatal(err, stored)
	}
	for _, c := range []struct {
		match      []string
		start, end int64
		want       string
	}{
		{nil, 0, storage.MaxTime, "1 2 3 4"},
		{[]string{"a"}, 0, storage.MaxTime, "1 2 3"},
		{[]string{"a", "a{host=web02}", "b"}, 0, storage.MaxTime, "1 2 3 4"},
		{[]string{"*{host=web02}"}, 0, storage.MaxTime, "3 4"},
		{[]string{"*{host=WEB*1}"}, 0, storage.MaxTime, "1 2"},
		{[]string{"a{host=web01|web02}{dc=lga}"}, 0, storage.MaxTime, "1 2"},
		{[]string{"a{host=not_literal_or(web01)}"}, 0, storage.MaxTime, "3"},
		{[]string{"a{host=web01,host=web02}"}, 0, storage.MaxTime, ""},
		{[]string{"none"}, 0, storage.MaxTime, ""},
		{nil, 1356998401500, 1356998402000, "2 3"},
		{nil, 1356998401501, 1356998401999, ""},
		{nil, 1356998400000, 1356998400000, "1 4"},
	} {
		out := export(t, store, false, ExportQuery{c.match, c.start, c.end, nil}, 0)
		var values []string
		for line := range strings.Lines(out.text) {
			values = append(values, strings.Fields(line)[2])
		}
		if got := strings.Join(values, " "); got != c.want {
			t.Errorf("%q from %d to %d: %q, want %q", c.match, c.start, c.end, got, c.want)
		}
	}
	for match, want := range map[string]string{"": "empty", "a{": "Missing '}'", "a*": "all metrics", "a{host=none(x)}": "filter"} {
		if _, err := NewExporter(ExportOptions{}, ExportQuery{Match: []string{match}}); err == nil || !strings.Contains(err.Error(), want) || !storage.IsRefusal(err) {
			t.Errorf("%q: %v", match, err)
		}
	}
}

// What has no text is counted and named: histograms, and names that no importer takes.
func TestExportLeavesOut(t *testing.T) {
	store, stop := runStore(t, kv.NewMem(exportTables()...), true)
	defer stop()
	refs, errs := store.Resolve(t.Context(), []storage.Series{
		{Metric: "a b", Tags: []storage.Tag{{Key: "host", Value: "x"}}}, {Metric: "c", Tags: []storage.Tag{{Key: "host", Value: "x"}}},
	})
	if errs != nil && (errs[0] != nil || errs[1] != nil) {
		t.Fatal(errs)
	}
	var b storage.Batch
	b.Add(refs[0], 1000, 1)
	b.Add(refs[1], 1000, 1)
	b.AddObject(refs[1], 2000, storage.KindHistogram, []byte("histogram"))
	if err := store.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	out := export(t, store, false, ExportQuery{End: storage.MaxTime}, 0)
	if out.text != "c 1 1.0 host=x\n" || out.leftOut != 2 || !strings.Contains(out.reason, "a b{host=x}: ") {
		t.Errorf("%+v", out)
	}
	out = export(t, store, false, ExportQuery{Match: []string{"c"}, End: storage.MaxTime}, 0)
	if out.leftOut != 1 || out.reason != "c{host=x}: native histograms have no text" {
		t.Errorf("%+v", out)
	}
}

// Numbers are read back with their bits, as what they were.
func FuzzExportNumber(f *testing.F) {
	for _, v := range []float64{0, 1, 0.1, 1e-5, 1e15, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(), math.Inf(-1)} {
		f.Add(math.Float64bits(v), int64(1356998400500))
	}
	f.Add(uint64(0x7ff0000000000001), int64(1))
	f.Fuzz(func(t *testing.T, bits uint64, at int64) {
		at = max(at, -at, 0) % (storage.MaxTime + 1)
		for _, integer := range []bool{false, true} {
			b := append(appendStamp([]byte("m "), at), ' ')
			if integer {
				b = appendInteger(b, int64(bits))
			} else {
				b = appendFloat(b, bits)
			}
			line := append(b, " host=x"...)
			m := opentsdbtest.NewMemory()
			stored, err := testImporter(m).Store(t.Context(), bytes.Clone(line), true)
			if err != nil || stored.Points != 1 {
				t.Fatalf("%q: %v, %+v", line, err, stored)
			}
			words := strings.Split(string(line), " ")
			_, p, ok := putline.ScanPoint(bytes.Clone(line), 0)
			if !ok {
				if _, p, err = importWords(words, putline.NameRules{MaxTags: storage.MaxTags}); err != nil {
					t.Fatalf("%q: %v", line, err)
				}
			}
			if p.Bits != bits || p.Integer != integer || p.Time != at {
				t.Fatalf("%q is %x (integer %v) at %d, want %x (integer %v) at %d", line, p.Bits, p.Integer, p.Time, bits, integer, at)
			}
		}
	})
}
