package hbase_test

import (
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// testMajorCompact: a real HBase forgets what was deleted, in all regions of the table, and keeps the rest.
func testMajorCompact(t *testing.T, c *cluster.Cluster) {
	const table = "compacted" // the other parts fill and split theirs
	e := newTableOf(t, c, hbase.Options{}, table)
	rows := [][]byte{[]byte(key(1)), []byte(key(4001)), []byte(key(8001))} // one in each region
	var kept, gone []kv.Mutation
	for _, row := range rows {
		kept = append(kept, kv.Mutation{Key: row, Puts: []kv.Put{{Qualifier: []byte("kept"), Value: []byte("1")}, {Qualifier: []byte("gone"), Value: []byte("2")}}})
		gone = append(gone, kv.Mutation{Key: row, Deletes: []kv.Delete{{Qualifier: []byte("gone")}}})
	}
	for _, m := range [][]kv.Mutation{kept, gone} {
		if err := e.Apply(t.Context(), table, family, m); err != nil {
			t.Fatal(err)
		}
	}
	past := func() (cells, deletes int) {
		t.Helper()
		histories, err := e.History(t.Context(), table, family, rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range histories {
			cells, deletes = cells+len(h.Cells), deletes+len(h.Deletes)
		}
		return cells, deletes
	}
	if cells, deletes := past(); cells != 3 || deletes != 3 {
		t.Fatalf("before: %d cells and %d deletions, want 3 of each", cells, deletes)
	}
	if n, err := e.MajorCompact(t.Context(), table); n != 3 || err != nil {
		t.Fatalf("%d regions, %v", n, err)
	}
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		cells, deletes := past()
		if cells == 3 && deletes == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d cells and %d deletions are left, want 3 and none", cells, deletes)
		}
	}
}
