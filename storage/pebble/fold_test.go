package pebble

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
)

// folded folds operands, the oldest first, as Pebble calls fold's Merge functions.
func folded(t testing.TB, operands [][]byte, newestFirst, base bool) []byte {
	t.Helper()
	merge := newMerger().Merge
	if newestFirst {
		operands = slices.Clone(operands)
		slices.Reverse(operands)
	}
	f, err := merge(nil, operands[0])
	for _, o := range operands[1:] {
		if newestFirst {
			err = errors.Join(err, f.MergeOlder(o))
		} else {
			err = errors.Join(err, f.MergeNewer(o))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	row, closer, err := f.Finish(base)
	if err != nil {
		t.Fatal(err)
	}
	row = bytes.Clone(row)
	if err := closer.Close(); err != nil {
		t.Fatal(err)
	}
	return row
}

// randomChange returns a change of a few of ten qualifiers, at a time.
func randomChange(rng *rand.Rand, time int64) (records []record) {
	for q := range 10 {
		if rng.IntN(4) > 0 {
			continue
		}
		r := record{qualifier: []byte(fmt.Sprint("q", q)), deleted: true}
		if rng.IntN(3) > 0 {
			r = record{qualifier: r.qualifier, value: []byte(fmt.Sprint("v", rng.IntN(1000))), time: time}
		}
		records = append(records, r)
	}
	return records
}

// TestFold compares folds in random groups with a map that is changed step by step.
func TestFold(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var operands [][]byte
		model := map[string]record{}
		var last int64
		for time := range int64(1 + rng.IntN(8)) {
			change := randomChange(rng, time)
			operands, last = append(operands, appendRow(nil, change, time)), time
			for _, r := range change {
				if model[string(r.qualifier)] = r; r.deleted {
					delete(model, string(r.qualifier))
				}
			}
		}
		// Fold neighbours without the base until one is left, as compactions do, then all of it
		// with the base.
		groups := slices.Clone(operands)
		for len(groups) > 1 {
			from := rng.IntN(len(groups) - 1)
			to := from + 2 + rng.IntN(len(groups)-from-1)
			one := folded(t, groups[from:to], rng.IntN(2) == 0, false)
			groups = slices.Replace(groups, from, to, one)
		}
		for _, whole := range [][]byte{
			folded(t, operands, false, true), folded(t, operands, true, true), folded(t, groups, true, true),
			folded(t, [][]byte{folded(t, operands[:1], true, true), folded(t, operands, true, false)}, true, true),
		} {
			wantModel(t, whole, model, last)
		}
		if all := folded(t, operands, true, false); !bytes.Equal(groups[0], all) {
			t.Fatalf("folded in groups %x, at once %x", groups[0], all)
		}
	}
}

func wantModel(t *testing.T, row []byte, model map[string]record, last int64) {
	t.Helper()
	records, at := readRow(t, row)
	if row[0] != kindCells || at != last || len(records) != len(model) {
		t.Fatalf("row %x of kind %d at %d, want %d cells at %d", row, row[0], at, len(model), last)
	}
	for _, r := range records {
		want := model[string(r.qualifier)]
		if r.deleted || !bytes.Equal(r.value, want.value) || r.time != want.time {
			t.Fatalf("cell %q = %q at %d, want %q at %d", r.qualifier, r.value, r.time, want.value, want.time)
		}
	}
}

func readRow(t testing.TB, row []byte) (records []record, last int64) {
	t.Helper()
	r, err := parseRow(row)
	if err != nil {
		t.Fatal(err)
	}
	for {
		var rec record
		more, err := r.next(&rec)
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return records, r.last
		}
		if err := new(decoder).open(&rec); err != nil {
			t.Fatal(err)
		}
		records = append(records, rec)
	}
}

// FuzzRow: a row that parses is the same after it is written, and after it is folded with an empty
// change.
func FuzzRow(f *testing.F) {
	f.Add(appendRow(nil, nil, 0))
	f.Add(appendRow(nil, []record{{qualifier: []byte("q"), value: []byte("v"), time: 1}}, 1_700_000_000_000))
	f.Add(appendRow(nil, []record{{qualifier: []byte("a"), deleted: true}, {qualifier: []byte("b"), time: 7}}, 9))
	coded := codedRecord(f, 1)
	f.Add(appendRow(nil, []record{coded, {qualifier: []byte("q"), value: []byte("v"), time: 1}}, 1_700_000_000_000))
	f.Add([]byte{kindOldCells, 1, 5, 2, 'q', 1, 1, 'v'})
	f.Add([]byte{kindOldChanges, 1, 5, 3, 'q'})
	f.Add([]byte{kindCells, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 0})
	f.Fuzz(func(t *testing.T, row []byte) {
		r, err := parseRow(row)
		if err != nil {
			return
		}
		var records []record
		for {
			var rec record
			more, err := r.next(&rec)
			if err != nil {
				if !errors.Is(err, errCorrupt) {
					t.Fatal(err)
				}
				return
			}
			if !more {
				break
			}
			if err := new(decoder).open(&rec); err != nil {
				return
			}
			records = append(records, rec)
		}
		again, last := readRow(t, appendRow(nil, records, r.last))
		if last != r.last || fmt.Sprint(again) != fmt.Sprint(records) {
			t.Fatalf("%x reads as %v at %d, and again as %v at %d", row, records, r.last, again, last)
		}
		once := folded(t, [][]byte{row, appendRow(nil, nil, 0)}, true, false)
		if twice := folded(t, [][]byte{once, once}, false, false); !bytes.Equal(once, twice) {
			t.Fatalf("%x folds to %x and that to %x", row, once, twice)
		}
	})
}

// A corrupt operand must stop the fold with an error, not disappear.
func TestFoldCorrupt(t *testing.T) {
	good := appendRow(nil, []record{{qualifier: []byte("q"), value: []byte("v"), time: 1}}, 1)
	for name, bad := range map[string][]byte{
		"empty":          {},
		"unknown kind":   {9, 0, 0},
		"cut":            good[:len(good)-1],
		"longer":         append(bytes.Clone(good), 0),
		"delete at rest": {kindCells, 1, 0, 1},
		"coded delete":   {kindChanges, 1, 0, 3},
		"coded cell cut": {kindCells, 1, 1, 2<<2 | 2, 1, 2, 0},
		"old and cut":    {kindOldCells, 1, 1, 2, 'q', 0, 3, 'v'},
		"time too early": {kindCells, 1, 5, 4, 'q', 6, 0},
	} {
		f, err := newMerger().Merge(nil, good)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.MergeOlder(bad); err != nil {
			t.Fatal(err)
		}
		var closer io.Closer
		if _, closer, err = f.Finish(true); !errors.Is(err, errCorrupt) {
			t.Errorf("%s: folded with %v, %v; want %v", name, closer, err, errCorrupt)
		}
		if f, err = newMerger().Merge(nil, bad); err != nil {
			t.Fatal(err)
		}
		if name == "empty" { // the only one that must not reach the shortcut for one operand
			if _, _, err = f.Finish(true); !errors.Is(err, errCorrupt) {
				t.Errorf("%s alone: folded with %v, want %v", name, err, errCorrupt)
			}
		}
		if _, err := everything.cells(bad, new(decoder)); !errors.Is(err, errCorrupt) {
			t.Errorf("%s: read with %v, want %v", name, err, errCorrupt)
		}
	}
}
