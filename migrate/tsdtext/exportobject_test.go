package tsdtext

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/opentsdb/put"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// objectImporter takes histograms and annotations too.
func objectImporter(s *store.Store) *Importer {
	return NewImporter(ImportOptions{
		Appender: s, AutoCreate: put.AutoCreate{Metrics: true, TagKeys: true, TagValues: true}, SeriesCache: 1000,
		Histograms: s, HistogramCodecs: "SimpleHistogramDecoder=3", Annotations: s.Annotations(), TSUIDOf: s.Catalog().TSUIDOf,
	})
}

// objectsOf lists the histograms and annotations of a store, with the names of their series.
func objectsOf(t *testing.T, store *store.Store) (lines []string) {
	t.Helper()
	found, err := store.Find(t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		q := storage.Query{Refs: []storage.Ref{f.Ref}, End: storage.MaxTime, Histograms: true}
		for p, err := range store.Select(t.Context(), q) {
			if err != nil {
				t.Fatal(err)
			}
			for _, o := range p.Objects {
				if o.Kind == storage.KindCoded {
					lines = append(lines, fmt.Sprintf("%s %d %x", f.Series, o.Time, o.Data))
				}
			}
		}
		lines = append(lines, notesOf(t, store, f.String(), schema.FormatTSUID(store.Catalog().TSUIDOf(f.Ref)))...)
	}
	lines = append(lines, notesOf(t, store, "global", "")...)
	slices.Sort(lines)
	return lines
}

func notesOf(t *testing.T, store *store.Store, name, tsuid string) (lines []string) {
	t.Helper()
	notes, err := store.Annotations().List(t.Context(), storage.AnnotationRange{TSUID: tsuid, To: storage.MaxTime}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range notes {
		n.TSUID = ""
		lines = append(lines, name+" "+string(schema.AppendAnnotation(nil, n)))
	}
	return lines
}

// Histograms and annotations that are exported and imported into an empty store are what was there, on every kind of
// tables and however the reading is cut; points too.
func TestExportImportObjects(t *testing.T) {
	for seed := range uint64(6) {
		exclusive := seed%2 == 0
		r := rand.New(rand.NewPCG(seed, 7))
		tables := kv.KV(kv.NewMem(exportTables()...))
		if !exclusive {
			tables = kv.NewShared(exportTables()...)
		}
		store, stop := runStore(t, tables, exclusive)
		refs, errs := store.Resolve(t.Context(), testSeries(1+r.IntN(5)))
		for _, err := range errs {
			if err != nil {
				t.Fatal(err)
			}
		}
		begins := []int64{0, 1356998400000, 1356998400000 + rangeHours*hourMillis, 1700000000000}
		at := func() int64 {
			t := begins[r.IntN(len(begins))] + 1 + r.Int64N(1+r.Int64N(4*hourMillis))
			if r.IntN(2) == 0 {
				return (t/1000 + 1) * 1000
			}
			return t
		}
		var b storage.Batch
		var histograms []storage.CodedHistogram
		var notes []storage.Annotation
		for range 60 {
			b.Add(refs[r.IntN(len(refs))], at(), r.Float64())
			h := schema.SimpleHistogram{Underflow: r.Int64N(3), Buckets: []schema.HistogramBucket{{Lower: 0, Upper: r.Float32() + 0.5, Count: r.Int64N(1000)}}}
			histograms = append(histograms, storage.CodedHistogram{Ref: refs[r.IntN(len(refs))], Time: at(), Millis: true, Value: h.AppendTo([]byte{3})})
			histograms[len(histograms)-1].Millis = histograms[len(histograms)-1].Time%1000 != 0
			note := storage.Annotation{Start: at(), Description: "a note {of\nJSON} \u20ac " + fmt.Sprint(r.IntN(9)), End: r.Int64N(2) * at()}
			if note.Start%1000 == 0 && r.IntN(2) == 0 {
				note.Start /= 1000
			}
			if r.IntN(3) > 0 {
				note.TSUID = schema.FormatTSUID(store.Catalog().TSUIDOf(refs[r.IntN(len(refs))]))
			}
			if r.IntN(2) == 0 {
				note.Notes, note.Custom = "more", map[string]string{"by": "me", "a b": "{}"}
			}
			notes = append(notes, note)
		}
		if err := store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		if err := store.PutHistograms(t.Context(), histograms); err != nil {
			t.Fatal(err)
		}
		if _, err := store.Annotations().Put(t.Context(), storage.ReplaceAnnotation, notes); err != nil {
			t.Fatal(err)
		}
		want := append(everything(t, store), objectsOf(t, store)...)
		for _, window := range []int{0, 20} {
			out := export(t, store, !exclusive, ExportQuery{End: storage.MaxTime, With: []string{WithHistograms, WithAnnotations}}, window)
			other, stopOther := runStore(t, kv.NewMem(exportTables()...), true)
			stored, err := objectImporter(other).Store(t.Context(), []byte(out.text), false)
			if err != nil || stored.Bad > 0 || int64(stored.Points) != out.points {
				t.Fatalf("%v, %+v, %d points of %d", err, stored.Shown, stored.Points, out.points)
			}
			if diff := cmp.Diff(want, append(everything(t, other), objectsOf(t, other)...)); diff != "" || out.leftOut > 0 {
				t.Fatalf("seed %d, window %d: %d left out, %s", seed, window, out.leftOut, diff)
			}
			stopOther()
		}
		some := export(t, store, !exclusive, ExportQuery{Start: begins[1], End: begins[1] + hourMillis, Match: []string{"*{}"}, With: []string{WithAnnotations}}, 0)
		for line := range strings.Lines(some.text) {
			if strings.HasPrefix(line, "annotation {") || strings.HasPrefix(line, "histogram ") {
				t.Errorf("exported: %s", line)
			}
		}
		stop()
	}
}

// Lines of histograms and annotations that are wrong are bad, and those before and behind them stay.
func TestImportBadObjects(t *testing.T) {
	store, stop := runStore(t, kv.NewMem(exportTables()...), true)
	defer stop()
	for _, c := range []struct{ line, bad string }{
		{"histogram m 1356998400 u=0:o=1:0,1=2 host=a", ""},
		{"histogram 1356998400 1 host=a", ""}, // a metric
		{"annotation 1356998400 1 host=a", ""},
		{"histogram m 1356998400 5 AAAA host=a", "No codec found mapped to ID 5"},
		{"histogram m 1356998400 3 AAAA host=a", "shorter than 6 bytes"},
		{"histogram m 0 u=0:o=1:0,1=2 host=a", "invalid timestamp: 0"},
		{"annotation m host=a", "without its document"},
		{`annotation m host {"startTime":1356998400}`, "invalid tag: host"},
		{`annotation m host=a {"startTime":x}`, "parse annotation"},
		{`annotation m host=a {"startTime":0}`, "The start timestamp has not been set"},
		{`annotation m host=a {"startTime":1356998400,"description":"kept"}`, ""},
		{`annotation {"startTime":1356998400,"description":"kept"}`, ""},
		{`annotation m:n host=a {"startTime":1356998400}`, "illegal character: :"},
	} {
		stored, err := objectImporter(store).Store(t.Context(), []byte(c.line+"\n"), true)
		bad := ""
		for _, b := range stored.Shown {
			bad += b.Reason
		}
		if err != nil || !strings.Contains(bad, c.bad) || (c.bad == "") != (stored.Points == 1) || (bad != "") != (c.bad != "") {
			t.Errorf("%s: %v, %d points, bad %q, want %q", c.line, err, stored.Points, bad, c.bad)
		}
	}
	if stored, err := testImporter(store).Store(t.Context(), []byte("histogram m 1356998400 u=0:o=1:0,1=2 host=a\n"), true); err != nil || stored.Bad != 1 {
		t.Errorf("without codecs: %v, %+v", err, stored)
	}
	if got := objectsOf(t, store); len(got) != 3 {
		t.Errorf("stored: %q", got)
	}
}
