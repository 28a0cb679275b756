package read_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

const t0 = 1356998400000 // a whole hour, ms

// hosts makes n series of one metric with a point at t0 and one in each of the following hours.
func hosts(t *testing.T, s *store.Store, n, hours int) []storage.Ref {
	t.Helper()
	var list []storage.Series
	for i := range n {
		list = append(list, storetest.Series("m", "host", fmt.Sprint("h", i)))
	}
	refs := storetest.Resolve(t, s, list...)
	var b storage.Batch
	for i, ref := range refs {
		for h := range int64(hours) {
			b.Add(ref, t0+h*3600_000+1000, float64(i)+float64(h)/100)
		}
	}
	if err := s.Append(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return refs
}

// Every way of reading returns the same: few of many series, most of them, and a range of more
// hours than keys are requested.
func TestSelectPlans(t *testing.T) {
	for _, salt := range []int{0, 1} {
		db := kv.NewMem(storetest.Tables()...)
		s := storetest.Open(t, db, func(o *store.Options) { o.Layout.SaltWidth = salt })
		refs := hosts(t, s, 120, 3)
		for _, c := range []struct {
			name       string
			refs       []storage.Ref
			start, end int64
			points     int
		}{
			{"by key", refs[5:9], t0, t0 + 3*3600_000, 12},
			{"by scan", refs, t0, t0 + 3*3600_000, 360},
			{"a part of it", refs, t0 + 3600_000, t0 + 3600_000 + 1000, 120},
			{"all time", refs[:3], 0, storage.MaxTime, 9},
			{"nothing", refs, 0, t0, 0},
			{"backwards", refs, 10, 5, 0},
		} {
			t.Run(fmt.Sprintf("salt %d %s", salt, c.name), func(t *testing.T) {
				points, order := 0, []storage.Ref{}
				for p, err := range s.Select(t.Context(), storage.Query{Refs: c.refs, Start: c.start, End: c.end, Samples: true}) {
					if err != nil {
						t.Fatal(err)
					}
					points += len(p.Times)
					order = append(order, p.Ref)
					for i, v := range p.Values {
						if want := float64(p.Ref-refs[0]) + float64((p.Times[i]-t0)/3600_000)/100; v != want {
							t.Fatalf("series %d at %d: %v, want %v", p.Ref, p.Times[i], v, want)
						}
					}
				}
				if points != c.points {
					t.Errorf("%d points, want %d", points, c.points)
				}
				if points > 0 && fmt.Sprint(order) != fmt.Sprint(c.refs) {
					t.Errorf("series come as %v, want %v", order, c.refs)
				}
			})
		}
	}
}

func TestSelectLimit(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	refs := hosts(t, s, 50, 2)
	for _, n := range []int{3, 50} { // by key, by scan
		for limit, want := range map[int]error{2 * n: nil, 2*n - 1: storage.ErrLimit} {
			var got error
			for _, err := range s.Select(t.Context(), storage.Query{Refs: refs[:n], Start: t0, End: t0 + 7200_000, Samples: true, MaxSamples: limit}) {
				got = err
			}
			if !errors.Is(got, want) {
				t.Errorf("%d series, limit %d: %v, want %v", n, limit, got, want)
			}
		}
	}
}

// broken fails reads of the data table from a number of rows on.
type broken struct {
	kv.KV
	armed bool
	rows  int
	err   error
	mu    sync.Mutex // guards rows while readers run
}

// spend counts rows and returns the error when there are no more.
func (b *broken) spend(n int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rows -= n; b.rows < 0 {
		return b.err
	}
	return nil
}

func (b *broken) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	if b.armed && table == "tsdb" {
		if err := b.spend(len(keys)); err != nil {
			return nil, err
		}
	}
	return b.KV.Get(ctx, table, family, keys)
}

func (b *broken) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		for row, err := range b.KV.Scan(ctx, s) {
			if b.armed && s.Table == "tsdb" {
				if spent := b.spend(1); spent != nil {
					row, err = kv.Row{}, spent
				}
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// An engine that fails half way never causes a short answer: the last step of the loop is its
// error, and no series is returned that lacks a row.
func TestSelectError(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	hosts(t, storetest.Open(t, db), 600, 4)
	for _, n := range []int{40, 600} {
		for rows := 0; rows < n*4; rows += 397 {
			b := &broken{KV: db, rows: rows, err: errors.New("region on fire")}
			s := storetest.Open(t, b)
			var refs []storage.Ref
			for i := range n {
				refs = append(refs, storetest.Resolve(t, s, storetest.Series("m", "host", fmt.Sprint("h", i)))...)
			}
			b.armed = true
			var got error
			for p, err := range s.Select(t.Context(), storage.Query{Refs: refs, Start: t0, End: t0 + 4*3600_000, Samples: true}) {
				if got != nil {
					t.Fatal("the loop goes on after an error")
				}
				if err == nil && len(p.Times) != 4 {
					t.Fatalf("a series of %d points, want 4", len(p.Times))
				}
				got = err
			}
			if !errors.Is(got, b.err) {
				t.Fatalf("%d series, failure after %d rows: %v", n, rows, got)
			}
		}
	}
}

func TestSelectCancelled(t *testing.T) {
	s := storetest.Open(t, kv.NewMem(storetest.Tables()...))
	refs := hosts(t, s, 50, 60)
	for _, n := range []int{3, 50} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var got error
		for _, err := range s.Select(ctx, storage.Query{Refs: refs[:n], Start: t0, End: t0 + 60*3600_000, Samples: true}) {
			got = err
		}
		if !errors.Is(got, context.Canceled) {
			t.Errorf("%d series: %v", n, got)
		}
	}
	// Leaving early is not an error and leaves nothing running.
	for range s.Select(t.Context(), storage.Query{Refs: refs[:3], Start: t0, End: t0 + 60*3600_000, Samples: true}) {
		break
	}
}

// A row that cannot be read fails the queries that need it with an error that names it.
func TestSelectCorruptRow(t *testing.T) {
	db := kv.NewMem(storetest.Tables()...)
	s := storetest.Open(t, db)
	refs := hosts(t, s, 2, 1)
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb", Family: "t", Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		bad := kv.Mutation{Key: row.Key, Puts: []kv.Put{{Qualifier: []byte{0, 0x22}, Value: []byte{1, 2, 3}}}}
		if err := db.Apply(t.Context(), "tsdb", "t", []kv.Mutation{bad}); err != nil {
			t.Fatal(err)
		}
	}
	var got error
	for _, err := range s.Select(t.Context(), storage.Query{Refs: refs, Start: t0, End: t0 + 3600_000, Samples: true}) {
		got = err
	}
	if got == nil || !strings.Contains(got.Error(), "row 00000150e22700") {
		t.Errorf("error %v does not name the row", got)
	}
	// Appending to it still keeps what is sent.
	var b storage.Batch
	b.Add(refs[0], t0+5000, 1)
	if err := storetest.Open(t, db).Append(t.Context(), &b); err != nil {
		t.Error(err)
	}
}
