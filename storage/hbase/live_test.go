package hbase_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/e2e/cluster"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

// TestLive holds the engine to a real HBase. Its parts share one server, since starting it takes ten seconds.
func TestLive(t *testing.T) {
	c := cluster.HBase(t, cluster.Options{})
	t.Run("conformance", func(t *testing.T) {
		kvtest.Run(t, func(t *testing.T) kv.KV {
			e := open(t, c)
			names := hbase.TableNames{Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Tree: "tsdb-tree"}
			specs := hbase.OpenTSDBTables(names, hbase.TableOptions{MetricWidth: 3, SaltWidth: 1, SaltBuckets: 4})
			if err := e.CreateTables(t.Context(), specs); err != nil {
				t.Fatal(err)
			}
			return e
		})
	})
}

func open(t *testing.T, c *cluster.Cluster) *hbase.Engine {
	t.Helper()
	e, err := hbase.New(hbase.Options{ZooKeeper: c.ZooKeeper()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}
