package store_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// Rows that were put through without being read are settled when a process ends in order: no
// process would do it afterwards, and a TSD would answer queries for them with an error.
func TestOrderlyEndReconcilesUnreadRows(t *testing.T) {
	w := newWorld(t, 1, 0)
	one, two := w.adapters[2], w.adapters[3]
	for i, a := range []*adapter{one, two} {
		w.acknowledge(a, int64(i), 1) // reads the row
	}
	for offset := range int64(20) {
		w.acknowledge(one, 1000+offset*1000, 1.5) // 4 bytes
		w.acknowledge(two, 1000+offset*1000, 0.1) // 8 bytes
	}
	one.End()
	two.End()
	reader := w.adapters[0]
	w.model.Check(t, reader.Store, reader.refs, 0, storage.MaxTime)
	storetest.CheckRows(t, w.db, "tsdb", false)
}

// gets counts the rows that are read as they are, not with their history.
type gets struct {
	*kv.Shared
	rows atomic.Int64
}

func (g *gets) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	if table == "tsdb" {
		g.rows.Add(int64(len(keys)))
	}
	return g.Shared.Get(ctx, table, family, keys)
}

// A row that is written through is checked after minutes, and again after its hour, as long as no
// other process writes to it. Once another process does, it is checked every few minutes.
func TestWrittenRowsAreChecked(t *testing.T) {
	const start = 1356998400
	var clock atomic.Int64
	clock.Store(start)
	db := &gets{Shared: kv.NewShared(storetest.Tables()...)}
	db.SetClock(func() int64 { return clock.Load() * 1000 })
	begin := func() (*storetest.Process, []storage.Ref) {
		p := storetest.Start(t, db, func(o *store.Options) {
			o.Exclusive, o.Now = false, func() time.Time { return time.Unix(clock.Load(), 0) }
		})
		return p, p.Resolve([]storage.Series{storetest.Series("m", "host", "a")})
	}
	put := func(p *storetest.Process, refs []storage.Ref, value float64) {
		var b storage.Batch
		b.Add(refs[0], clock.Load()*1000, value)
		if err := p.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	p, refs := begin()
	other, others := begin()
	looks := func(minutes int, each func()) (n int64) {
		before := db.rows.Load()
		for range minutes {
			put(p, refs, 1.5)
			each()
			clock.Add(60)
			if err := p.VerifyDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		return db.rows.Load() - before
	}
	if n := looks(70, func() {}); n != 2 {
		t.Errorf("alone, the row was looked at %d times in its hour and after it, want 2", n)
	}
	if n := looks(61, func() { put(other, others, 0.1) }); n < 1 {
		t.Errorf("with another writer, the row was looked at %d times before its hour was over", n)
	}
	if n := looks(40, func() { put(other, others, 0.1) }); n < 5 {
		t.Errorf("with another writer, the row was looked at %d times in 40 minutes", n)
	}
	if err := errors.Join(p.VerifyAll(t.Context()), other.VerifyAll(t.Context())); err != nil {
		t.Fatal(err)
	}
	storetest.CheckRows(t, db, "tsdb", false)
}
