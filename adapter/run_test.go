package adapter

import (
	"path/filepath"
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/internal/testkit/servertest"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// runAdapter runs an adapter until stop is called or the test ends, and waits until it is ready.
func runAdapter(t *testing.T, o Options) (a *Adapter, stop func()) {
	t.Helper()
	o.ListenAddress = "127.0.0.1:0"
	a, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return a, servertest.Serve(t, a)
}

// startHBase starts a cluster with the tables of the options.
func startHBase(t *testing.T, o Options) *hbasetest.Cluster {
	t.Helper()
	families := map[string][]string{}
	for _, table := range o.Tables() {
		families[table.Name] = table.Families
	}
	return hbasetest.Start(t, families)
}

// storeTestOptions returns a store of its own that is written through a log.
func storeTestOptions(t *testing.T, mode write.Mode) Options {
	t.Helper()
	o := DefaultOptions()
	o.Path, o.WriteMode, o.AdminAPI = filepath.Join(t.TempDir(), "store"), string(mode), true
	return o
}

// compactStore compacts a store that no process has open.
func compactStore(t *testing.T, o Options) {
	t.Helper()
	if _, err := tables.Compact(t.Context(), o.Options); err != nil {
		t.Fatal(err)
	}
}
