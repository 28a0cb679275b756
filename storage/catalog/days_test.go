package catalog_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const aDay = 24 * 3600_000

// appendOne appends a point.
func appendOne(t *testing.T, s *store.Store, one storage.Series, time int64) error {
	t.Helper()
	var b storage.Batch
	b.Add(storetest.Resolve(t, s, one)[0], time, 1)
	return s.Append(t.Context(), &b)
}

// TestSpansOfOldStore: series of a version that recorded no active days may have points on any day,
// for ever; the active days of new series are known.
func TestSpansOfOldStore(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	old := storetest.Start(t, db, func(o *store.Options) { o.Exclusive = false })
	one, two := storetest.Series("m", "host", "1"), storetest.Series("m", "host", "2")
	if err := appendOne(t, old.Store, one, 5*aDay); err != nil {
		t.Fatal(err)
	}
	old.End()
	for range 2 {
		s := storetest.Start(t, db)
		for _, of := range []storage.Series{one, two} {
			if err := appendOne(t, s.Store, of, 7*aDay); err != nil {
				t.Fatal(err)
			}
		}
		for day, want := range map[int64]string{5: one.String(), 6: one.String(), 7: one.String() + " " + two.String()} {
			if got := find(t, s.Store, day*aDay, day*aDay+1); got != want {
				t.Errorf("day %d: found %s, want %s", day, got, want)
			}
		}
		s.End()
	}
}

// TestSpanFails: no row is put before its active days are recorded, and a record that failed is
// written by the next attempt.
func TestSpanFails(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	faulty := kvtest.New(db)
	s := storetest.Start(t, faulty)
	one := storetest.Series("m", "host", "1")
	if err := appendOne(t, s.Store, one, 5*aDay); err != nil {
		t.Fatal(err)
	}
	faulty.Fail(kvtest.Apply, 1, kvtest.Before)
	if err := appendOne(t, s.Store, one, 9*aDay); !errors.Is(err, kvtest.ErrFault) {
		t.Fatal(err)
	}
	rows := 0
	for _, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
	}
	if rows != 1 {
		t.Errorf("%d rows of points", rows)
	}
	if err := appendOne(t, s.Store, one, 9*aDay); err != nil {
		t.Fatal(err)
	}
	s.End()
	s = storetest.Start(t, db)
	if got := find(t, s.Store, 9*aDay, 9*aDay); got != one.String() {
		t.Errorf("found %q", got)
	}
	if got := find(t, s.Store, 10*aDay, 11*aDay); got != "" {
		t.Errorf("a day later found %q", got)
	}
}

// TestSpanEdges tests both ends of the range of times.
func TestSpanEdges(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	early, late, none := storetest.Series("m", "host", "early"), storetest.Series("m", "host", "late"), storetest.Series("m", "host", "none")
	if err := errors.Join(appendOne(t, s, early, 0), appendOne(t, s, late, storage.MaxTime)); err != nil {
		t.Fatal(err)
	}
	storetest.Resolve(t, s, none)
	all := early.String() + " " + late.String()
	for _, c := range []struct {
		start, end int64
		want       string
	}{
		{-1 << 63, 1<<63 - 1, all + " " + none.String()}, // no time at all
		{0, storage.MaxTime, all + " " + none.String()},
		{1, storage.MaxTime, all + " " + none.String()}, // the first day
		{0, aDay - 1, early.String()},
		{-5, 0, early.String()},
		{aDay, storage.MaxTime - 2*aDay, ""},
		{storage.MaxTime, storage.MaxTime, late.String()},
		{aDay, 1<<63 - 1, late.String()},
	} {
		if got := find(t, s, c.start, c.end); got != c.want {
			t.Errorf("Find(%d, %d) = %s, want %s", c.start, c.end, got, c.want)
		}
	}
	if keys, err := s.TagKeys(t.Context(), aDay, 2*aDay); err != nil || len(keys) != 0 {
		t.Error(keys, err)
	}
	if hosts, err := s.TagValues(t.Context(), "host", aDay, storage.MaxTime); err != nil || !slices.Equal(hosts, []string{"late"}) {
		t.Error(hosts, err)
	}
}

// TestSpanOfSharedValue: two series with one value of a tag have points on different days, and a
// function accepts the value.
func TestSpanOfSharedValue(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	one, two := storetest.Series("m", "host", "a", "rack", "1"), storetest.Series("m", "host", "a", "rack", "2")
	if err := errors.Join(appendOne(t, s, one, 5*aDay), appendOne(t, s, two, 9*aDay)); err != nil {
		t.Fatal(err)
	}
	for day, want := range map[int64]string{5: one.String(), 7: "", 9: two.String()} {
		if got := find(t, s, day*aDay, day*aDay, matching("host", "a")); got != want {
			t.Errorf("day %d: found %s, want %s", day, got, want)
		}
	}
}
