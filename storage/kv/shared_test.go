package kv_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

func TestShared(t *testing.T) {
	kvtest.Run(t, func(*testing.T) kv.KV { return kv.NewShared(kvtest.Tables()...) })
}

func TestSharedVersions(t *testing.T) {
	kvtest.RunVersioned(t, func(*testing.T) (kv.KV, kvtest.Owner) {
		shared := kv.NewShared(kvtest.Tables()...)
		return shared, kvtest.Owner{
			DeleteExact: func(t *testing.T, key, qualifier []byte, time int64) {
				t.Helper()
				if err := shared.DeleteExact("tsdb", "t", key, qualifier, time); err != nil {
					t.Fatal(err)
				}
			},
			Compact: func(*testing.T) { shared.Compact() },
		}
	})
}
