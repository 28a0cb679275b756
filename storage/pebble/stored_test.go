package pebble

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/columns"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// cellsOf makes cells of stored ones.
func cellsOf(t *testing.T, stored []kv.StoredCell) (cells []kv.Cell) {
	t.Helper()
	var d columns.Decoder
	for _, c := range stored {
		q, v := bytes.Clone(c.Qualifier), bytes.Clone(c.Value)
		if c.Coded != nil {
			var err error
			if q, v, err = d.AppendCell(nil, nil, c.Coded); err != nil {
				t.Fatal(err)
			}
		}
		cells = append(cells, kv.Cell{Qualifier: q, Value: v, Time: c.Time})
	}
	return cells
}

func sameCells(a, b []kv.Cell) bool {
	return slices.EqualFunc(a, b, func(a, b kv.Cell) bool {
		return bytes.Equal(a.Qualifier, b.Qualifier) && bytes.Equal(a.Value, b.Value) && a.Time == b.Time
	})
}

// TestStored compares stored rows with the same rows as cells: any of them, by seeks, near to each
// other and by a scan, including deleted rows and rows that never existed, in memory and in files.
func TestStored(t *testing.T) {
	points := pointRows(1)[:300]
	for seed := range scale.Of[uint64](t, "random tables", 4, 4, 60) {
		r := rand.New(rand.NewPCG(seed, 5))
		e := opened(t, Options{InMemory: true, Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}})
		all := slices.Clone(points)
		for i := range all {
			all[i].Puts = slices.Clone(all[i].Puts)
			if r.IntN(3) == 0 {
				all[i].Puts = append(all[i].Puts, kv.Put{Qualifier: []byte{0, byte(r.IntN(8)) << 4}, Value: []byte{1}})
			}
		}
		for part := range slices.Chunk(all, 80) {
			apply(t, e, "f", part)
			if r.IntN(2) == 0 {
				if err := e.db().Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := 0; i < len(all); i += 7 {
			apply(t, e, "f", []kv.Mutation{{Key: all[i].Key, DeleteRow: true}})
		}
		if seed%2 == 0 {
			if err := e.Compact(t.Context(), "t"); err != nil {
				t.Fatal(err)
			}
		}
		for _, every := range []int{1, 3, 40} {
			var keys [][]byte
			for i := r.IntN(every); i < len(all); i += 1 + r.IntN(every) {
				keys = append(keys, all[i].Key)
				if r.IntN(5) == 0 {
					keys = append(keys, append(bytes.Clone(all[i].Key), 0))
				}
			}
			keys = append(keys, []byte{0xff})
			slices.SortFunc(keys, bytes.Compare)
			checkStored(t, e, keys)
		}
	}
}

func checkStored(t *testing.T, e *Engine, keys [][]byte) {
	t.Helper()
	want, err := e.Get(t.Context(), "t", "f", keys)
	if err != nil {
		t.Fatal(err)
	}
	for _, near := range []bool{false, true} {
		got := make([]kv.Row, len(keys))
		for i, key := range keys {
			got[i].Key = key
		}
		err := e.GetStored(t.Context(), "t", "f", keys, near, func(i int, cells []kv.StoredCell) error {
			got[i].Cells = cellsOf(t, cells)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if !sameCells(want[i].Cells, got[i].Cells) {
				t.Fatalf("near %v: row %x is %x, want %x", near, keys[i], got[i].Cells, want[i].Cells)
			}
		}
	}
	var scanned []kv.Row
	scan := kv.Scan{Table: "t", Family: "f", Start: keys[0], Stop: keys[len(keys)-1]}
	for row, err := range e.Scan(t.Context(), scan) {
		if err != nil {
			t.Fatal(err)
		}
		scanned = append(scanned, row)
	}
	err = e.ScanStored(t.Context(), scan, func(key []byte, cells []kv.StoredCell) error {
		if len(scanned) == 0 || !bytes.Equal(scanned[0].Key, key) {
			t.Fatalf("row %x comes unasked", key)
		}
		if got := cellsOf(t, cells); !sameCells(scanned[0].Cells, got) {
			t.Fatalf("row %x is %x, want %x", key, got, scanned[0].Cells)
		}
		scanned = scanned[1:]
		return nil
	})
	if err != nil || len(scanned) > 0 {
		t.Fatalf("%d rows are missing, error %v", len(scanned), err)
	}
}

// An error of the visitor ends the reading, and so does the context.
func TestStoredEnds(t *testing.T) {
	e := opened(t, Options{InMemory: true, Tables: []kv.Table{{Name: "t", Families: []string{"f"}}}})
	apply(t, e, "f", rows("a", "b"))
	enough := errors.New("enough")
	calls := 0
	stop := func() error { calls++; return enough }
	keys := [][]byte{[]byte("a"), []byte("b")}
	if err := e.GetStored(t.Context(), "t", "f", keys, false, func(int, []kv.StoredCell) error { return stop() }); !errors.Is(err, enough) || calls != 1 {
		t.Errorf("GetStored = %v after %d rows", err, calls)
	}
	if err := e.ScanStored(t.Context(), kv.Scan{Table: "t", Family: "f"}, func([]byte, []kv.StoredCell) error { return stop() }); !errors.Is(err, enough) || calls != 2 {
		t.Errorf("ScanStored = %v after %d rows", err, calls)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.GetStored(ctx, "t", "f", keys, true, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("GetStored of a cancelled context = %v", err)
	}
	if err := e.GetStored(t.Context(), "t", "nothing", keys, true, nil); !errors.Is(err, kv.ErrNoTable) {
		t.Errorf("GetStored of no table = %v", err)
	}
}
