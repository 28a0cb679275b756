package kv_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
)

func TestMem(t *testing.T) {
	kvtest.Run(t, func(*testing.T) kv.KV { return kv.NewMem(kvtest.Tables()...) })
}

func TestMemLocal(t *testing.T) {
	kvtest.RunLocal(t, func(*testing.T) kv.Local { return kv.NewMem(kvtest.Tables()...) })
}

// A clock that is set back must not make a later cell look older.
func TestMemClock(t *testing.T) {
	now := int64(1000)
	m := kv.NewMem(kv.Table{Name: "t", Families: []string{"f"}})
	m.SetClock(func() int64 { return now })
	for i, want := range []int64{1000, 1000, 2000} {
		put := []kv.Put{{Qualifier: []byte{byte(i)}}}
		if err := m.Apply(t.Context(), "t", "f", []kv.Mutation{{Key: []byte("k"), Puts: put}}); err != nil {
			t.Fatal(err)
		}
		rows, err := m.Get(t.Context(), "t", "f", [][]byte{[]byte("k")})
		if err != nil || rows[0].Cells[i].Time != want {
			t.Errorf("write %d: %v, %v, want time %d", i, rows, err, want)
		}
		now = []int64{500, 2000, 0}[i]
	}
}
