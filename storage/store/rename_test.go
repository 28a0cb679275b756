package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// renaming renames a UID in the steps of OpenTSDB's "uid rename" (UniqueId.rename): reverse row,
// new forward row, old forward row.
func renaming(t *testing.T, db kv.KV, kind storage.NameKind, from, to string) (steps [3]func()) {
	t.Helper()
	rows, err := db.Get(t.Context(), "tsdb-uid", "id", [][]byte{[]byte(from)})
	if err != nil {
		t.Fatal(err)
	}
	var uid []byte
	for _, c := range rows[0].Cells {
		if string(c.Qualifier) == string(schema.UIDQualifier(kind)) {
			uid = c.Value
		}
	}
	if uid == nil {
		t.Fatalf("%s has no UID", from)
	}
	apply := func(family string, row kv.Mutation) {
		if err := db.Apply(t.Context(), "tsdb-uid", family, []kv.Mutation{row}); err != nil {
			t.Fatal(err)
		}
	}
	put := func(value []byte) []kv.Put { return []kv.Put{{Qualifier: schema.UIDQualifier(kind), Value: value}} }
	return [3]func(){
		func() { apply("name", kv.Mutation{Key: uid, Puts: put([]byte(to))}) },
		func() { apply("id", kv.Mutation{Key: []byte(to), Puts: put(uid)}) },
		func() {
			apply("id", kv.Mutation{Key: []byte(from), Deletes: []kv.Delete{{Qualifier: schema.UIDQualifier(kind)}}})
		},
	}
}

// TestRename: when another process renames a name's UID, the name is a new one for a writer, after
// a refresh that follows all steps of the rename. This also holds with caches that are too small to
// remember the name.
func TestRename(t *testing.T) {
	for _, c := range []struct {
		name     string
		kind     storage.NameKind
		from, to string
		cache    int
		steps    int  // done before a refresh, the others after it
		asked    bool // the new name is looked up before the refresh
		young    bool // the name had its UID a moment ago
	}{
		{"metric", storage.MetricName, "m", "renamed", 1000, 3, false, false},
		{"tag key", storage.TagKeyName, "host", "node", 1000, 3, false, false},
		{"tag value", storage.TagValueName, "a", "b", 1000, 3, false, false},
		{"reverse row first", storage.MetricName, "m", "renamed", 1000, 1, false, false},
		{"forward row second", storage.MetricName, "m", "renamed", 1000, 2, false, false},
		{"small cache", storage.MetricName, "m", "renamed", 4, 3, false, false},
		{"small cache, tag value", storage.TagValueName, "a", "b", 4, 3, false, false},
		{"asked for", storage.MetricName, "m", "renamed", 1000, 3, true, false},
		{"asked for, tag value", storage.TagValueName, "a", "b", 1000, 3, true, false},
		{"asked for, young", storage.MetricName, "m", "renamed", 1000, 3, true, true},
		{"asked for, young tag value", storage.TagValueName, "a", "b", 1000, 3, true, true},
		{"asked for, reverse row first", storage.MetricName, "m", "renamed", 1000, 1, true, false},
		{"asked for, small cache", storage.MetricName, "m", "renamed", 4, 3, true, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := kv.NewMem(storetest.Tables()...)
			var clock atomic.Int64
			clock.Store(1_700_000_000_000)
			db.SetClock(clock.Load)
			s := storetest.Open(t, db, shared, func(o *store.Options) {
				o.SeriesCache, o.IndexRefresh = c.cache, time.Hour
				o.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
			})
			refresh := func() { // as each --storage.index-refresh
				t.Helper()
				if err := s.Refresh(t.Context(), clock.Load()-15*60_000); err != nil {
					t.Fatal(err)
				}
			}
			heard := 0
			s.Catalog().OnRename(func() { heard++ })
			old := storetest.Resolve(t, s, storetest.Series("m", "host", "a"))[0]
			for i := range 20 { // push it out of a small cache
				storetest.Resolve(t, s, storetest.Series("other"+string('a'+rune(i)), "key"+string('a'+rune(i)), "value"+string('a'+rune(i))))
			}
			refresh()
			if !c.young {
				clock.Add(10 * 60_000)
			}
			steps := renaming(t, db, c.kind, c.from, c.to)
			for i, step := range steps {
				if i == c.steps {
					refresh()
					// puts the old name into the cache once more
					storetest.Resolve(t, s, storetest.Series("m", "host", "a"))
				}
				step()
			}
			for range 3 { // the first one forgets the old name, the next one knows the new one
				if !c.asked {
					break
				}
				if _, err := s.Names().Lookup(t.Context(), c.kind, []string{c.to}); err != nil {
					t.Fatal(err)
				}
			}
			refresh()
			if heard == 0 {
				t.Fatal("the rename was not reported")
			}
			if got := storetest.Resolve(t, s, storetest.Series("m", "host", "a"))[0]; got == old {
				t.Errorf("the old name is still the series that was renamed")
			}
			renamed := map[storage.NameKind]storage.Series{
				storage.MetricName: storetest.Series(c.to, "host", "a"), storage.TagKeyName: storetest.Series("m", c.to, "a"), storage.TagValueName: storetest.Series("m", "host", c.to),
			}[c.kind]
			if got := storetest.Resolve(t, s, renamed)[0]; got != old {
				t.Errorf("%v is not the series that was renamed to it", renamed)
			}
			refresh() // again: the first may have run during the rename
			before := heard
			storetest.Resolve(t, s, storetest.Series("new", "host", "a"))
			refresh()
			refresh()
			if heard != before {
				t.Errorf("a rename was heard of %d more times", heard-before)
			}
		})
	}
}
