package write_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestAppendRepeats: an append that fails may be half done; repeated, it leaves each point once.
func TestAppendRepeats(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, db)
	refs := storetest.Resolve(t, s, storetest.Series("m", "host", "a"))
	m := storetest.NewModel(1)
	var b storage.Batch
	for i := range int64(100) {
		b.Add(refs[0], 1356998400000+i*1000, float64(i)+0.1)
		m.Put(0, 1356998400000+i*1000, storetest.Sample{Bits: math.Float64bits(float64(i) + 0.1)})
	}
	for range 3 {
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	m.Check(t, s, refs, 0, storage.MaxTime)
	storetest.CheckRows(t, db, "tsdb", true)
	rows := 0
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		rows++
		if len(row.Cells) != 1 {
			t.Errorf("row has %d cells, want the one of the first append", len(row.Cells))
		}
	}
	if rows != 1 {
		t.Errorf("%d rows, want 1", rows)
	}
}

// In rows written by a TSD, its cells stay, and its integers stay integers when a point next to
// them changes.
func TestAppendToForeignRow(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, db, func(o *store.Options) { o.Exclusive = false })
	refs := storetest.Resolve(t, s, storetest.Series("m", "host", "a"))
	key := schema.DefaultLayout().AppendRowKey(nil, []byte("\x00\x00\x01\x00\x00\x01\x00\x00\x01"), 1356998400)
	put := func(q, v string) kv.Put { return kv.Put{Qualifier: []byte(q), Value: []byte(v)} }
	foreign := kv.Mutation{Key: key, Puts: []kv.Put{
		put("\x00\x00", "\x2a"),                         // 42 at +0
		put("\x05\x00\x00", "\x00\x10\x2b\x00\x20\x2c"), // append cell: 43 at +1, 44 at +2
		put("\x01\x00\x3c", `{"tsuid":"000001000001000001","startTime":1356998460,"endTime":0,"description":"","notes":"","custom":null}`),
	}}
	if err := db.Apply(t.Context(), "tsdb", "t", []kv.Mutation{foreign}); err != nil {
		t.Fatal(err)
	}
	var b storage.Batch
	b.Add(refs[0], 1356998400000, 42) // another type at the same instant: must replace
	b.Add(refs[0], 1356998403000, 45)
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	m := storetest.NewModel(1)
	for i, v := range []float64{42, 43, 44, 45} {
		m.Put(0, 1356998400000+int64(i)*1000, storetest.Sample{Bits: math.Float64bits(v)})
	}
	m.Check(t, s, refs, 0, storage.MaxTime)
	rows, err := db.Get(t.Context(), "tsdb", "t", [][]byte{key})
	if err != nil {
		t.Fatal(err)
	}
	// One merged cell (float 42, integers 43 and 44, float 45) and the annotation.
	if len(rows[0].Cells) != 2 || !bytes.Equal(rows[0].Cells[0].Qualifier, []byte("\x00\x0b\x00\x10\x00\x20\x00\x3b")) {
		t.Errorf("cells = %x", rows[0].Cells)
	}
}

// On a local engine a row of many single cells is merged when a late point causes it to be read;
// nothing changes for readers.
func TestAppendGathersCells(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		db := kv.NewMem(storetest.Tables()...)
		s := storetest.Open(t, db, func(o *store.Options) { o.Exclusive = exclusive })
		refs := storetest.Resolve(t, s, storetest.Series("m", "host", "a"))
		m := storetest.NewModel(1)
		write := func(time int64, v float64) {
			t.Helper()
			var b storage.Batch
			b.Add(refs[0], time, v)
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			m.Put(0, time, storetest.Sample{Bits: math.Float64bits(v)})
		}
		for i := range int64(100) {
			write(1356998400000+i*2000, storetest.Values[i%int64(len(storetest.Values))])
		}
		write(1356998400000+3000, 7) // late
		write(1356998400000, 8)      // corrected
		m.Check(t, s, refs, 0, storage.MaxTime)
		storetest.CheckRows(t, db, "tsdb", true)
		for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
			if err != nil {
				t.Fatal(err)
			}
			// One data cell and one object cell; on a cluster the 36 object cells stay single, and
			// the correction made one data cell.
			if want := map[bool]int{true: 2, false: 37}[exclusive]; len(row.Cells) != want {
				t.Errorf("exclusive %v: %d cells, want %d", exclusive, len(row.Cells), want)
			}
		}
	}
}
