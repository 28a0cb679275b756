package opentsdb

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// openTrees opens a store over tables that no other process has, and runs its trees. They are not looked at again,
// which would fill a tree that was cleared.
func openTrees(t *testing.T, db kv.KV, change ...func(*forest.ServiceOptions)) (*store.Store, *forest.Service) {
	t.Helper()
	o := forest.ServiceOptions{
		Forest: forest.DefaultOptions(), Refresh: time.Hour, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(), Now: time.Now,
	}
	o.Forest.Exclusive = true
	for _, c := range change {
		c(&o)
	}
	trees := forest.NewService(db, o)
	store := storetest.Open(t, db, func(so *store.Options) { so.Observer = trees })
	trees.Follow(store.Catalog(), store.Series)
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- trees.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	<-trees.Prepared()
	return store, trees
}

// TestRecordedTrees replays requests about trees alone, many of them wrong.
func TestRecordedTrees(t *testing.T) {
	opentsdbtest.Replay(t, startRecorded(t), "testdata", "trees", "tree-differences")
}
