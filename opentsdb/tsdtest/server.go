// Package tsdtest starts servers of OpenTSDB's protocols over stores in memory, and sends them requests. It is for
// tests.
package tsdtest

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/opentsdb"
	"github.com/tsdbridge/tsdbridge/opentsdb/opentsdbtest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// Options returns options of a server that takes points into memory.
func Options(address string) opentsdb.Options {
	o := opentsdb.DefaultOptions()
	o.ListenAddress, o.Points, o.Version = address, opentsdbtest.NewMemory(), "1.2.3"
	o.Logger, o.Registerer, o.Now = slog.New(slog.DiscardHandler), prometheus.NewRegistry(), time.Now
	return o
}

// Start starts a server over an empty store and returns its address.
func Start(t *testing.T) string { return StartOver(t, kv.NewMem(storetest.Tables()...)) }

// StartOver starts a server over a store of some tables.
func StartOver(t *testing.T, db kv.KV, change ...func(*opentsdb.Options)) string {
	store, trees := OpenTrees(t, db)
	o := Options("127.0.0.1:0")
	o.Trees, o.Documents = trees, store.Documents()
	o.Points, o.Store, o.Catalog, o.Names, o.Layout = store, store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.AllowEdits, o.AllowDelete, o.Deleter = true, true, store // as the TSD
	o.Annotations, o.Metadata, o.Histograms = store.Annotations(), store.Documents(), store
	o.Budget, o.Running, o.Concurrency, o.Timeout = query.NewBudget(1<<30), query.NewRegistry(), 4, time.Minute
	for _, c := range change {
		c(&o)
	}
	return run(t, o)
}

// StartWith starts a server over an empty store.
func StartWith(t *testing.T, change func(*opentsdb.Options)) (address string) {
	store := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	o := Options("127.0.0.1:0")
	o.Points, o.Store, o.Deleter, o.Catalog, o.Names, o.Layout = store, store, store, store.Catalog(), store.Names(), schema.DefaultLayout()
	o.Budget, o.Running, o.Concurrency, o.Timeout = query.NewBudget(1<<30), query.NewRegistry(), 4, time.Minute
	change(&o)
	return run(t, o)
}

// OpenTrees opens a store over tables that no other process has, and runs its trees. They are not looked at again,
// which would fill a tree that was cleared.
func OpenTrees(t *testing.T, db kv.KV, change ...func(*forest.ServiceOptions)) (*store.Store, *forest.Service) {
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

// run runs a server until the test ends, and returns its address.
func run(t *testing.T, o opentsdb.Options) string {
	t.Helper()
	s, err := opentsdb.New(o)
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
