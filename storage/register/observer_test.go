package register_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// observed is an observer that counts how often it was shown each series, and fails on demand.
type observed struct {
	db kv.KV

	mu    sync.Mutex // guards all below
	times map[string]int
	err   error
	late  []string // series whose tsdb-meta row was there before
}

func (o *observed) Observe(ctx context.Context, series []storage.NewSeries) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range series {
		o.times[s.String()]++
		rows, err := o.db.Get(ctx, "tsdb-meta", schema.FamilyMeta, [][]byte{s.TSUID})
		if err != nil {
			return err
		}
		if len(rows[0].Cells) > 0 {
			o.late = append(o.late, s.String())
		}
	}
	return o.err
}

func (*observed) Renamed(context.Context, []storage.NewSeries, []storage.NewSeries) error { return nil }

func (*observed) Forgotten(context.Context, []storage.NewSeries) error { return nil }

func (o *observed) Forget(context.Context, []storage.NewSeries) error { return nil }

func (o *observed) take() map[string]int {
	o.mu.Lock()
	defer o.mu.Unlock()
	taken := maps.Clone(o.times)
	clear(o.times)
	return taken
}

func observing(db kv.KV) (*observed, func(*store.Options)) {
	o := &observed{db: db, times: map[string]int{}}
	return o, func(options *store.Options) { options.Observer = o }
}

// metaRows counts the rows of tsdb-meta.
func metaRows(t *testing.T, db kv.KV) int {
	t.Helper()
	n := 0
	for _, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: schema.FamilyMeta}) {
		if err != nil {
			t.Fatal(err)
		}
		n++
	}
	return n
}

// A series is complete when its observer was successful: until then it has no tsdb-meta row, and is
// registered again each time it is resolved.
func TestObserverFails(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	o, use := observing(db)
	s := storetest.Open(t, db, use)
	old, fresh := storetest.Series("m", "h", "old"), storetest.Series("m", "h", "new")
	bad := storage.Series{Metric: "m"}
	storetest.Resolve(t, s, old, old)
	if diff := cmp.Diff(map[string]int{"m{h=old}": 1}, o.take()); diff != "" {
		t.Errorf("when it is registered (-want +got):\n%s", diff)
	}

	o.err = errors.New("no tree today")
	refs, errs := s.Resolve(t.Context(), []storage.Series{fresh, old, bad, fresh})
	if len(errs) != 4 || !errors.Is(errs[0], o.err) || errs[1] != nil || !errors.Is(errs[2], storage.ErrInvalid) || !errors.Is(errs[3], o.err) {
		t.Errorf("Resolve with a failing observer = %v, want an error of it for the first and the last", errs)
	}
	if refs[0] != 0 || refs[1] == 0 || refs[2] != 0 || refs[3] != 0 {
		t.Errorf("refs %v, want only the second", refs)
	}
	if errors.Is(errs[0], storage.ErrInvalid) || errors.Is(errs[0], storage.ErrLimit) {
		t.Errorf("%v is of a class that is never sent again", errs[0])
	}
	if n := metaRows(t, db); n != 1 {
		t.Errorf("%d rows in tsdb-meta, want only that of the first series", n)
	}
	o.err = nil
	storetest.Resolve(t, s, fresh, old)
	storetest.Resolve(t, s, fresh, old)
	if diff := cmp.Diff(map[string]int{"m{h=new}": 2}, o.take()); diff != "" {
		t.Errorf("until it went well (-want +got):\n%s", diff)
	}
	if n := metaRows(t, db); n != 2 || len(o.late) > 0 {
		t.Errorf("%d rows in tsdb-meta, want 2; observed with a row there: %v", n, o.late)
	}
}

// If a process ends between the observer and the tsdb-meta row, the next process observes the
// series again. A series whose row is there is known, even to a process that has not read the
// index.
func TestObserverAfterCrash(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	faulty := kvtest.New(db)
	o, use := observing(db)
	s := storetest.Open(t, faulty, use)
	faulty.Fail(kvtest.Apply, 1, kvtest.Before)
	if _, errs := s.Resolve(t.Context(), []storage.Series{storetest.Series("m", "h", "a")}); errs == nil || !errors.Is(errs[0], kvtest.ErrFault) {
		t.Fatalf("Resolve that cannot write tsdb-meta: %v", errs)
	}
	storetest.Resolve(t, storetest.Open(t, db, use), storetest.Series("m", "h", "a"))
	if diff := cmp.Diff(map[string]int{"m{h=a}": 2}, o.take()); diff != "" {
		t.Errorf("before and after the crash (-want +got):\n%s", diff)
	}
	if len(o.late) > 0 {
		t.Errorf("observed with a row in tsdb-meta: %v", o.late)
	}
	after, use := observing(db)
	options := store.DefaultOptions()
	use(&options)
	unloaded, err := store.New(db, options)
	if err != nil {
		t.Fatal(err)
	}
	after.err = errors.New("no tree today")
	refs, errs := unloaded.Resolve(t.Context(), []storage.Series{storetest.Series("m", "h", "a"), storetest.Series("m", "h", "b")})
	if errs == nil || errs[0] != nil || refs[0] == 0 || !errors.Is(errs[1], after.err) || refs[1] != 0 {
		t.Errorf("a series with its row and one without, with a failing observer: %v, %v", refs, errs)
	}
	after.err = nil
	after.take()
	storetest.Resolve(t, unloaded, storetest.Series("m", "h", "a"), storetest.Series("m", "h", "b"))
	if diff := cmp.Diff(map[string]int{"m{h=b}": 1}, after.take()); diff != "" {
		t.Errorf("a process without an index observes (-want +got):\n%s", diff)
	}
}

// Whichever calls resolve a series at the same time, its row is written after an observation.
func TestObserverConcurrently(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	o, use := observing(db)
	var stores []*store.Store
	for range 2 {
		stores = append(stores, storetest.Open(t, db, use, func(o *store.Options) { o.Exclusive = false }))
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 50 {
				_, errs := stores[worker%2].Resolve(context.Background(), []storage.Series{
					storetest.Series("m", "n", fmt.Sprint(i)), storetest.Series("m", "n", fmt.Sprint((i+worker)%50)),
				})
				if errs != nil {
					t.Error(errs)
				}
			}
		})
	}
	group.Wait()
	if got := len(o.take()); got != 50 || metaRows(t, db) != 50 {
		t.Errorf("%d series observed, %d rows in tsdb-meta, want 50 of each", got, metaRows(t, db))
	}
}
