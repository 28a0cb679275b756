package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

func TestPinLayout(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	if err := storetest.Open(t, db).PinLayout(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Open(t, db).PinLayout(t.Context()); err != nil {
		t.Errorf("the same layout again: %v", err)
	}
	err := storetest.Open(t, db, salted).PinLayout(t.Context())
	if err == nil || !strings.Contains(err.Error(), "--storage.salt.width=0") || !strings.Contains(err.Error(), "--storage.salt.width=1") {
		t.Errorf("another layout: %v", err)
	}
	if err := storetest.Open(t, db, salted, shared).PinLayout(t.Context()); err != nil {
		t.Errorf("shared tables: %v", err)
	}
}

// TestPinnedByFlagNames opens stores of early versions, which recorded the flags of their time.
func TestPinnedByFlagNames(t *testing.T) {
	const recorded = "--storage.uid-width.metric=3 --storage.uid-width.tagk=3 --storage.uid-width.tagv=3 --storage.salt.width=1 --storage.salt.buckets=20"
	db := kv.NewMem(storetest.Tables()...)
	column := kv.Column{Table: "tsdb-uid", Family: "id", Row: []byte{0}, Qualifier: []byte("tsdbridge.layout")}
	if _, err := db.CheckAndPut(t.Context(), column, nil, []byte(recorded)); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Open(t, db, salted).PinLayout(t.Context()); err != nil {
		t.Errorf("the same layout: %v", err)
	}
	fewer := func(o *store.Options) { salted(o); o.Layout.SaltBuckets = 4 }
	for _, change := range []func(*store.Options){wide, fewer, func(*store.Options) {}} {
		if err := storetest.Open(t, db, change).PinLayout(t.Context()); !errors.Is(err, storage.ErrLayout) {
			t.Errorf("another layout: %v", err)
		}
	}
	rows, err := db.Get(t.Context(), column.Table, column.Family, [][]byte{column.Row})
	if err != nil || string(rows[0].Cells[0].Value) != recorded {
		t.Errorf("the record is %q, %v; it must stay as it was for versions that read no other", rows[0].Cells[0].Value, err)
	}
}

// TestPinUnknown refuses a record that a later version may have written.
func TestPinUnknown(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	column := kv.Column{Table: "tsdb-uid", Family: "id", Row: []byte{0}, Qualifier: []byte("tsdbridge.layout")}
	if _, err := db.CheckAndPut(t.Context(), column, nil, []byte("metric_width=3 colour=red")); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Open(t, db).PinLayout(t.Context()); !errors.Is(err, storage.ErrLayout) || !strings.Contains(err.Error(), "colour=red") {
		t.Errorf("PinLayout = %v", err)
	}
}

// wide and salted are flags that do not fit tables of the default layout.
func wide(o *store.Options)   { o.Layout.MetricWidth, o.Layout.TagkWidth, o.Layout.TagvWidth = 4, 4, 4 }
func salted(o *store.Options) { o.Layout.SaltWidth = 1 }
func shared(o *store.Options) { o.Exclusive, o.IndexRefresh = false, 5*time.Millisecond }

// fillTables writes a point of each of some series, as another process does.
func fillTables(t *testing.T, db kv.KV) {
	t.Helper()
	other := storetest.Start(t, db, shared)
	refs := storetest.Resolve(t, other.Store, storetest.Series("m", "host", "a"), storetest.Series("n", "dc", "c", "host", "b"))
	var b storage.Batch
	for _, ref := range refs {
		b.Add(ref, 1356998400000, 1)
	}
	if err := other.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	other.End()
}

// cellsOf counts the cells of all tables.
func cellsOf(t *testing.T, db kv.KV) map[string]int {
	t.Helper()
	counts := map[string]int{}
	for _, table := range storetest.Tables() {
		for _, family := range table.Families {
			for row, err := range db.Scan(t.Context(), kv.Scan{Table: table.Name, Family: family}) {
				if err != nil {
					t.Fatal(err)
				}
				counts[table.Name+":"+family] += len(row.Cells)
			}
		}
	}
	return counts
}

// TestUnfitTables: a store with flags that do not fit the tables ends before it writes anything,
// including what its log contains.
func TestUnfitTables(t *testing.T) {
	for name, change := range map[string]func(*store.Options){
		"--storage.uid-width.metric=3 fits": wide, "--storage.salt.width=0 fits": salted,
	} {
		db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
		fillTables(t, db)
		buffered := func(o *store.Options) {
			o.Mode, o.Buffer.Dir, o.Buffer.FS, o.Buffer.SegmentBytes = write.Buffered, "log", disk, 16<<10
			neverFlush(o)
		}
		killed := storetest.Start(t, db, shared, buffered)
		refs := storetest.Resolve(t, killed.Store, storetest.Series("m", "host", "a"))
		var b storage.Batch
		b.Add(refs[0], 1356998401000, 2)
		if err := killed.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		killed.Stop()
		disk = disk.Kill(1)
		before := cellsOf(t, db)

		o := store.DefaultOptions()
		shared(&o)
		buffered(&o)
		change(&o)
		s, err := store.New(db, o)
		if err != nil {
			t.Fatal(err)
		}
		if _, errs := s.Resolve(t.Context(), []storage.Series{storetest.Series("new", "host", "a")}); errs == nil || !errors.Is(errs[0], storage.ErrLayout) || storage.IsRefusal(errs[0]) {
			t.Errorf("%s: Resolve = %v", name, errs)
		}
		if err := s.Run(t.Context()); !errors.Is(err, storage.ErrLayout) || !strings.Contains(err.Error(), name) {
			t.Errorf("Run = %v, want %s", err, name)
		}
		if err := s.Ready(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("Ready = %v, want %s", err, name)
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(before, cellsOf(t, db)); diff != "" {
			t.Errorf("%s: the tables are not as they were:\n%s", name, diff)
		}

		again := storetest.Start(t, db, shared, buffered)
		again.End()
		if now := cellsOf(t, db); now["tsdb:t"] != before["tsdb:t"]+1 {
			t.Errorf("with the flags that fit the log gave %d cells, want 1", now["tsdb:t"]-before["tsdb:t"])
		}
	}
}

// TestUnfitLater: another process fills tables that were empty at the start before this one writes.
func TestUnfitLater(t *testing.T) {
	for _, change := range []func(*store.Options){wide, salted} {
		db := kv.NewMem(storetest.Tables()...)
		o := store.DefaultOptions()
		shared(&o)
		change(&o)
		o.IndexRefresh = time.Hour // Resolve must notice it itself
		s, err := store.New(db, o)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		for s.Ready(t.Context()) != nil {
			time.Sleep(time.Millisecond)
		}
		fillTables(t, db)
		before := cellsOf(t, db)
		for _, one := range []storage.Series{storetest.Series("new", "host", "a"), storetest.Series("n", "dc", "c")} {
			if _, errs := s.Resolve(t.Context(), []storage.Series{one}); errs == nil {
				t.Errorf("%v is resolved by a store that does not fit", one)
			}
		}
		if err := s.Ready(t.Context()); !errors.Is(err, storage.ErrLayout) {
			t.Errorf("Ready = %v", err)
		}
		if diff := cmp.Diff(before, cellsOf(t, db)); diff != "" {
			t.Errorf("the tables are not as they were:\n%s", diff)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestUnfitEnds: a store whose tables were empty ends when another process fills them with another
// layout.
func TestUnfitEnds(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	o := store.DefaultOptions()
	shared(&o)
	wide(&o)
	s, err := store.New(db, o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context()) }()
	fillTables(t, db)
	if err := <-ended; !errors.Is(err, storage.ErrLayout) {
		t.Errorf("Run = %v", err)
	}
}

// neverFlush leaves everything in the log and the head.
func neverFlush(o *store.Options) { o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60 }
