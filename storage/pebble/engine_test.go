package pebble

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

func opened(t testing.TB, o Options) *Engine {
	t.Helper()
	e, err := Open(o)
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

func TestContractInMemory(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.KV { return opened(t, Options{InMemory: true, Tables: kvtest.Tables()}) })
}

func TestContractOnDisk(t *testing.T) {
	kvtest.Run(t, func(t *testing.T) kv.KV { return opened(t, Options{Path: t.TempDir(), Tables: kvtest.Tables()}) })
}
