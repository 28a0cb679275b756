package pebble

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// unsettled runs a check in memory, after a flush and after a compaction.
func unsettled(t *testing.T, e *Engine, check func(where string)) {
	t.Helper()
	check("in memory")
	e.mustFlush(t)
	check("flushed")
	if err := e.Compact(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	check("compacted")
}

func keys(from, to string) kv.KeyRange { return kv.KeyRange{From: []byte(from), To: []byte(to)} }

// TestDeleteRange deletes ranges of rows that are in memory, in files or both, and puts some of
// them again.
func TestDeleteRange(t *testing.T) {
	del := func(t *testing.T, e *Engine, from, to string) {
		t.Helper()
		if _, err := e.DeleteRange(t.Context(), "t", keys(from, to)); err != nil {
			t.Fatal(err)
		}
	}
	for _, settled := range []string{"no", "flushed", "compacted"} {
		t.Run(settled, func(t *testing.T) {
			now := int64(1000)
			e := onFiles(t, &now)
			apply(t, e, "f", rows("a", "b", "c", "d", "e"))
			if settled != "no" {
				e.mustFlush(t)
			}
			if settled == "compacted" {
				e.mustCompact(t)
			}
			del(t, e, "b", "d")
			more := rows("c")
			more[0].Puts[0].Qualifier = []byte("r") // what the row had before is gone
			apply(t, e, "f", more)
			unsettled(t, e, func(where string) {
				t.Run(where, func(t *testing.T) {
					wantLines(t, scanned(t, e, kv.Scan{}), "a: q=of a", "c: r=of c", "d: q=of d", "e: q=of e")
				})
			})
			del(t, e, "d", "z")
			unsettled(t, e, func(where string) {
				t.Run(where, func(t *testing.T) { wantLines(t, scanned(t, e, kv.Scan{}), "a: q=of a", "c: r=of c") })
			})
		})
	}
}

func TestDeleteRangeRefuses(t *testing.T) {
	now := int64(1000)
	e := onFiles(t, &now)
	apply(t, e, "f", rows("a"))
	for _, r := range []kv.KeyRange{{From: []byte("a")}, {}, keys("b", "a"), keys("a", "a")} {
		if _, err := e.DeleteRange(t.Context(), "t", keys("a", "b"), r); !errors.Is(err, kv.ErrInvalid) {
			t.Errorf("range from %q to %q: %v, want %v", r.From, r.To, err, kv.ErrInvalid)
		}
	}
	if _, err := e.DeleteRange(t.Context(), "none"); !errors.Is(err, kv.ErrNoTable) {
		t.Errorf("table that is not there: %v", err)
	}
	wantLines(t, scanned(t, e, kv.Scan{}), "a: q=of a")
}

// TestDeleteRangeAgain: deleted ranges are not written again, and other tables and families keep
// their rows.
func TestDeleteRangeAgain(t *testing.T) {
	all := kv.Table{Name: "t", Families: []string{"f", "g"}}
	e := opened(t, Options{Path: t.TempDir(), Tables: []kv.Table{all, {Name: "u", Families: []string{"f"}}}})
	apply(t, e, "f", rows("a", "b"))
	apply(t, e, "g", rows("a", "b"))
	if err := e.Apply(t.Context(), "u", "f", rows("a")); err != nil {
		t.Fatal(err)
	}
	var written uint64
	for range 3 {
		if _, err := e.DeleteRange(t.Context(), "t", keys("a", "b"), keys("x", "y")); err != nil {
			t.Fatal(err)
		}
		now := e.db().Metrics().WAL.BytesIn
		if written != 0 && now != written {
			t.Errorf("deleting nothing wrote %d bytes", now-written)
		}
		written = now
	}
	wantLines(t, scanned(t, e, kv.Scan{}), "b: q=of b")
	wantLines(t, scanned(t, e, kv.Scan{Family: "g"}), "b: q=of b")
	if got, err := e.Get(t.Context(), "u", "f", [][]byte{[]byte("a")}); err != nil || len(got[0].Cells) != 1 {
		t.Errorf("other table: %v, %v", got, err)
	}
}

// TestCheckpoint copies a store during writes and opens the copy.
func TestCheckpoint(t *testing.T) {
	o := Options{Path: t.TempDir() + "/store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e := opened(t, o)
	apply(t, e, "f", rows("a"))
	e.mustFlush(t)
	if err := e.ApplyUnlogged(t.Context(), "t", "f", rows("b")); err != nil {
		t.Fatal(err)
	}
	backup := filepath.Join(t.TempDir(), "not", "there", "yet")
	if err := e.Checkpoint(t.Context(), backup); err != nil {
		t.Fatal(err)
	}
	apply(t, e, "f", rows("c"))
	if err := e.Checkpoint(t.Context(), backup); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), backup) {
		t.Errorf("second checkpoint to the same folder: %v", err)
	}
	copied := opened(t, Options{Path: backup})
	wantLines(t, scanned(t, copied, kv.Scan{}), "a: q=of a", "b: q=of b")
	apply(t, copied, "f", rows("d"))
	wantLines(t, scanned(t, e, kv.Scan{}), "a: q=of a", "b: q=of b", "c: q=of c")
	if err := opened(t, Options{InMemory: true}).Checkpoint(t.Context(), t.TempDir()+"/m"); err == nil {
		t.Error("checkpoint of a store in memory: no error")
	}
}

// TestCheckpointIsDurable: a power failure after Checkpoint returned leaves the whole backup; the
// rest of an interrupted backup does not prevent another one.
func TestCheckpointIsDurable(t *testing.T) {
	files := vfs.NewCrashableMem()
	e, err := crashStore(files)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.MkdirAll("backup.partial/old", 0o755); err != nil {
		t.Fatal(err)
	}
	apply(t, e, "f", rows("a", "b"))
	e.mustFlush(t)
	apply(t, e, "f", rows("c"))
	if err := e.Checkpoint(t.Context(), "backup"); err != nil {
		t.Fatal(err)
	}
	crashed := files.CrashClone(vfs.CrashCloneCfg{})
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	copied, err := open(Options{Path: "backup"}, crashed, func() int64 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	defer copied.Close()
	wantLines(t, scanned(t, copied, kv.Scan{}), "a: q=of a", "b: q=of b", "c: q=of c")
}

// TestFlush: changes that were not logged are there after Flush and a power failure that leaves
// only synced data.
func TestFlush(t *testing.T) {
	files := vfs.NewCrashableMem()
	e, err := crashStore(files)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		e.ApplyUnlogged(t.Context(), "t", "f", rows("a")), e.Flush(t.Context()), e.ApplyUnlogged(t.Context(), "t", "f", rows("b")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	again, err := crashStore(files.CrashClone(vfs.CrashCloneCfg{}))
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, scanned(t, again, kv.Scan{}), "a: q=of a") // and b was not waited for
	for _, e := range []*Engine{e, again} {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := e.Flush(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Flush after Close: %v, want %v", err, ErrClosed)
	}
}

// TestUnloggedCrash mixes unlogged changes with logged ones, flushes and changes of the log's file,
// and cuts the power. The state afterwards is that after some number of changes, no fewer than were
// made before the last Apply or Flush.
func TestUnloggedCrash(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for round := range 20 {
		files := vfs.NewCrashableMem()
		e, err := crashStore(files)
		if err != nil {
			t.Fatal(err)
		}
		made, durable := 0, 0
		for range 50 + rng.IntN(100) {
			made++
			change := []kv.Mutation{numbered(made)}
			if rng.IntN(10) == 0 {
				apply(t, e, "f", change)
				durable = made
			} else if err := e.ApplyUnlogged(t.Context(), "t", "f", change); err != nil {
				t.Fatal(err)
			}
			switch rng.IntN(30) {
			case 0:
				if err := e.Flush(t.Context()); err != nil {
					t.Fatal(err)
				}
				durable = made
			case 1:
				e.mustFlush(t) // of memory to files; Flush is something else
				durable = made
			case 2, 3, 4:
				if _, err := e.db().AsyncFlush(); err != nil { // begins a new file of the log
					t.Fatal(err)
				}
			}
		}
		crashed := files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: rng.IntN(101), RNG: rng})
		again, err := crashStore(crashed)
		if err != nil {
			t.Fatal(err)
		}
		if n := countNumbered(t, again); n < durable || n > made {
			t.Errorf("round %d: %d changes are there, %d were durable of %d", round, n, durable, made)
		}
		for _, e := range []*Engine{e, again} {
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// numbered returns the nth change: it puts a row of its own, and puts or deletes another in turns.
func numbered(n int) kv.Mutation {
	if n%2 == 0 {
		return kv.Mutation{Key: []byte("even"), Puts: []kv.Put{{Qualifier: []byte("n"), Value: binary.BigEndian.AppendUint32(nil, uint32(n))}}}
	}
	return kv.Mutation{Key: fmt.Appendf(nil, "odd %05d", n), Puts: []kv.Put{{Qualifier: []byte("n"), Value: make([]byte, 1000)}}}
}

// countNumbered returns the number of changes after which the table was like this; there must be
// one.
func countNumbered(t *testing.T, e *Engine) (n int) {
	t.Helper()
	even := 0
	for row, err := range e.Scan(t.Context(), kv.Scan{Table: "t", Family: "f"}) {
		if err != nil {
			t.Fatal(err)
		}
		if string(row.Key) == "even" {
			even = int(binary.BigEndian.Uint32(row.Cells[0].Value))
			continue
		}
		odd := 0
		if _, err := fmt.Sscanf(string(row.Key), "odd %d", &odd); err != nil || odd != n+2 && n+odd != 1 {
			t.Errorf("row %q after change %d: %v", row.Key, n, err)
		}
		n = odd
	}
	if even != n+1 && even != n-1 && n+even > 0 {
		t.Errorf("change %d is the last to its row, %d to the other", n, even)
	}
	return max(n, even)
}
