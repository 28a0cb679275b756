package register_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// tape is an engine with a log of its changes in one sequence, of which the last may not be on the
// disk yet: a crash leaves some first part of the changes, at least those before the last one that
// was waited for.
type tape struct {
	*kv.Mem

	first   kv.LogState
	mu      sync.Mutex // held during a change; guards all below
	changes []func(ctx context.Context, to *kv.Mem) error
	durable int
}

func newTape() *tape {
	m := kv.NewMem(storetest.Tables()...)
	return &tape{Mem: m, first: m.LogState()}
}

func (p *tape) change(ctx context.Context, wait bool, f func(ctx context.Context, to *kv.Mem) error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changes = append(p.changes, f)
	if wait {
		p.durable = len(p.changes)
	}
	return f(ctx, p.Mem)
}

func (p *tape) apply(ctx context.Context, wait bool, table, family string, rows []kv.Mutation) error {
	kept := make([]kv.Mutation, len(rows)) // the caller reuses its memory
	for i, r := range rows {
		kept[i] = kv.Mutation{Key: bytes.Clone(r.Key), Deletes: r.Deletes, DeleteRow: r.DeleteRow, RowTime: r.RowTime}
		for _, put := range r.Puts {
			kept[i].Puts = append(kept[i].Puts, kv.Put{Qualifier: bytes.Clone(put.Qualifier), Value: bytes.Clone(put.Value), Time: put.Time})
		}
	}
	return p.change(ctx, wait, func(ctx context.Context, to *kv.Mem) error { return to.Apply(ctx, table, family, kept) })
}

func (p *tape) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	return p.apply(ctx, true, table, family, rows)
}

func (p *tape) ApplyUnlogged(ctx context.Context, table, family string, rows []kv.Mutation) error {
	return p.apply(ctx, false, table, family, rows)
}

func (p *tape) Flush(ctx context.Context) error {
	return p.change(ctx, true, func(context.Context, *kv.Mem) error { return nil })
}

func (p *tape) Increment(ctx context.Context, c kv.Column, delta int64) (sum int64, err error) {
	err = p.change(ctx, false, func(ctx context.Context, to *kv.Mem) error {
		sum, err = to.Increment(ctx, c, delta)
		return err
	})
	return sum, err
}

func (p *tape) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (won bool, err error) {
	err = p.change(ctx, false, func(ctx context.Context, to *kv.Mem) error {
		won, err = to.CheckAndPut(ctx, c, expected, value)
		return err
	})
	return won, err
}

func (p *tape) NoteLog(end kv.LogEnd, wait bool) error {
	return p.change(context.Background(), wait, func(_ context.Context, to *kv.Mem) error { return to.NoteLog(end, wait) })
}

func (p *tape) RecordLog(state kv.LogState) error {
	return p.change(context.Background(), true, func(_ context.Context, to *kv.Mem) error { return to.RecordLog(state) })
}

// after returns what a crash leaves of n changes.
func (p *tape) after(t *testing.T, n int) *kv.Mem {
	t.Helper()
	m := kv.NewMem(storetest.Tables()...)
	if err := m.RecordLog(p.first); err != nil {
		t.Fatal(err)
	}
	for _, f := range p.changes[:n] {
		if err := f(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// registered is a series that was acknowledged when so many changes were durable.
type registered struct {
	series  storage.Series
	tsuid   string
	durable int
}

// resolveTogether resolves batches of new and known series in several goroutines at once.
func resolveTogether(t *testing.T, p *tape, seed uint64) []registered {
	s := storetest.Open(t, p, withTreeRows(p))
	var (
		group sync.WaitGroup
		mu    sync.Mutex // guards seen
		seen  []registered
	)
	for worker := range uint64(4) {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, worker))
			for range 12 {
				var list []storage.Series
				for range 1 + r.IntN(40) {
					list = append(list, storetest.Series(fmt.Sprint("metric-", r.IntN(20)), "host", fmt.Sprint("host-", r.IntN(60)), "job", fmt.Sprint(r.IntN(3))))
				}
				refs, errs := s.Resolve(t.Context(), list)
				if errs != nil {
					t.Error(errs)
					return
				}
				p.mu.Lock()
				durable := p.durable
				p.mu.Unlock()
				mu.Lock()
				for i, ref := range refs {
					seen = append(seen, registered{list[i], string(s.Catalog().TSUIDOf(ref)), durable})
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return seen
}

// Whenever the process ends, an acknowledged series has its UIDs, their names and its tsdb-meta
// row, the next process finds it under the same TSUID, and no UID is assigned twice or without a
// name.
func TestRegistrationsSurviveCrashes(t *testing.T) {
	for seed := range scale.Of[uint64](t, "random orders of first writes", 3, 3, 60) {
		p := newTape()
		seen := resolveTogether(t, p, seed)
		if t.Failed() {
			return
		}
		r := rand.New(rand.NewPCG(seed, 99))
		for range 25 {
			n := r.IntN(len(p.changes) + 1)
			db := p.after(t, n)
			checkUIDs(t, db)
			checkObserved(t, db)
			checkRegistered(t, db, seen, n)
			if t.Failed() {
				t.Fatalf("seed %d, after %d of %d changes", seed, n, len(p.changes))
			}
		}
	}
}

// treeRows is an observer that does not wait for the disk, as trees do not.
type treeRows struct{ db *kv.Engine }

func (treeRows) Forget(context.Context, []storage.NewSeries) error { return nil }

func (treeRows) Renamed(context.Context, []storage.NewSeries, []storage.NewSeries) error { return nil }

func (treeRows) Forgotten(context.Context, []storage.NewSeries) error { return nil }

func (o treeRows) Observe(ctx context.Context, all []storage.NewSeries) error {
	rows := make([]kv.Mutation, len(all))
	for i, s := range all {
		rows[i] = kv.Mutation{Key: bytes.Clone(s.TSUID), Puts: []kv.Put{{Qualifier: []byte("leaf"), Value: []byte(s.Metric)}}}
	}
	return o.db.Put(ctx, "tsdb-tree", "t", rows)
}

func withTreeRows(db kv.KV) func(*store.Options) {
	return func(o *store.Options) { o.Observer = treeRows{kv.NewEngine(db, true)} }
}

// checkObserved: every series with a tsdb-meta row has the rows of the observer.
func checkObserved(t *testing.T, db kv.KV) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: schema.FamilyMeta}) {
		if err != nil {
			t.Fatal(err)
		}
		leaves, err := db.Get(t.Context(), "tsdb-tree", "t", [][]byte{row.Key})
		if err != nil || len(leaves[0].Cells) == 0 {
			t.Errorf("%x is registered and was not observed: %v", row.Key, err)
		}
	}
}

// checkUIDs: every forward row has its reverse row.
func checkUIDs(t *testing.T, db kv.KV) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-uid", Family: schema.FamilyID, Start: []byte{1}}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			reverse, err := db.Get(t.Context(), "tsdb-uid", schema.FamilyName, [][]byte{c.Value})
			if err != nil {
				t.Fatal(err)
			}
			named := slices.ContainsFunc(reverse[0].Cells, func(r kv.Cell) bool {
				return bytes.Equal(r.Qualifier, c.Qualifier) && bytes.Equal(r.Value, row.Key)
			})
			if !named {
				t.Errorf("the %s UID %x of %q has no name", c.Qualifier, c.Value, row.Key)
			}
		}
	}
}

// checkRegistered checks what a process finds that starts after a crash which n changes survived.
func checkRegistered(t *testing.T, db kv.KV, seen []registered, n int) {
	t.Helper()
	s := storetest.Open(t, db, withTreeRows(db))
	var list []storage.Series
	for _, see := range seen {
		list = append(list, see.series)
		if see.durable > n {
			continue
		}
		rows, err := db.Get(t.Context(), "tsdb-meta", schema.FamilyMeta, [][]byte{[]byte(see.tsuid)})
		if err != nil {
			t.Fatal(err)
		}
		if len(rows[0].Cells) != 2 {
			t.Errorf("acknowledged %s has no row in tsdb-meta", see.series)
		}
	}
	byTSUID := map[string]string{}
	for i, ref := range storetest.Resolve(t, s, list...) {
		tsuid, name := string(s.Catalog().TSUIDOf(ref)), seen[i].series.String()
		if seen[i].durable <= n && tsuid != seen[i].tsuid {
			t.Errorf("acknowledged %s was %x and is %x", name, seen[i].tsuid, tsuid)
		}
		if other, ok := byTSUID[tsuid]; ok && other != name {
			t.Errorf("%s and %s are both %x", name, other, tsuid)
		}
		byTSUID[tsuid] = name
	}
	if rows := metaRows(t, db); rows != len(byTSUID) {
		t.Errorf("%d rows in tsdb-meta, %d series", rows, len(byTSUID))
	}
}
