package store_test

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// On shared tables, points that were put leave the log of an adapter within a minute, also when
// nothing more is written. A replay of them days later would bring back what was deleted in
// between, when HBase has forgotten the deletion.
func TestLogOfSharedTablesEmptiesItself(t *testing.T) {
	var clock atomic.Int64
	clock.Store(1_700_000_000_000)
	db, disk := kv.NewShared(storetest.Tables()...), logtest.New(1)
	db.SetClock(clock.Load)
	start := func() *storetest.Process {
		return storetest.Start(t, db, func(o *store.Options) {
			o.Exclusive, o.Mode = false, write.Buffered
			o.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
			o.Buffer.Dir, o.Buffer.FS = "log", disk
			o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
		})
	}
	s := start()
	refs := storetest.Resolve(t, s.Store, storetest.Series("m", "host", "a"))
	flush := func() {
		t.Helper()
		if err := s.FlushAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	model := storetest.NewModel(1)
	for n := range 3 {
		var b storage.Batch
		b.Add(refs[0], 1356998400000+int64(n)*1000, 1)
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		flush()
		clock.Add(10_000)
	}
	clock.Add(60_000)
	flush() // nothing is left to put
	clock.Add(1000)
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Apply(t.Context(), "tsdb", "t", []kv.Mutation{{Key: row.Key, DeleteRow: true}}); err != nil {
			t.Fatal(err)
		}
	}
	db.Compact()
	s.Stop()
	disk = disk.Kill(1)
	clock.Add(1000)
	s = start()
	flush()
	model.Check(t, s.Store, storetest.Resolve(t, s.Store, storetest.Series("m", "host", "a")), 0, storage.MaxTime)
}
