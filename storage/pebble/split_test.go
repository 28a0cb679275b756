package pebble

import (
	"fmt"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestSplitParts: no part contains most of a table that has several files. Pebble decides where its
// files end, by when it compacts: once in a hundred times nearly all rows are in one, so one of three
// stores must do.
func TestSplitParts(t *testing.T) {
	most := 0
	for range 3 {
		if most = splitParts(t); most <= splitRows/10*7 {
			return
		}
	}
	t.Errorf("a part has %d rows of %d", most, splitRows)
}

const splitRows = 4000

// splitParts fills a store, splits it, and returns how many rows the largest part has.
func splitParts(t *testing.T) (most int) {
	t.Helper()
	const rows, parts = splitRows, 4
	e := opened(t, Options{InMemory: true, Tables: []kv.Table{{Name: "t", Families: []string{"a", "f", "z"}}}})
	value := make([]byte, 3000)
	for i := range value {
		value[i] = byte(i * i)
	}
	for _, family := range []string{"a", "f", "z"} {
		for i := range rows {
			for j := range value {
				value[j] = value[j]*31 + byte(i+j) // Pebble compresses repetitions
			}
			put := kv.Mutation{Key: fmt.Appendf(nil, "%05d", i), Puts: []kv.Put{{Qualifier: []byte("q"), Value: value}}}
			if err := e.ApplyUnlogged(t.Context(), "t", family, []kv.Mutation{put}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := e.Compact(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
	scans, err := e.Split(t.Context(), kv.Scan{Table: "t", Family: "f", KeysOnly: true}, parts)
	if err != nil || len(scans) < 2 { // there are few files
		t.Fatalf("%d parts, %v, want 2 to %d", len(scans), err, parts)
	}
	all := 0
	for i, scan := range scans {
		n := 0
		for _, err := range e.Scan(t.Context(), scan) {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if n == 0 {
			t.Errorf("part %d has no rows", i)
		}
		all, most = all+n, max(most, n)
	}
	if all != rows {
		t.Errorf("all parts have %d rows, want %d", all, rows)
	}
	return most
}
