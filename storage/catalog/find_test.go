package catalog_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

func find(t *testing.T, s *store.Store, start, end int64, filters ...storage.Filter) string {
	t.Helper()
	found, err := s.Find(t.Context(), filters, start, end, 0)
	if err != nil {
		t.Fatal(err)
	}
	list := []string{}
	for _, f := range found {
		list = append(list, f.String())
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

func metric(values ...string) storage.Filter { return storage.Filter{Values: values} }

func tag(key string, values ...string) storage.Filter {
	return storage.Filter{Keys: []string{key}, Values: append([]string{}, values...)}
}

func matching(key, prefix string) storage.Filter {
	return storage.Filter{Keys: []string{key}, Match: func(v string) bool { return strings.HasPrefix(v, prefix) }}
}

func absent(f storage.Filter) storage.Filter {
	f.Absent = true
	return f
}

func or(f storage.Filter, keys ...string) storage.Filter {
	f.Or = keys
	return f
}

func TestFind(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	a1, a2, b := storetest.Series("cpu", "core", "0", "host", "a1"), storetest.Series("cpu", "core", "1", "host", "a2"), storetest.Series("cpu", "host", "b")
	m1, m2 := storetest.Series("mem", "host", "a1"), storetest.Series("mem", "rack", "r")
	storetest.Resolve(t, s, a1, a2, b, m1, m2)
	for _, c := range []struct {
		name    string
		filters []storage.Filter
		want    []storage.Series
	}{
		{"all", nil, []storage.Series{a1, a2, b, m1, m2}},
		{"metric", []storage.Filter{metric("cpu")}, []storage.Series{a1, a2, b}},
		{"metrics", []storage.Filter{metric("cpu", "mem", "nope")}, []storage.Series{a1, a2, b, m1, m2}},
		{"unknown metric", []storage.Filter{metric("nope")}, nil},
		{"no metric at all", []storage.Filter{metric("cpu"), metric("mem")}, nil},
		{"metric by function", []storage.Filter{{Match: func(m string) bool { return m != "cpu" }}}, []storage.Series{m1, m2}},
		{"tag", []storage.Filter{tag("host", "a1")}, []storage.Series{a1, m1}},
		{"tag and metric", []storage.Filter{metric("mem"), tag("host", "a1", "b")}, []storage.Series{m1}},
		{"unknown value", []storage.Filter{tag("host", "nope")}, nil},
		{"unknown value or absent", []storage.Filter{absent(tag("host", "nope"))}, []storage.Series{m2}},
		{"unknown key", []storage.Filter{tag("nope", "a1")}, nil},
		{"unknown key absent", []storage.Filter{metric("mem"), absent(tag("nope", "a1"))}, []storage.Series{m1, m2}},
		{"has key", []storage.Filter{{Keys: []string{"core"}}}, []storage.Series{a1, a2}},
		{"lacks key", []storage.Filter{metric("cpu"), absent(tag("core"))}, []storage.Series{b}},
		{"by function", []storage.Filter{matching("host", "a")}, []storage.Series{a1, a2, m1}},
		{"by function or absent", []storage.Filter{absent(matching("host", "b"))}, []storage.Series{b, m2}},
		{"two conditions on a key", []storage.Filter{matching("host", "a"), tag("host", "a2", "b")}, []storage.Series{a2}},
		{"two keys", []storage.Filter{{Keys: []string{"host", "rack"}, Values: []string{"r", "b"}}}, []storage.Series{b, m2}},
		{"or", []storage.Filter{or(tag("host", "b"), "rack")}, []storage.Series{b, m2}},
		{"or of an unknown value", []storage.Filter{or(tag("host", "nope"), "core")}, []storage.Series{a1, a2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			want := []string{}
			for _, s := range c.want {
				want = append(want, s.String())
			}
			slices.Sort(want)
			if got := find(t, s, 0, storage.MaxTime, c.filters...); got != strings.Join(want, " ") {
				t.Errorf("found %s\nwant  %s", got, want)
			}
		})
	}
	if _, err := s.Find(t.Context(), nil, 0, storage.MaxTime, 4); !errors.Is(err, storage.ErrLimit) {
		t.Errorf("5 series with a limit of 4: %v", err)
	}
	for _, c := range []struct {
		list func() ([]string, error)
		want []string
	}{
		{func() ([]string, error) { return s.Metrics(t.Context(), 0, storage.MaxTime) }, []string{"cpu", "mem"}},
		{func() ([]string, error) { return s.TagKeys(t.Context(), 0, storage.MaxTime) }, []string{"core", "host", "rack"}},
		{func() ([]string, error) { return s.TagValues(t.Context(), "host", 0, storage.MaxTime) }, []string{"a1", "a2", "b"}},
		{func() ([]string, error) { return s.TagValues(t.Context(), "nope", 0, storage.MaxTime) }, nil},
	} {
		if got, err := c.list(); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("listed %q, %v; want %q", got, err, c.want)
		}
	}
}

func TestResolveRefuses(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	refs, errs := s.Resolve(t.Context(), []storage.Series{
		storetest.Series("good", "a", "b"), storetest.Series("no tags"), storetest.Series("bad", "k", "中"), storetest.Series("twice", "a", "1", "a", "2"), storetest.Series("", "a", "b"), storetest.Series("good", "a", "c"),
	})
	for i, want := range []bool{true, false, false, false, false, true} {
		if (errs[i] == nil) != want || (refs[i] != 0) != want || !want && !errors.Is(errs[i], storage.ErrInvalid) {
			t.Errorf("series %d: ref %d, %v", i, refs[i], errs[i])
		}
	}
	if got := find(t, s, 0, storage.MaxTime); got != "good{a=b} good{a=c}" {
		t.Errorf("found %s", got)
	}
}

// The tables after the first point of "sys.cpu.user host=web01" are as a TSD with all of its meta
// tracking leaves them (there the point is an integer; here a float).
func TestTablesOfFirstPoint(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, db, func(o *store.Options) {
		// where a TSD looks
		o.Now, o.Exclusive = func() time.Time { return time.Unix(1700000000, 0) }, false
	})
	var b storage.Batch
	b.Add(storetest.Resolve(t, s, storetest.Series("sys.cpu.user", "host", "web01"))[0], 1356998400000, 42)
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	if err := s.Documents().PutMetadata(t.Context(), map[string]storage.Metadata{"sys.cpu.user": {Type: "counter", Help: "a <b> & c"}}); err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	for _, table := range storetest.Tables() {
		for _, family := range table.Families {
			for row, err := range db.Scan(t.Context(), kv.Scan{Table: table.Name, Family: family}) {
				if err != nil {
					t.Fatal(err)
				}
				for _, c := range row.Cells {
					value := fmt.Sprintf("%x", c.Value)
					if strings.HasPrefix(string(c.Value), "{") {
						value = string(c.Value)
					}
					fmt.Fprintf(&got, "%s %x %s:%s %s\n", table.Name, row.Key, family, printable(c.Qualifier), value)
				}
			}
		}
	}
	want := `tsdb 00000150e22700000001000001 t:000b 42280000
tsdb-uid 00 id:metrics 0000000000000001
tsdb-uid 00 id:tagk 0000000000000001
tsdb-uid 00 id:tagv 0000000000000001
tsdb-uid 686f7374 id:tagk 000001
tsdb-uid 7379732e6370752e75736572 id:metrics 000001
tsdb-uid 7765623031 id:tagv 000001
tsdb-uid 000001 name:metric_meta {"type":"METRIC","displayName":"","description":"a <b> & c","notes":"","created":1700000000,"custom":{"type":"counter"}}
tsdb-uid 000001 name:metrics 7379732e6370752e75736572
tsdb-uid 000001 name:tagk 686f7374
tsdb-uid 000001 name:tagv 7765623031
tsdb-meta 000001000001000001 name:ts_ctr 0000000000000001
tsdb-meta 000001000001000001 name:ts_meta {"tsuid":"000001000001000001","displayName":"","description":"","notes":"","created":1700000000,"custom":null,"units":"","dataType":"","retention":0,"max":"NaN","min":"NaN"}
`
	if got.String() != want {
		t.Errorf("tables:\n%swant:\n%s", got.String(), want)
	}
	all, err := storetest.Open(t, db).Documents().Metadata(t.Context())
	if err != nil || all["sys.cpu.user"] != (storage.Metadata{Type: "counter", Help: "a <b> & c"}) {
		t.Errorf("metadata = %v, %v", all, err)
	}
}

func printable(qualifier []byte) string {
	for _, b := range qualifier {
		if b < ' ' || b > '~' {
			return fmt.Sprintf("%x", qualifier)
		}
	}
	return string(qualifier)
}

// Rows without a tsdb-meta row, as a TSD with its default settings leaves them, are found by their
// keys, also where tsdb-meta knows other series of the metric, and also when they come later.
func TestFindWithoutMeta(t *testing.T) {
	for _, salt := range []int{0, 1} {
		t.Run(fmt.Sprint("salt ", salt), func(t *testing.T) {
			now := time.Unix(1357000000, 0)
			db := kv.NewMem(storetest.Tables()...)
			db.SetClock(now.UnixMilli)
			shared := func(o *store.Options) {
				o.Exclusive, o.Layout.SaltWidth = false, salt
				o.Now = func() time.Time { return now }
			}
			writer := storetest.Open(t, db, shared)
			// A writer that keeps no tsdb-meta: its rows of tsdb-meta are deleted.
			write := func(at int64, keepMeta bool, list ...storage.Series) {
				t.Helper()
				var b storage.Batch
				for _, ref := range storetest.Resolve(t, writer, list...) {
					b.Add(ref, at, 1)
				}
				if err := writer.Append(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				if keepMeta {
					return
				}
				deleteMeta(t, db)
			}
			const hour = 1356998400000
			a, b, late := storetest.Series("foreign", "host", "a"), storetest.Series("foreign", "host", "b"), storetest.Series("foreign", "host", "late")
			mixed, ours := storetest.Series("mixed", "host", "a"), storetest.Series("mixed", "host", "ours")
			write(hour, false, a, b, mixed)
			write(hour+7200_000, true, ours)
			s := storetest.Open(t, db, shared)
			if got, want := find(t, s, hour, hour+1000, metric("foreign"), tag("host", "b")), b.String(); got != want {
				t.Errorf("by tag: found %s, want %s", got, want)
			}
			if got, want := find(t, s, hour, hour+1000, metric("foreign")), a.String()+" "+b.String(); got != want {
				t.Errorf("by metric: found %s, want %s", got, want)
			}
			if got, want := find(t, s, hour, hour+7200_000, metric("mixed")), mixed.String()+" "+ours.String(); got != want {
				t.Errorf("mixed: found %s, want %s", got, want)
			}
			now = now.Add(time.Hour)
			write(hour+3000, false, late)
			if got, want := find(t, s, hour, hour+1000, metric("foreign")), strings.Join([]string{a.String(), b.String(), late.String()}, " "); got != want {
				t.Errorf("later: found %s, want %s", got, want)
			}
			if names, err := s.Metrics(t.Context(), 0, storage.MaxTime); err != nil || !slices.Equal(names, []string{"foreign", "mixed"}) {
				t.Errorf("Metrics = %q, %v", names, err)
			}
			only := storetest.Open(t, db, shared, func(o *store.Options) { o.Index = storage.IndexMeta })
			if got := find(t, only, hour, hour+1000, metric("foreign")); got != "" {
				t.Errorf("with --storage.series-index=meta: found %s", got)
			}
		})
	}
}
