package catalog

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// wantWithout is the shortest run of days that has all days of some days but for those that a
// deletion covers.
func wantWithout(d days, start, end int64) days {
	left := noDays
	for day := int64(d.first()); day <= int64(d.last()); day++ {
		begin, last := day*dayMillis, min((day+1)*dayMillis-1, int64(storage.MaxTime))
		if start > begin || end < last {
			left = left.union(daysOf(uint16(day), uint16(day)))
		}
	}
	return left
}

// TestDaysWithout: days are given up that a deletion covers whole, at the begin and at the end, also
// the last day of all, which is short.
func TestDaysWithout(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const newest = int64(storage.MaxTime) / dayMillis
	for range 5000 {
		from := []int64{0, 100, newest - 9}[rng.IntN(3)]
		first := from + rng.Int64N(8)
		d := daysOf(uint16(first), uint16(first+rng.Int64N(from+10-first)))
		edge := func() int64 { // a begin, an end or the middle of a day
			return (from+rng.Int64N(12)-1)*dayMillis + []int64{-1, 0, 1, dayMillis / 2}[rng.IntN(4)]
		}
		start := max(edge(), 0)
		end := min(max(edge(), start), storage.MaxTime)
		if got, want := d.without(start, end), wantWithout(d, start, end); got != want {
			t.Fatalf("days %d to %d without %d to %d = %d to %d, want %d to %d", d.first(), d.last(), start, end, got.first(), got.last(), want.first(), want.last())
		}
	}
	if got := noDays.without(0, storage.MaxTime); got != noDays {
		t.Errorf("no days without all = %v", got)
	}
}

// shelf is the days of some series in tables of their own.
type shelf struct {
	*Days
	t        *testing.T
	db       *kv.Mem
	index    *index.Index
	registry *Registry
}

func newShelf(t *testing.T, list int) *shelf {
	s := &shelf{t: t, db: kv.NewMem(kv.Table{Name: "meta", Families: []string{"name"}}, kv.Table{Name: "data", Families: []string{"t"}}, kv.Table{Name: "uid", Families: []string{"id", "name"}})}
	layout := schema.DefaultLayout()
	s.index = index.New(layout)
	s.registry = NewRegistry(s.index, layout, true)
	s.Days = NewDays(kv.NewEngine(s.db, true), storage.Tables{Meta: "meta", Data: "data", UID: "uid"}, s.index, s.registry)
	for n := range list {
		id, _, err := s.index.Add([]byte{0, 0, 1, 0, 0, 1, 0, 0, byte(n)})
		if err != nil {
			t.Fatal(err)
		}
		s.registry.Note(id)
	}
	if err := s.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

// put notes that rows of a series begin on some days.
func (s *shelf) put(id index.ID, of ...int) {
	s.t.Helper()
	var wider []index.ID
	for _, day := range of {
		wider = s.Widen(wider, id, uint32(day)*86400)
	}
	if err := s.Put(s.t.Context(), wider); err != nil {
		s.t.Fatal(err)
	}
}

// kept describes the days of a series: as they are, and those in its row of tsdb-meta.
func (s *shelf) kept(id index.ID) string {
	s.t.Helper()
	now := "none"
	if first, last, ok := s.Hours(id); ok {
		now = fmt.Sprint(first/86400, "-", last/86400)
	}
	rows, err := s.db.Get(s.t.Context(), "meta", schema.FamilyMeta, s.index.TSUIDBytes(nil, []index.ID{id}))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, c := range rows[0].Cells {
		if slices.Equal(c.Qualifier, own.SpanQualifier()) {
			d := s.ofRow([]kv.StoredCell{{Qualifier: c.Qualifier, Value: c.Value}})
			return fmt.Sprint(now, ", table ", d.first(), "-", d.last())
		}
	}
	return now + ", table none"
}

// TestNarrow takes deleted days from the table and from memory, but for the days of hours in memory.
func TestNarrow(t *testing.T) {
	const day = dayMillis
	for _, c := range []struct {
		name       string
		start, end int64
		head       []int // days of hours in memory
		want       string
	}{
		{"nothing whole", 10*day + 1, 11*day - 1, nil, "10-14, table 10-14"},
		{"the first days", 0, 12*day - 1, nil, "12-14, table 12-14"},
		{"the last day", 14 * day, 15*day + 5, nil, "10-13, table 10-13"},
		{"days in the middle", 11 * day, 13*day - 1, nil, "10-14, table 10-14"},
		{"all", 0, storage.MaxTime, nil, "none, table none"},
		{"all but for memory", 0, storage.MaxTime, []int{13}, "13-13, table none"},
		{"the first, and memory has them", 0, 12*day - 1, []int{10}, "10-14, table 12-14"},
	} {
		s := newShelf(t, 2)
		s.put(0, 10, 14, 12)
		s.put(1, 10, 14)
		hours := func(_ index.ID, see func(base uint32)) {
			for _, d := range c.head {
				see(uint32(d)*86400 + 3600)
			}
		}
		if err := s.Narrow(t.Context(), []index.ID{0}, c.start, c.end, hours); err != nil {
			t.Fatal(err)
		}
		if got := s.kept(0); got != c.want {
			t.Errorf("%s: days %s, want %s", c.name, got, c.want)
		}
		if got := s.kept(1); got != "10-14, table 10-14" {
			t.Errorf("%s: another series has days %s", c.name, got)
		}
		s.put(0, 9)
		if first, _, ok := s.Hours(0); !ok || first != 9*86400 {
			t.Errorf("%s: a row of day 9 begins, and the first is %d", c.name, first/86400)
		}
	}
}

// TestRegistryForgets: a series that is forgotten is not found until it is noted again, or has rows
// of points.
func TestRegistryForgets(t *testing.T) {
	s := newShelf(t, 3)
	r := s.registry
	check := func(when string, forgotten int64, exist ...bool) {
		t.Helper()
		if r.Forgotten() != forgotten {
			t.Errorf("%s %d series are forgotten, want %d", when, r.Forgotten(), forgotten)
		}
		for n, want := range exist {
			if got := r.Of(index.ID(n)).Exists(); got != want {
				t.Errorf("%s series %d exists: %v", when, n, got)
			}
		}
	}
	found := func() int { return len(s.index.Candidates([]string{"\x00\x00\x01"}, nil)) }
	check("at first", 0, true, true, true)
	r.Forget([]index.ID{0, 2})
	r.Forget([]index.ID{0})
	check("after Forget", 2, false, true, false)
	if n := found(); n != 1 {
		t.Errorf("%d series are found, want the one left", n)
	}
	if !r.Note(0) || r.Note(0) || r.Note(1) {
		t.Error("only the first Note of the series that was forgotten is news")
	}
	check("after Note", 1, true, true, false)
	for range 2 {
		r.Found(2)
		check("after Found", 0, true, true, false)
	}
	if n := found(); n != 3 {
		t.Errorf("%d series are found in the end, want 3", n)
	}
}
