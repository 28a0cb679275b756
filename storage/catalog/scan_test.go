package catalog_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// each lists the series that EachTSUID visits.
func each(t *testing.T, s *store.Store, c storage.SeriesScan) []string {
	t.Helper()
	var all []string
	err := s.Catalog().EachTSUID(t.Context(), c, func(tsuids [][]byte) error {
		for _, tsuid := range tsuids {
			all = append(all, fmt.Sprintf("%X", tsuid))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// fillSharedTables fills tables as several writers do: tsdb-meta has all series of metric 1, some of 2,
// none of 3 and 5; metric 4 has no points. It returns the TSUIDs by metric, in order.
func fillSharedTables(t *testing.T, db kv.KV, s *store.Store) (byMetric [5][]string) {
	t.Helper()
	var unlisted []kv.Mutation
	for m := range byMetric {
		for i := range 3 {
			one := storetest.Series(fmt.Sprintf("m%d", m+1), "host", fmt.Sprint(i))
			ref := storetest.Resolve(t, s, one)[0]
			tsuid, ok, err := s.Catalog().TSUID(t.Context(), one)
			if err != nil || !ok {
				t.Fatalf("TSUID(%v) = %v, %v", one, ok, err)
			}
			byMetric[m] = append(byMetric[m], fmt.Sprintf("%X", tsuid))
			if m != 3 { // two hours
				b := &storage.Batch{}
				b.Add(ref, 1_000_000, 1)
				b.Add(ref, 9_000_000, 2)
				if err := s.Append(t.Context(), b); err != nil {
					t.Fatal(err)
				}
			}
			if m >= 2 || m == 1 && i != 1 {
				unlisted = append(unlisted, kv.Mutation{Key: tsuid, DeleteRow: true})
			}
		}
	}
	if err := db.Apply(t.Context(), "tsdb-meta", schema.FamilyMeta, unlisted); err != nil {
		t.Fatal(err)
	}
	return byMetric
}

func TestEachTSUID(t *testing.T) {
	for _, salt := range []int{0, 1} {
		db := kv.NewMem(storetest.Tables()...)
		shared := func(o *store.Options) {
			o.Exclusive = false
			o.Layout.SaltWidth, o.Layout.SaltBuckets = salt, 4
		}
		s := storetest.Open(t, db, shared)
		is := fillSharedTables(t, db, s)
		s = storetest.Open(t, db, shared)
		meta := storetest.Open(t, db, shared, func(o *store.Options) { o.Index = storage.IndexMeta })
		for _, c := range []struct {
			name  string
			store *store.Store
			rows  bool
			want  []string
		}{
			{"tsdb-meta alone", meta, false, slices.Concat(is[0], is[1][1:2])},
			{"row keys where tsdb-meta has none", s, false, slices.Concat(is[0], is[1][1:2], is[2], is[4])},
			{"all row keys", s, true, slices.Concat(is[0], is[1], is[2], is[4])},
		} {
			if diff := cmp.Diff(c.want, each(t, c.store, storage.SeriesScan{Rows: c.rows})); diff != "" {
				t.Errorf("salt %d: %s (-want +got):\n%s", salt, c.name, diff)
			}
			if !c.rows {
				continue
			}
			// A scan from each of them, and from just after it.
			for i, text := range c.want {
				from := unhex(t, text)
				if diff := cmp.Diff(c.want[i:], each(t, c.store, storage.SeriesScan{From: from, Rows: c.rows})); diff != "" {
					t.Errorf("salt %d: %s from %s (-want +got):\n%s", salt, c.name, text, diff)
				}
				next := append(from, 0)
				if got := each(t, c.store, storage.SeriesScan{From: next, Rows: c.rows}); len(got) != len(c.want)-i-1 {
					t.Errorf("salt %d: %s after %s: %d series, want %d", salt, c.name, text, len(got), len(c.want)-i-1)
				}
			}
		}
	}
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	var b []byte
	if _, err := fmt.Sscanf(text, "%X", &b); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestEachTSUIDErrors(t *testing.T) {
	mem := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, mem)
	fillSharedTables(t, mem, s)
	stop := errors.New("enough")
	calls := 0
	err := s.Catalog().EachTSUID(t.Context(), storage.SeriesScan{Rows: true}, func([][]byte) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("EachTSUID ends with %v after %d calls", err, calls)
	}
	// Any scan may fail: then not all series were seen, and an error reports that. There are 2
	// lists and 5 metrics, one of which tsdb-meta has.
	for n := 1; n <= 7; n++ {
		faulty := kvtest.New(mem)
		s := storetest.Open(t, faulty)
		faulty.Fail(kvtest.Scan, n, kvtest.Before)
		if err := s.Catalog().EachTSUID(t.Context(), storage.SeriesScan{Rows: true}, func([][]byte) error { return nil }); err == nil {
			t.Errorf("scan %d fails without an error", n)
		}
	}
}

func TestNameSeries(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, db)
	a, b := storetest.Series("cpu", "dc", "x", "host", "a"), storetest.Series("cpu", "dc", "x", "host", "b")
	storetest.Resolve(t, s, a, b)
	ta, _, _ := s.Catalog().TSUID(t.Context(), a)
	tb, _, _ := s.Catalog().TSUID(t.Context(), b)
	for _, unknown := range []storage.Series{storetest.Series("cp", "dc", "x"), storetest.Series("cpu", "d", "x"), storetest.Series("cpu", "dc", "y")} {
		if tsuid, ok, err := s.Catalog().TSUID(t.Context(), unknown); ok || err != nil {
			t.Errorf("TSUID(%v) = %X, %v, %v", unknown, tsuid, ok, err)
		}
	}
	var uidOfB []byte
	for at := 3; at < len(tb); at += 6 { // pairs are in the order of their keys' UIDs, which is any
		if !bytes.Equal(ta[at:at+6], tb[at:at+6]) {
			uidOfB = tb[at+3 : at+6]
		}
	}
	if err := db.Apply(t.Context(), "tsdb-uid", schema.FamilyName, []kv.Mutation{{Key: uidOfB, Deletes: []kv.Delete{{Qualifier: schema.UIDQualifier(storage.TagValueName)}}}}); err != nil {
		t.Fatal(err)
	}
	s = storetest.Open(t, db) // without the cache of the first
	got, err := s.Catalog().NameSeries(t.Context(), [][]byte{tb, ta, bytes.Repeat([]byte{1}, 5)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]storage.NewSeries{{TSUID: ta, Series: a}}, got); diff != "" {
		t.Errorf("NameSeries (-want +got):\n%s", diff)
	}
}
