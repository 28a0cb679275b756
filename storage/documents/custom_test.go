package documents_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

func TestRefs(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, db)
	// They are resolved one after the other: of names that come together any may get the smaller
	// UID.
	refs := append(storetest.Resolve(t, s, storetest.Series("a", "k", "v")), storetest.Resolve(t, s, storetest.Series("b", "k", "v"))...)
	a, b := tsuidsOf(t, db)[0], tsuidsOf(t, db)[1]
	foreign := append(slices.Clone(a[:len(a)-1]), 0x7F)

	got, err := s.Catalog().Refs([][]byte{b, a, foreign, b})
	if err != nil || got[0] != refs[1] || got[1] != refs[0] || got[3] != refs[1] {
		t.Fatalf("Refs = %v, %v, want %v swapped", got, err, refs)
	}
	if got[2] == 0 || slices.Contains(refs, got[2]) {
		t.Errorf("Refs of a series that the index lacked = %v, want a new one", got[2])
	}
	if again, err := s.Catalog().Refs([][]byte{foreign}); err != nil || again[0] != got[2] {
		t.Errorf("Refs again = %v, %v, want %v", again, err, got[2])
	}
	bad, err := s.Catalog().Refs([][]byte{a, {1, 2}, b})
	if !errors.Is(err, storage.ErrInvalid) || !cmp.Equal(bad, []storage.Ref{refs[0], 0, refs[1]}) {
		t.Errorf("Refs with a TSUID of other widths = %v, %v", bad, err)
	}
}

// tsuidsOf returns the row keys of tsdb-meta.
func tsuidsOf(t *testing.T, db kv.KV) (tsuids [][]byte) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: schema.FamilyMeta}) {
		if err != nil {
			t.Fatal(err)
		}
		tsuids = append(tsuids, row.Key)
	}
	return tsuids
}

func metaCells(t *testing.T, db kv.KV, tsuid []byte) (cells map[string]string) {
	t.Helper()
	rows, err := db.Get(t.Context(), "tsdb-meta", schema.FamilyMeta, [][]byte{tsuid})
	if err != nil {
		t.Fatal(err)
	}
	cells = map[string]string{}
	for _, c := range rows[0].Cells {
		cells[string(c.Qualifier)] = string(c.Value)
	}
	return cells
}

func putMeta(t *testing.T, db kv.KV, tsuid []byte, qualifier, value string) {
	t.Helper()
	m := kv.Mutation{Key: tsuid, Puts: []kv.Put{{Qualifier: []byte(qualifier), Value: []byte(value)}}}
	if err := db.Apply(t.Context(), "tsdb-meta", schema.FamilyMeta, []kv.Mutation{m}); err != nil {
		t.Fatal(err)
	}
}

const (
	tsdDocument  = `{"tsuid":"000001000001000001","displayName":"","description":"d","notes":"","created":1700000000,"custom":%s,"units":"","dataType":"","retention":0,"max":"NaN","min":1.0E10}`
	oddDocument  = `{"tsuid":"000001000001000001","more":[1],"custom":{"step":"10"}}`
	evenDocument = `{"tsuid":"000001000001000001","displayName":"","description":"","notes":"","created":0,"custom":{"step":"20"},"units":"","dataType":"","retention":0,"max":"NaN","min":"NaN","more":[1]}`
	thisDocument = `{"tsuid":"000001000001000001","displayName":"","description":"","notes":"","created":1700000000,"custom":%s,"units":"","dataType":"","retention":0,"max":"NaN","min":"NaN"}`
)

// TestSeriesCustom edits the key step of one document from Old to New.
func TestSeriesCustom(t *testing.T) {
	doc := func(custom string) string { return fmt.Sprintf(tsdDocument, custom) }
	for _, c := range []struct {
		name, document, was string
		edit                storage.CustomEdit
		want, is            string
	}{
		{"first", doc("null"), "", storage.CustomEdit{New: "10"}, doc(`{"step":"10"}`), "10"},
		{"in order", doc(`{"a":"1","z":"2"}`), "", storage.CustomEdit{New: "10"}, doc(`{"a":"1","z":"2","step":"10"}`), "10"},
		{"another's", doc(`{"step":"60"}`), "60", storage.CustomEdit{New: "10"}, doc(`{"step":"60"}`), "60"},
		{"change", doc(`{"step":"60"}`), "60", storage.CustomEdit{Old: "60", New: "10"}, doc(`{"step":"10"}`), "10"},
		{"delete", doc(`{"step":"60"}`), "60", storage.CustomEdit{Old: "60"}, doc(`{}`), ""},
		{"unknown field", oddDocument, "10", storage.CustomEdit{Old: "10", New: "20"}, evenDocument, "20"},
		{"no document", `{`, "", storage.CustomEdit{New: "20"}, `{`, ""},
		{"no column", "", "", storage.CustomEdit{New: "20"}, fmt.Sprintf(thisDocument, `{"step":"20"}`), "20"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := kv.NewMem(storetest.Tables()...)
			s := storetest.Open(t, db, at1700000000)
			ref := storetest.Resolve(t, s, storetest.Series("a", "k", "v"))[0]
			tsuid := tsuidsOf(t, db)[0]
			if c.document != "" {
				putMeta(t, db, tsuid, "ts_meta", c.document)
			} else if err := db.Apply(t.Context(), "tsdb-meta", schema.FamilyMeta, []kv.Mutation{{Key: tsuid, Deletes: []kv.Delete{{Qualifier: schema.MetaQualifier()}}}}); err != nil {
				t.Fatal(err)
			}
			checkCustom(t, s, ref, c.was)
			c.edit.Ref = ref
			if err := s.Documents().SetSeriesCustom(t.Context(), "step", []storage.CustomEdit{c.edit}); err != nil {
				t.Fatal(err)
			}
			if got := metaCells(t, db, tsuid)["ts_meta"]; got != c.want {
				t.Errorf("document\n%s, want\n%s", got, c.want)
			}
			checkCustom(t, s, ref, c.is)
		})
	}
}

func checkCustom(t *testing.T, s *store.Store, ref storage.Ref, want string) {
	t.Helper()
	if got, err := s.Documents().SeriesCustom(t.Context(), []storage.Ref{ref}, "step"); err != nil || !cmp.Equal(got, []string{want}) {
		t.Errorf("SeriesCustom = %q, %v, want %q", got, err, want)
	}
}

// observedSeries are the series that an observer is told of.
type observedSeries struct {
	mu   sync.Mutex // guards seen
	seen []string
}

func (*observedSeries) Forgotten(context.Context, []storage.NewSeries) error { return nil }

func (*observedSeries) Renamed(context.Context, []storage.NewSeries, []storage.NewSeries) error {
	return nil
}

func (*observedSeries) Forget(context.Context, []storage.NewSeries) error { return nil }

func (o *observedSeries) Observe(_ context.Context, list []storage.NewSeries) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range list {
		o.seen = append(o.seen, s.String())
	}
	return nil
}

// A missing row is made as for a new series: after the observers, with its counter.
func TestSeriesCustomMakesTheRow(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	storetest.Resolve(t, storetest.Open(t, db), storetest.Series("a", "k", "v"))
	tsuid := tsuidsOf(t, db)[0]
	if err := db.Apply(t.Context(), "tsdb-meta", schema.FamilyMeta, []kv.Mutation{{Key: tsuid, DeleteRow: true}}); err != nil {
		t.Fatal(err)
	}
	o := &observedSeries{}
	s := storetest.Open(t, db, at1700000000, func(so *store.Options) { so.Observer, so.Exclusive = o, false })
	// the second one's UIDs have no names
	refs, err := s.Catalog().Refs([][]byte{tsuid, append(slices.Clone(tsuid[:8]), 0x7F)})
	if err != nil {
		t.Fatal(err)
	}
	checkCustom(t, s, refs[0], "")
	edits := []storage.CustomEdit{{Ref: refs[0], New: "15"}, {Ref: refs[1], New: "15"}}
	if err := s.Documents().SetSeriesCustom(t.Context(), "step", edits); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"ts_ctr": "\x00\x00\x00\x00\x00\x00\x00\x01", "ts_meta": fmt.Sprintf(thisDocument, `{"step":"15"}`)}
	if diff := cmp.Diff(want, metaCells(t, db, tsuid)); diff != "" {
		t.Error(diff)
	}
	if !cmp.Equal(o.seen, []string{"a{k=v}"}) {
		t.Errorf("observed %v", o.seen)
	}
	if n := len(tsuidsOf(t, db)); n != 1 {
		t.Errorf("%d rows of tsdb-meta, want 1", n)
	}
}

// No edit is lost when several race, and a lost answer is not an error.
func TestSeriesCustomRaces(t *testing.T) {
	mem := kv.NewMem(storetest.Tables()...)
	db := kvtest.New(mem)
	s := storetest.Open(t, db)
	ref := storetest.Resolve(t, s, storetest.Series("a", "k", "v"))[0]
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			if err := s.Documents().SetSeriesCustom(t.Context(), fmt.Sprint("k", i), []storage.CustomEdit{{Ref: ref, New: "x"}}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := metaCells(t, mem, tsuidsOf(t, mem)[0])["ts_meta"]; !strings.Contains(got, `"custom":{"k3":"x","k0":"x","k1":"x","k2":"x"}`) {
		t.Error(got)
	}
	for _, method := range []kvtest.Method{kvtest.Get, kvtest.CheckAndPut} {
		db.Fail(method, 1, kvtest.Before)
		if err := s.Documents().SetSeriesCustom(t.Context(), "f", []storage.CustomEdit{{Ref: ref, New: "x"}}); !errors.Is(err, kvtest.ErrFault) {
			t.Errorf("SetSeriesCustom while %s fails: %v", method, err)
		}
	}
	if _, err := s.Documents().SeriesCustom(t.Context(), []storage.Ref{0}, "k"); !errors.Is(err, storage.ErrInvalid) {
		t.Errorf("SeriesCustom of no series: %v", err)
	}
}

func TestSeriesCustomOfMany(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	var list []storage.Series
	for i := range 2500 {
		list = append(list, storetest.Series("m", "n", fmt.Sprint(i)))
	}
	refs := storetest.Resolve(t, s, list...)
	var edits []storage.CustomEdit
	want := make([]string, len(refs))
	for i := 0; i < len(refs); i += 3 {
		want[i] = fmt.Sprint(i + 1)
		edits = append(edits, storage.CustomEdit{Ref: refs[i], New: want[i]})
	}
	if err := s.Documents().SetSeriesCustom(t.Context(), "step", edits); err != nil {
		t.Fatal(err)
	}
	got, err := s.Documents().SeriesCustom(t.Context(), refs, "step")
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func at1700000000(o *store.Options) {
	o.Now = func() time.Time { return time.Unix(1_700_000_000, 0) }
}
