package pebble

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// onFiles opens a store in memory whose clock the test sets.
func onFiles(t *testing.T, now *int64) *Engine {
	t.Helper()
	o := Options{InMemory: true, Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e, err := open(o, vfs.NewMem(), func() int64 { return *now })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

func (e *Engine) mustFlush(t *testing.T) {
	t.Helper()
	if err := e.db().Flush(); err != nil {
		t.Fatal(err)
	}
}

func (e *Engine) mustCompact(t *testing.T) {
	t.Helper()
	e.begins.Load().release()
	if err := e.db().Compact(t.Context(), []byte{1}, []byte{0xff}, false); err != nil {
		t.Fatal(err)
	}
}

// TestDeletedStaysDeleted has an old row at the bottom, and above it changes that delete all of it.
// Flushes and compactions fold those changes before they meet the old row; then the row must not
// reappear.
func TestDeletedStaysDeleted(t *testing.T) {
	key := []byte("k")
	put := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("old")}, {Qualifier: []byte("r")}}}
	deleteCell := kv.Mutation{Key: key, Deletes: []kv.Delete{{Qualifier: []byte("q")}}}
	deleteCells := kv.Mutation{Key: key, Deletes: []kv.Delete{{Qualifier: []byte("q")}, {Qualifier: []byte("r")}}}
	deleteRow := kv.Mutation{Key: key, DeleteRow: true}
	for name, test := range map[string]struct {
		changes []kv.Mutation
		want    []string
	}{
		"cells":             {[]kv.Mutation{deleteCells}, nil},
		"row":               {[]kv.Mutation{deleteRow}, nil},
		"row, then cells":   {[]kv.Mutation{deleteRow, deleteCells}, nil},
		"cells, then row":   {[]kv.Mutation{deleteCells, deleteRow}, nil},
		"cell":              {[]kv.Mutation{deleteCell}, []string{"k: r="}},
		"again, then cells": {[]kv.Mutation{deleteRow, put, deleteCells}, nil},
	} {
		for _, together := range []bool{true, false} {
			now := int64(1000)
			e := onFiles(t, &now)
			apply(t, e, "f", []kv.Mutation{put})
			e.mustFlush(t)
			e.mustCompact(t)
			check := func(when string) {
				if wantLines(t, scanned(t, e, kv.Scan{}), test.want...); t.Failed() {
					t.Fatalf("delete %s, together %t, %s", name, together, when)
				}
			}
			for _, change := range test.changes {
				now++
				apply(t, e, "f", []kv.Mutation{change})
				if !together {
					e.mustFlush(t)
				}
			}
			check("in memory")
			e.mustFlush(t)
			check("flushed")
			e.mustCompact(t)
			check("compacted")
		}
	}
}

// TestSinceOnFiles compares scans with Since to the times of all cells, after puts, deletions and
// compactions.
func TestSinceOnFiles(t *testing.T) {
	const minute = 60_000
	now := int64(1_700_000_000_000)
	begin := now
	e := onFiles(t, &now)
	for round := range 12 {
		now += 10 * minute
		var change []kv.Mutation
		for i := range 200 {
			key := []byte(fmt.Sprintf("%04d", i+200*(round/3)))
			cell := kv.Put{Qualifier: fmt.Appendf(nil, "%d", round), Value: make([]byte, 300)}
			m := kv.Mutation{Key: key, Puts: []kv.Put{cell}}
			switch i % 5 {
			case 1:
				m = kv.Mutation{Key: key, DeleteRow: true}
			case 2:
				m = kv.Mutation{Key: key, Deletes: []kv.Delete{{Qualifier: fmt.Appendf(nil, "%d", round-1)}}}
			}
			change = append(change, m)
		}
		apply(t, e, "f", change)
		if e.mustFlush(t); round%4 == 3 {
			e.mustCompact(t)
		}
		for since := begin; since < now+10*minute; since += 5 * minute {
			want := rowsSince(t, e, since)
			if got := scanned(t, e, kv.Scan{Since: since}); len(got) != want {
				t.Fatalf("round %d: since %d minutes %d rows, want %d", round, (since-begin)/minute, len(got), want)
			}
		}
	}
}

// rowsSince counts rows with a cell not older than since, without a scan with Since.
func rowsSince(t *testing.T, e *Engine, since int64) (n int) {
	t.Helper()
	for row, err := range e.Scan(t.Context(), kv.Scan{Table: "t", Family: "f"}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if c.Time >= since {
				n++
				break
			}
		}
	}
	return n
}

// TestCache checks that memory tables, which Pebble takes from the cache's memory, leave some of
// it.
func TestCache(t *testing.T) {
	for _, o := range []Options{{Path: t.TempDir()}, {InMemory: true}, {Path: t.TempDir(), CacheBytes: 1 << 20}} {
		o.Tables = []kv.Table{{Name: "t", Families: []string{"f"}}}
		e := opened(t, o)
		apply(t, e, "f", benchRows(20_000, 1))
		e.mustFlush(t)
		e.mustCompact(t)
		for range 2 {
			scanned(t, e, kv.Scan{})
		}
		if m := e.db().Metrics().BlockCache; m.Hits == 0 || m.Size == 0 {
			t.Errorf("%+v: cache after two scans: %+v", o, m)
		}
	}
}

// TestScanJumps checks that a scan for a few rows of many does not step through all.
func TestScanJumps(t *testing.T) {
	now := int64(1000)
	e := onFiles(t, &now)
	var keys []string
	for hour := range 3 {
		for tag := range 10_000 {
			keys = append(keys, string([]byte{'m', byte(hour), 1, byte(tag >> 8), byte(tag)}))
		}
	}
	apply(t, e, "f", rows(keys...))
	e.mustFlush(t)
	suffix := func(tag int) []byte { return []byte{1, byte(tag >> 8), byte(tag)} }
	for name, m := range map[string]*kv.Match{
		"suffixes": {Prefix: 2, Key: 1, Value: 2, Suffixes: [][]byte{suffix(17), suffix(5000), suffix(9999)}},
		"values": {Prefix: 2, Key: 1, Value: 2, Tags: []kv.Tag{
			{Key: []byte{1}, Values: [][]byte{suffix(17)[1:], suffix(5000)[1:], suffix(9999)[1:]}},
		}},
	} {
		if got := scanned(t, e, kv.Scan{Match: m}); len(got) != 9 {
			t.Errorf("by %s: %d rows, want 9", name, len(got))
		}
		steps := stepsOf(t, e, &kv.Scan{Match: m})
		if most := 9*2*missesBeforeSeek + 100; steps > most {
			t.Errorf("by %s: %d steps in Pebble, want at most %d", name, steps, most)
		}
	}
}

// stepsOf iterates as scan does and counts the entries that Pebble stepped over.
func stepsOf(t *testing.T, e *Engine, s *kv.Scan) int {
	t.Helper()
	w, err := e.walk(1, s)
	if err != nil {
		t.Fatal(err)
	}
	defer w.it.Close()
	for {
		if ok, err := w.step(t.Context()); err != nil {
			t.Fatal(err)
		} else if !ok {
			break
		}
	}
	stats := w.it.Stats()
	return stats.ForwardStepCount[pebble.InternalIterCall] + stats.ForwardSeekCount[pebble.InternalIterCall]
}
