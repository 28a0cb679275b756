package opentsdb

import (
	"context"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestRecorded replays what was recorded, in its order. testdata/differences lists the requests that
// are answered otherwise, each with its reason; one that is answered as by a TSD must leave the list.
func TestRecorded(t *testing.T) {
	opentsdbtest.Replay(t, startRecorded(t), "testdata", "tsd", "differences")
}

// startRecorded starts a server over an empty store and returns its address.
func startRecorded(t *testing.T) string { return startOver(t, kv.NewMem(storetest.Tables()...)) }

// startOver starts a server over a store of some tables.
func startOver(t *testing.T, db kv.KV, change ...func(*Options)) string {
	store, trees := openTrees(t, db)
	o := serverOptions("127.0.0.1:0")
	o.Trees, o.Documents = trees, store.Documents()
	o.Points, o.Store, o.Catalog, o.Names, o.Layout = store, store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.AllowEdits, o.AllowDelete, o.Deleter = true, true, store // as the TSD
	o.Annotations, o.Metadata, o.Histograms = store.Annotations(), store.Documents(), store
	o.Budget, o.Running, o.Concurrency, o.Timeout = query.NewBudget(1<<30), query.NewRegistry(), 4, time.Minute
	for _, c := range change {
		c(&o)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	t.Cleanup(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s.Addr()
}
