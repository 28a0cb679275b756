package kv_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

// TestNewEngine: engines get the contract that fits the writers of their tables.
func TestNewEngine(t *testing.T) {
	mem, shared := kv.NewMem(kvtest.Tables()...), kv.NewShared(kvtest.Tables()...)
	for _, c := range []struct {
		name             string
		db               kv.KV
		exclusive        bool
		local, versioned bool
	}{
		{"mem", mem, true, true, false},
		{"mem, shared by tests", mem, false, false, false},
		{"shared", shared, false, false, true},
		{"shared, alone", shared, true, false, false},
		{"faulty", kvtest.New(mem), true, false, false},
		{"faulty and versioned", kvtest.NewVersioned(shared), false, false, true},
	} {
		e := kv.NewEngine(c.db, c.exclusive)
		if e.Exclusive != c.exclusive || (e.Local != nil) != c.local || (e.Versioned != nil) != c.versioned || (e.LogKeeper() != nil) != c.local {
			t.Errorf("%s: %+v", c.name, e)
		}
		if e.Costs.Get == 0 {
			t.Errorf("%s: no costs", c.name)
		}
		key := []byte("k")
		put := []kv.Mutation{{Key: key, Puts: []kv.Put{{Qualifier: []byte("q"), Value: []byte(c.name)}}}}
		if err := e.Put(t.Context(), "tsdb", "t", put); err != nil {
			t.Fatal(err)
		}
		if err := e.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := ""
		err := e.Rows.GetStored(t.Context(), "tsdb", "t", [][]byte{key}, false, func(_ int, cells []kv.StoredCell) error {
			got = string(cells[0].Value)
			return nil
		})
		if err != nil || got != c.name {
			t.Errorf("%s: %q is read, %v", c.name, got, err)
		}
	}
}
