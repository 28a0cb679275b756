package leases

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A lease has one owner until it ends or is given back, and keeps how far the work is.
func TestLeases(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	clock := func() time.Time { return now }
	db := kv.NewEngine(kv.NewShared(kv.Table{Name: "tsdb-tree", Families: []string{schema.FamilyData}}), false)
	a, b := New(db, "tsdb-tree", clock), New(db, "tsdb-tree", clock)
	hold := func(l *Leases, want bool, far int64) {
		t.Helper()
		held, done, err := l.Hold(t.Context(), "group", time.Minute)
		if err != nil || held != want || far == 0 && !done.IsZero() || far != 0 && done.Unix() != far {
			t.Errorf("Hold = %v, %s, %v, want %v, %d", held, done, err, want, far)
		}
	}
	note := func(l *Leases, far int64, want bool) {
		t.Helper()
		if held, err := l.Note(t.Context(), "group", time.Unix(far, 0), time.Minute); err != nil || held != want {
			t.Errorf("Note = %v, %v, want %v", held, err, want)
		}
	}
	hold(a, true, 0)
	hold(b, false, 0)
	note(a, 990, true)
	hold(a, true, 990)
	hold(b, false, 990)
	now = now.Add(61 * time.Second)
	hold(b, true, 990)
	note(a, 1050, false)
	hold(a, false, 990)
	note(b, 1060, true)
	if err := b.Release(t.Context(), "group"); err != nil {
		t.Fatal(err)
	}
	hold(a, true, 1060)
	if err := b.Release(t.Context(), "group"); err != nil { // not its own any more
		t.Fatal(err)
	}
	hold(b, false, 1060)
}

// The clocks of processes may differ. One that is ahead takes a lease too early, and then has it: it does not go back
// and forth.
func TestClocks(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	db := kv.NewEngine(kv.NewShared(kv.Table{Name: "tsdb-tree", Families: []string{schema.FamilyData}}), false)
	behind := New(db, "tsdb-tree", func() time.Time { return now })
	ahead := New(db, "tsdb-tree", func() time.Time { return now.Add(5 * time.Minute) })
	owners := map[string]int{}
	for range 20 {
		for name, l := range map[string]*Leases{"behind": behind, "ahead": ahead} {
			held, _, err := l.Hold(t.Context(), "group", time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			if held {
				owners[name]++
			}
		}
		now = now.Add(20 * time.Second)
	}
	if owners["behind"] > 1 || owners["ahead"] != 20 {
		t.Errorf("held %v", owners)
	}
	now = now.Add(10 * time.Minute) // the one ahead is dead
	if held, _, err := behind.Hold(t.Context(), "group", time.Minute); err != nil || !held {
		t.Errorf("Hold = %v, %v after the end of the lease", held, err)
	}
}
