package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// versioned returns rows that contain their number and version, of bytes that do not compress.
func versioned(rng *rand.Rand, from, to, version int) (list []kv.Mutation) {
	for n := from; n < to; n++ {
		value := []byte(fmt.Sprintf("%d/%d/", n, version))
		for range 300 {
			value = append(value, byte(rng.Uint32()))
		}
		list = append(list, kv.Mutation{Key: fmt.Appendf(nil, "row %05d", n), Puts: []kv.Put{{Qualifier: []byte("q"), Value: value}}})
	}
	return list
}

// TestRepair flips bits in tables on two levels, cuts the tables and removes them. What Check
// reports as lost is gone after Repair, without an older version of it. All else is unchanged, also
// for reads before the repair that do not meet the damage, and another Check finds nothing.
func TestRepair(t *testing.T) {
	const rows = 1500
	mem := vfs.NewMem()
	o := Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}}
	e := openedOn(t, repairing(o), mem) // nothing is compacted by itself
	rng := rand.New(rand.NewPCG(3, 4))
	apply(t, e, "f", versioned(rng, 0, rows, 1))
	e.mustFlush(t)
	e.mustCompact(t)
	apply(t, e, "f", versioned(rng, 300, 900, 2))
	e.mustFlush(t)
	want := valuesOf(t, e)
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	var tables []string
	names, err := mem.List(o.Path)
	for _, name := range names {
		if isTable(name) {
			tables = append(tables, name)
		}
	}
	if err != nil || len(tables) < 2 || len(want) != rows {
		t.Fatalf("%d tables, %d rows, %v", len(tables), len(want), err)
	}
	runs := scale.Of(t, "damaged stores repaired", 15, 20, 400)
	for run := range runs {
		files := vfs.NewMem()
		if ok, err := vfs.Clone(mem, files, o.Path, o.Path); err != nil || !ok {
			t.Fatal(ok, err)
		}
		what := damageTable(t, rng, files, files.PathJoin(o.Path, tables[run%len(tables)]), run)
		lost, err := check(t.Context(), o, files)
		if err != nil {
			t.Fatalf("%s: Check: %v", what, err)
		}
		done, again, err := repairStore(t.Context(), o, files)
		// a damaged filter keeps rows from being read by key, and a repair loses none of them
		if err != nil || len(again) != len(lost) && len(again) > 0 || len(lost) > 0 && len(done) == 0 {
			t.Fatalf("%s: Repair: %v, lost %v, Check said %v, %v", what, done, again, lost, err)
		}
		checkRepaired(t, what, o, files, want, again)
	}
}

func damageTable(t *testing.T, rng *rand.Rand, files vfs.FS, name string, run int) string {
	t.Helper()
	f, err := files.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(f)
	if err := errors.Join(err, f.Close(), files.Remove(name)); err != nil {
		t.Fatal(err)
	}
	at := rng.IntN(len(b))
	var what string
	if run < 8 { // the blocks at the end: filter, index, properties
		at = len(b) - 1 - rng.IntN(3000)
	}
	switch {
	case run < 2:
		return name + " removed"
	case run < 4:
		b, what = b[:len(b)/2], "halved"
	default:
		b[at] ^= 1 << rng.IntN(8)
		what = fmt.Sprintf("bit flipped at %d of %d", at, len(b))
	}
	changed, err := files.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	_, err = changed.Write(b)
	if err := errors.Join(err, changed.Close()); err != nil {
		t.Fatal(err)
	}
	return name + " " + what
}

// openedOn opens a store in files.
func openedOn(t *testing.T, o Options, files vfs.FS) *Engine {
	t.Helper()
	e, err := open(o, files, wallClock)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func valuesOf(t *testing.T, e *Engine) map[string]string {
	t.Helper()
	values := map[string]string{}
	for row, err := range e.Scan(t.Context(), kv.Scan{Table: "t", Family: "f"}) {
		if err != nil {
			t.Fatal(err)
		}
		values[string(row.Key)] = string(row.Cells[0].Value)
	}
	return values
}

func checkRepaired(t *testing.T, what string, o Options, files vfs.FS, want map[string]string, lost []Lost) {
	t.Helper()
	e := openedOn(t, o, files)
	got := valuesOf(t, e)
	inLost := func(key string) bool {
		for _, l := range lost {
			if l.Table == "t" && bytes.Compare([]byte(key), l.From) >= 0 && (l.To == nil || bytes.Compare([]byte(key), l.To) < 0) {
				return true
			}
		}
		return false
	}
	gone := 0
	for key, value := range want {
		switch found, ok := got[key], inLost(key); {
		case ok && found != "":
			t.Errorf("%s: %s is told to be lost and is %.12q", what, key, found)
		case ok:
			gone++
		case found != value:
			t.Errorf("%s: %s is %.12q, want %.12q", what, key, found, value)
		}
	}
	t.Logf("%s: %d ranges, %d rows lost", what, len(lost), gone)
	if gone > len(want)/2 && len(lost) > 0 && len(lost[0].Files) == 0 {
		t.Errorf("%s: lost without the name of a file", what)
	}
	apply(t, e, "f", []kv.Mutation{{Key: []byte("row 00500"), Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte("new")}}}})
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	if left, err := check(t.Context(), o, files); err != nil || len(left) > 0 {
		t.Errorf("%s: Check after Repair: %v, %v", what, left, err)
	}
	e = openedOn(t, o, files)
	if err := errors.Join(e.Checkpoint(t.Context(), "backup"), e.Close(), verify(t.Context(), files, "backup")); err != nil {
		t.Errorf("%s: backup after Repair: %v", what, err)
	}
}
