package queryable

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/promql/promqltest"
	promstorage "github.com/prometheus/prometheus/storage"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/internal/testkit/cluster"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/rangeql"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// TestPromQLOnHBase runs the module's suite over a real HBase. Each store has tables of its own for
// series and points; all share one table of UIDs and one of trees. It is a part of "make acceptance"
// alone: a cluster makes five hundred tables for it.
func TestPromQLOnHBase(t *testing.T) {
	if !scale.Full() {
		t.Skipf("makes five hundred tables: set %s=1", scale.Env)
	}
	// Of so many tables the cluster has its hands full: sessions must not expire.
	c := cluster.HBase(t, cluster.Options{HeapMB: 3072, Site: map[string]string{"zookeeper.session.timeout": "300000"}})
	db, err := hbase.New(hbase.Options{ZooKeeper: c.ZooKeeper()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	shared := hbase.TableNames{Data: "unused", UID: "promql-uid", Meta: "unused-meta", Tree: "promql-tree"}
	if err := db.CreateTables(t.Context(), hbase.OpenTSDBTables(shared, hbase.TableOptions{MetricWidth: 3})); err != nil {
		t.Fatal(err)
	}
	sets := makeTables(t, db)
	registry := prometheus.NewRegistry()
	engine := rangeql.New(rangeql.Options{
		Library:      promqltest.NewTestEngine(t, false, 5*time.Minute, promqltest.DefaultMaxSamplesPerQuery),
		DelayedNames: true, StartTimes: true, MaxSamples: promqltest.DefaultMaxSamplesPerQuery, Registerer: registry,
	})
	promqltest.RunBuiltinTestsWithStorage(t, engine, func(t testing.TB) promstorage.Storage {
		set, ok := <-sets
		if !ok {
			t.Fatal("no tables were made")
		}
		return newPromStorage(promtest.OpenStore(t, db, func(o *store.Options) {
			o.Exclusive = false
			o.Tables = store.Tables{Data: set.data, UID: shared.UID, Meta: set.meta, Tree: shared.Tree}
		}))
	})
	queries := queriesBy(t, registry, "columns") + queriesBy(t, registry, "engine")
	t.Logf("%s %v queries of Prometheus' suite on HBase, %d evaluations", scale.Marker, queries, builtinEvals)
	if queries < builtinEvals {
		t.Errorf("%v queries were answered, want %d or more", queries, builtinEvals)
	}
}

// seriesTables are the tables of one store.
type seriesTables struct{ data, meta string }

// makeTables makes tables ahead, some at once, until the test ends.
func makeTables(t *testing.T, db *hbase.Engine) <-chan seriesTables {
	const atOnce = 3
	ctx, stop := context.WithCancel(t.Context())
	sets := make(chan seriesTables, 2*atOnce)
	var group errgroup.Group
	for worker := range atOnce {
		group.Go(func() error {
			for n := worker; ; n += atOnce {
				set := seriesTables{data: fmt.Sprint("promql-", n), meta: fmt.Sprint("promql-", n, "-meta")}
				all := hbase.OpenTSDBTables(hbase.TableNames{Data: set.data, Meta: set.meta}, hbase.TableOptions{MetricWidth: 3})
				own := slices.DeleteFunc(all, func(s hbase.TableSpec) bool { return s.Name == "" })
				if err := db.CreateTables(ctx, own); err != nil {
					if ctx.Err() != nil {
						return nil
					}
					return err
				}
				select {
				case sets <- set:
				case <-ctx.Done():
					return nil
				}
			}
		})
	}
	done := make(chan error, 1)
	go func() {
		done <- group.Wait()
		close(sets)
	}()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("make tables: %v", err)
		}
	})
	return sets
}
