// Package promtest holds what the tests of Prometheus' protocols share: stores, writers, and
// requests as text. No shipped binary contains it.
package promtest

import (
	"errors"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/pebble"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

var ErrEngine = errors.New("region server is gone")

// OpenStore opens a store over an engine and waits for its index. It ends with the test.
func OpenStore(t testing.TB, db kv.KV, change ...func(*store.Options)) *store.Store {
	t.Helper()
	return storetest.Start(t, db, change...).Store
}

// Tables returns the tables of a store with default names.
func Tables() []kv.Table { return storetest.Tables() }

// Engines returns the engines that need nothing but this process.
func Engines() map[string]func(testing.TB) kv.KV {
	return map[string]func(testing.TB) kv.KV{
		"memory": func(testing.TB) kv.KV { return kv.NewMem(Tables()...) },
		"embedded": func(t testing.TB) kv.KV {
			e, err := pebble.Open(pebble.Options{InMemory: true, CacheBytes: 1 << 20, Tables: Tables()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := e.Close(); err != nil {
					t.Error(err)
				}
			})
			return e
		},
	}
}
