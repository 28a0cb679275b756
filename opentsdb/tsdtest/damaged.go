package tsdtest

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// DamagedStore returns the tables of a store with a point of m{host=a}, and a row that is changed.
func DamagedStore(t *testing.T, table, family string, bad kv.Mutation) *kv.Mem {
	t.Helper()
	db := kv.NewMem(storetest.Tables()...)
	p := storetest.Start(t, db)
	var b storage.Batch
	b.Add(p.Resolve([]storage.Series{storetest.Series("m", "host", "a")})[0], 1356998400_000, 1)
	if err := p.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	p.End()
	if err := db.Apply(t.Context(), table, family, []kv.Mutation{bad}); err != nil {
		t.Fatal(err)
	}
	return db
}
