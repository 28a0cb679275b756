package hbase_test

import (
	"testing"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

// testVersioned compares History with what a real HBase does, before and after it flushes and
// compacts the table.
func testVersioned(t *testing.T, c *cluster.Cluster) {
	client := gohbase.NewClient(c.ZooKeeper())
	t.Cleanup(client.Close)
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	kvtest.RunVersioned(t, func(t *testing.T) (kv.KV, kvtest.Owner) {
		e := newEngine(t, hbase.Options{ZooKeeper: c.ZooKeeper()})
		must(t, e.CreateTables(t.Context(), hbase.OpenTSDBTables(opentsdbNames(), hbase.TableOptions{MetricWidth: 3, SaltWidth: 1, SaltBuckets: 4})))
		return e, kvtest.Owner{
			DeleteExact: func(t *testing.T, key, qualifier []byte, time int64) {
				t.Helper()
				cells := map[string]map[string][]byte{"t": nil}
				if qualifier != nil {
					cells["t"] = map[string][]byte{string(qualifier): nil}
				}
				call, err := hrpc.NewDel(t.Context(), []byte("tsdb"), key, cells, hrpc.TimestampUint64(uint64(time)), hrpc.DeleteOneVersion())
				must(t, err)
				_, err = client.Delete(call)
				must(t, err)
			},
			Flush: func(t *testing.T) {
				t.Helper()
				must(t, c.Flush(t.Context(), "tsdb"))
			},
			Compact: func(t *testing.T) {
				t.Helper()
				must(t, c.Compact(t.Context(), "tsdb"))
			},
		}
	})
}

func opentsdbNames() hbase.TableNames {
	return hbase.TableNames{Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Tree: "tsdb-tree"}
}
