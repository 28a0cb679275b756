package hbase_test

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestSweepFaults reads all and some series of a store from regions that were split in the middle,
// while regions move, split again and lose scanners and answers in the middle of the reading. Every
// answer is that of a plain list.
func TestSweepFaults(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random faults under wide reads", 4, 6, 60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 5))
			families := map[string][]string{}
			for _, table := range storetest.Tables() {
				families[table.Name] = table.Families
			}
			c := hbasetest.Start(t, families)
			c.PageRows, c.PageCells = 1+r.IntN(40), 1+r.IntN(60)
			s := storetest.Open(t, newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()}), func(o *store.Options) {
				o.Exclusive = false
				o.Layout.SaltWidth, o.Layout.SaltBuckets = int(seed%2), 3
			})
			var list []storage.Series
			for i := range 120 {
				list = append(list, storetest.Series("m", "grp", fmt.Sprint(i%5), "host", fmt.Sprint("h", i)))
			}
			refs := storetest.Resolve(t, s, list...)
			m := storetest.NewModel(len(refs))
			var b storage.Batch
			for range 1500 {
				m.AddRandom(r, &b, refs, 3*7200)
			}
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			keys := dataKeys(t, c)
			for range 3 {
				c.Split("tsdb", keys[r.IntN(len(keys))])
			}
			for range 6 {
				some := r.Perm(len(refs))[:1+r.IntN(len(refs))]
				of := make([]storage.Ref, len(some))
				for i, at := range some {
					of[i] = refs[at]
				}
				faults := disturb(c, r.Uint64(), keys)
				m.Of(some).Check(t, s, of, 1356998400000, 1356998400000+3*3600_000)
				c.OnRequest(nil)
				t.Logf("%d series, %d faults", len(some), faults.Load())
			}
		})
	}
}

// dataKeys are row keys of the data table.
func dataKeys(t *testing.T, c *hbasetest.Cluster) []string {
	t.Helper()
	e := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()})
	var keys []string
	for row, err := range e.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, string(row.Key))
	}
	return keys
}

// disturb makes every tenth request or so to the data table fail in some way.
func disturb(c *hbasetest.Cluster, seed uint64, keys []string) *atomic.Int64 {
	var seen atomic.Uint64
	faults := new(atomic.Int64)
	c.OnRequest(func(q hbasetest.Request) hbasetest.Fault {
		r := rand.New(rand.NewPCG(seed, seen.Add(1)))
		if q.Method != "Scan" && q.Method != "Multi" || q.Close || r.IntN(10) > 0 || faults.Load() > 12 {
			return hbasetest.Fault{}
		}
		faults.Add(1)
		key := keys[r.IntN(len(keys))]
		switch r.IntN(5) {
		case 0:
			return hbasetest.Fault{Do: func() { c.Move("tsdb", key) }}
		case 1:
			return hbasetest.Fault{Do: func() { c.Split("tsdb", key) }}
		case 2:
			return hbasetest.Fault{Lose: true}
		case 3:
			return hbasetest.Fault{Exception: javaPackage + "CallQueueTooBigException"}
		default:
			if q.Next {
				return hbasetest.Fault{Exception: javaPackage + "regionserver.LeaseException"}
			}
			return hbasetest.Fault{Exception: javaPackage + "CallDroppedException"}
		}
	})
	return faults
}
