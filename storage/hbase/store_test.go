package hbase_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// tableSet is four tables of their own on a cluster, which outlives all processes. Each process has
// connections of its own.
type tableSet struct {
	names   hbase.TableNames
	connect func() *hbase.Engine
	engine  *hbase.Engine
}

// Open implements storetest.Engine.
func (s *tableSet) Open(t *testing.T, _ storetest.End) kv.KV {
	if s.engine != nil {
		if err := s.engine.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s.engine = s.connect()
	return s.engine
}

// testStore runs the suite of stores on a real HBase.
func testStore(t *testing.T, c *cluster.Cluster) {
	e := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()})
	var sets atomic.Int64
	config := storetest.Config{
		Seeds: scale.Of[uint64](t, "random histories on HBase", 3, 3, 20), Batches: 30, Salted: true,
		New: func(t *testing.T) storetest.Engine {
			prefix := fmt.Sprint("store-", sets.Add(1), "-")
			names := hbase.TableNames{Data: prefix + "tsdb", UID: prefix + "tsdb-uid", Meta: prefix + "tsdb-meta", Tree: prefix + "tsdb-tree"}
			if err := e.CreateTables(t.Context(), hbase.OpenTSDBTables(names, hbase.TableOptions{MetricWidth: 3})); err != nil {
				t.Fatal(err)
			}
			return &tableSet{names: names, connect: func() *hbase.Engine { return newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()}) }}
		},
		Names: func(e storetest.Engine) store.Tables {
			n := e.(*tableSet).names
			return store.Tables{Data: n.Data, UID: n.UID, Meta: n.Meta, Tree: n.Tree}
		},
	}
	storetest.Run(t, config)
	storetest.RunMistaken(t, config)
	storetest.RunAnnotations(t, config)
	storetest.RunHistograms(t, config)
}
