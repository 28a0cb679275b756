package hbase_test

import (
	"fmt"
	"math"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// fillIn writes to hours that were looked at for the last time, and to one long before: the walk of
// the next day compacts these rows, whether adapters or TSDs wrote to them.
func (w *closedTables) fillIn() {
	w.Helper()
	old := w.base - 100*24*schema.RowSeconds
	for minute := range int64(20) {
		var b storage.Batch
		for n := range 2 * closedHosts {
			at, v := (old+minute*60)*1000, float64(minute)+float64(n)/8
			b.Add(w.refs[minute%2][n], at, v)
			w.model.Put(n, at, storetest.Sample{Bits: math.Float64bits(v)})
			w.plain[n][at] = v
		}
		if err := w.adapters[minute%2].Append(w.Context(), &b); err != nil {
			w.Fatal(err)
		}
	}
	w.post([]string{w.point("late", 0, old+30*60, 30.5), w.point("corrected", closedHosts, w.base+59, 59.5)})
	if open := w.open(); len(open) != 2*closedHosts+1 {
		w.Errorf("%d rows have several cells before the walk, want %d: %v", len(open), 2*closedHosts+1, open)
	}
	time.Sleep(closedQuiet + 3*time.Second)
	w.walkAgain()
	if open := w.open(); len(open) > 0 {
		w.Errorf("%d rows have several cells after the walk: %v", len(open), open)
	}
	storetest.CheckRows(w.T, w.e, w.names.Data, false)
	for i, a := range w.adapters {
		w.model.Check(w.T, a.Store, w.refs[i], 0, storage.MaxTime)
	}
	w.checkFsck()
}

// walkAgain has the table compacted as if the last walk were a day ago.
func (w *closedTables) walkAgain() {
	w.Helper()
	rows, err := w.e.Get(w.Context(), w.names.Tree, "t", [][]byte{own.LeaseKey(nil)})
	if err != nil || len(rows[0].Cells) != 1 {
		w.Fatal("no lease: ", rows, err)
	}
	l, err := own.ParseLease(rows[0].Cells[0].Value)
	if err != nil || l.Walked == 0 {
		w.Fatalf("lease %+v, %v", l, err)
	}
	l.Walked -= (24 * time.Hour).Milliseconds()
	m := kv.Mutation{Key: rows[0].Key, Puts: []kv.Put{{Qualifier: []byte(own.LeaseQualifier), Value: l.Record()}}}
	if err := w.e.Apply(w.Context(), w.names.Tree, "t", []kv.Mutation{m}); err != nil {
		w.Fatal(err)
	}
	c := w.compactor()
	for range 3 { // hours that have closed meanwhile come first
		if err := c.Look(w.Context()); err != nil {
			w.Fatal(err)
		}
	}
	w.Logf("the walk compacted %d rows, %d cells", c.Status().Rows, c.Status().Removed)
}

// cells counts the cells of points of each row, by its key.
func (w *closedTables) cells() map[string]int {
	w.Helper()
	rows := map[string]int{}
	for row, err := range w.e.Scan(w.Context(), kv.Scan{Table: w.names.Data, Family: "t"}) {
		if err != nil {
			w.Fatal(err)
		}
		data := 0
		for _, cell := range row.Cells {
			if schema.ClassifyCell(cell.Qualifier) == schema.CellData {
				data++
			}
		}
		rows[fmt.Sprintf("%x", row.Key)] = data
	}
	return rows
}

// open lists the rows of several cells of points.
func (w *closedTables) open() []string {
	w.Helper()
	var open []string
	for key, n := range w.cells() {
		if n > 1 {
			open = append(open, key)
		}
	}
	return open
}
