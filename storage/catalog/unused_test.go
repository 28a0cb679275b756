package catalog_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// askedUIDs counts how often rows of tsdb-uid are asked for.
type askedUIDs struct {
	*kv.Mem
	mu    sync.Mutex
	asked map[string]int
}

func (a *askedUIDs) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	if table == "tsdb-uid" {
		a.mu.Lock()
		defer a.mu.Unlock()
		for _, key := range keys {
			a.asked[string(key)]++
		}
	}
	return a.Mem.Get(ctx, table, family, keys)
}

func (a *askedUIDs) askedFor(name string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked[name]
}

// A tag key that no series has is asked for once while the index has the same keys. When a series
// with it appears, whoever wrote it and whether tsdb-meta has it or not, the next query finds it.
func TestFindByUnusedKey(t *testing.T) {
	for _, by := range []string{"this process", "another process", "a writer without tsdb-meta", "the same, of another metric", "the same, in another hour"} {
		t.Run(by, func(t *testing.T) {
			var seconds atomic.Int64
			seconds.Store(1357000000)
			db := &askedUIDs{Mem: kv.NewMem(storetest.Tables()...), asked: map[string]int{}}
			clock := func() time.Time { return time.Unix(seconds.Load(), 0) }
			db.SetClock(func() int64 { return clock().UnixMilli() })
			shared := func(o *store.Options) { o.Exclusive, o.Now = false, clock }
			const hour = 1356998400000
			at := int64(hour)
			write := func(s *store.Store, one storage.Series) {
				t.Helper()
				var b storage.Batch
				b.Add(storetest.Resolve(t, s, one)[0], at, 1)
				if err := s.Append(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
			}
			s, other := storetest.Open(t, db, shared), storetest.Open(t, db, shared)
			plain, rare := storetest.Series("m", "host", "a"), storetest.Series("m", "rare", "x")
			write(s, plain)
			query := func(metrics ...string) string {
				return find(t, s, hour, at+1000, metric(metrics...), or(tag("host", "a"), "rare"))
			}
			for range 5 {
				if got := query("m"); got != plain.String() {
					t.Fatalf("found %s, want %s", got, plain)
				}
			}
			if n := db.askedFor("rare"); n != 1 {
				t.Errorf("the name without a UID was asked for %d times in 5 queries, want once", n)
			}
			seconds.Add(3600)
			query("m")
			if n := db.askedFor("rare"); n != 2 {
				t.Errorf("the name without a UID was asked for %d times, want once more an hour later", n)
			}
			wrote, metrics := rare, []string{"m"}
			switch by {
			case "this process":
				write(s, rare)
			case "another process", "a writer without tsdb-meta":
				write(other, rare)
				if by != "another process" {
					deleteMeta(t, db)
				}
				seconds.Add(29)
				query("m")
				seconds.Add(1) // rows of the hour are searched again
			case "the same, in another hour":
				at += 3600_000
				write(other, rare)
				deleteMeta(t, db)
			default:
				wrote, metrics = storetest.Series("foreign", "rare", "x"), []string{"m", "foreign"}
				write(other, wrote)
				deleteMeta(t, db)
			}
			want := []string{plain.String(), wrote.String()}
			slices.Sort(want)
			if got := query(metrics...); got != want[0]+" "+want[1] {
				t.Errorf("found %s, want %s", got, want)
			}
		})
	}
}

// deleteMeta leaves tables as a writer without tsdb-meta does.
func deleteMeta(t *testing.T, db kv.KV) {
	t.Helper()
	var gone []kv.Mutation
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: "name"}) {
		if err != nil {
			t.Fatal(err)
		}
		gone = append(gone, kv.Mutation{Key: row.Key, DeleteRow: true})
	}
	if err := db.Apply(t.Context(), "tsdb-meta", "name", gone); err != nil {
		t.Fatal(err)
	}
}
