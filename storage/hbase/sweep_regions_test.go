package hbase_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestSweepReadsRegionsInParallel reads all series of a metric whose rows are in several regions.
// No region answers before all of them have been asked. The series come in the order of the query,
// which is not that of the rows.
func TestSweepReadsRegionsInParallel(t *testing.T) {
	const (
		regions   = 3
		perRegion = 3000 // rows: no region is worth several scans
		hours     = 2
		n         = regions * perRegion / hours
		begin     = int64(1356998400000)
	)
	families := map[string][]string{}
	for _, table := range storetest.Tables() {
		families[table.Name] = table.Families
	}
	c := hbasetest.Start(t, families)
	open := func() *store.Store {
		return storetest.Open(t, newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()}), func(o *store.Options) {
			o.Exclusive, o.IndexRefresh = false, time.Hour // each refresh scans rows
		})
	}
	s := open()
	var list []storage.Series
	for i := range n {
		list = append(list, storetest.Series("m", "host", fmt.Sprint("h", i)))
	}
	refs := storetest.Resolve(t, s, list...)
	var b storage.Batch
	for i, ref := range refs {
		for hour := range int64(hours) {
			b.Add(ref, begin+hour*3600_000, float64(i))
		}
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	keys := dataKeys(t, c)
	for i := 1; i < regions; i++ {
		c.Split("tsdb", keys[i*perRegion])
	}
	s = open() // whose client knows no regions yet
	refs = storetest.Resolve(t, s, list...)
	order := rand.New(rand.NewPCG(3, 9)).Perm(n)
	q := storage.Query{Start: begin, End: begin + hours*3600_000 - 1, Samples: true}
	for _, at := range order {
		q.Refs = append(q.Refs, refs[at])
	}
	all := make(chan struct{})
	answer := sync.OnceFunc(func() { close(all) })
	var asked atomic.Int64
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if r.Table != "tsdb" || r.Method != "Scan" || r.Next || r.Close {
			return hbasetest.Fault{}
		}
		if asked.Add(1) == regions {
			answer()
		}
		return hbasetest.Fault{Hold: all}
	})
	alone := time.AfterFunc(20*time.Second, func() {
		t.Errorf("%d of %d regions are asked while none answers", asked.Load(), regions)
		answer()
	})
	defer alone.Stop()
	read := 0
	for p, err := range s.Select(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		if want := float64(order[read]); p.Ref != q.Refs[read] || len(p.Values) != hours || p.Values[0] != want || p.Values[1] != want {
			t.Fatalf("series %d is ref %d with %v, want ref %d with %v twice", read, p.Ref, p.Values, q.Refs[read], want)
		}
		read++
	}
	if read != n || asked.Load() != regions {
		t.Errorf("%d series of %d, %d scans of %d regions", read, n, asked.Load(), regions)
	}
}
