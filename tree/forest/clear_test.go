package forest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// clear clears a tree, perhaps over an engine that fails.
func (m *forgetModel) clear(f *Forest, id uint16) {
	ok := m.call(func(ctx context.Context, _ []NewSeries) error { return f.Clear(ctx, id) }, nil)
	if delete(m.cleared, id); !ok {
		m.cleared[id] = true
	}
}

// resync appends the series that live again, as a Follower does after trees were cleared.
func (m *forgetModel) resync() {
	for _, f := range m.forests {
		m.load(f, false)
	}
	f, living := m.forests[0], slices.Collect(maps.Values(m.living))
	slices.SortFunc(living, func(a, b NewSeries) int { return strings.Compare(string(a.TSUID), string(b.TSUID)) })
	so := DefaultSyncOptions()
	so.Parallel = 1
	for {
		s := &syncing{
			db: f.db, o: f.o, so: so, catalog: listed{living, 7}, forest: f, home: f, running: true, told: time.Now(), tally: newTally(f.db),
		}
		if _, err := s.all(m.t.Context()); err == nil {
			return
		} else if !errors.Is(err, kvtest.ErrFault) {
			m.t.Fatal(err)
		}
	}
}

// Whatever is observed, forgotten and cleared, and interrupted, by one process or several: after the
// next pass over the series the trees are those of the series that live.
func TestClearModel(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		for _, engine := range []string{"mem", "pebble", "shared"} {
			for _, alike := range []bool{false, true} {
				forgetRun(t, uint64(seed), engine, alike, func(m *forgetModel) { m.clears, m.cleared = true, map[uint16]bool{} })
			}
		}
	}
}

// left returns the cells of a tree without its definition.
func left(t *testing.T, db kv.KV, id uint16) (all []string) {
	t.Helper()
	for cell := range cells(t, db) {
		if row, column, _ := strings.Cut(cell, " "); strings.HasPrefix(row, fmt.Sprintf("%04X", id)) && column != clearedColumn {
			all = append(all, cell)
		}
	}
	return all
}

// A tree that is cleared is empty, in the table and in the index; other trees stay. A tree that is
// removed leaves nothing, and its id is used again.
func TestClearAndRemove(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		var db kv.KV = kv.NewMem(forgetTables()...)
		if !exclusive {
			db = kv.NewShared(forgetTables()...)
		}
		forgetTrees(t, db)
		f := newForest(t, db, exclusive)
		var series []NewSeries
		for i := range 3000 {
			series = append(series, numbered(i, fmt.Sprintf("a%d.b%d.c%d", i%7, i%700, i%1900)))
		}
		series = append(series, numbered(3001, "Aa.x"), numbered(3002, "BB.x"), numbered(3003, "Aa.x"))
		if err := f.Observe(t.Context(), series); err != nil {
			t.Fatal(err)
		}
		before, other := len(left(t, db, 1)), len(left(t, db, 2))
		if err := f.Clear(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if some := left(t, db, 1); before < 3000 || len(some) > 0 {
			t.Errorf("exclusive %v: of %d cells %d are left: %.100q", exclusive, before, len(some), some)
		}
		if n := len(left(t, db, 2)); n != other {
			t.Errorf("exclusive %v: the other tree has %d cells, had %d", exclusive, n, other)
		}
		samePaths(t, db, f)
		if f.Index().Leaves() != 0 || slices.Contains(f.Index().Trees(), 1) {
			t.Errorf("exclusive %v: %d leaves in the index, trees %v", exclusive, f.Index().Leaves(), f.Index().Trees())
		}
		if err := f.Observe(t.Context(), series); err != nil {
			t.Fatal(err)
		}
		if n := len(left(t, db, 1)); n != before {
			t.Errorf("exclusive %v: observed again, %d cells, had %d", exclusive, n, before)
		}
		samePaths(t, db, f)
		if err := f.Remove(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if all := definition(t, db, 3); len(all) > 0 {
			t.Errorf("exclusive %v: removed, there are %v", exclusive, all)
		}
		if err := f.setMarks(t.Context(), f.Trees(), mark{Done: true}); err != nil || len(definition(t, db, 3)) > 0 {
			t.Errorf("exclusive %v: a removed tree was marked, %v", exclusive, err)
		}
		if err := f.Remove(t.Context(), 3); !errors.Is(err, ErrNoTree) {
			t.Errorf("exclusive %v: Remove again = %v", exclusive, err)
		}
		if id, err := NewDefinitions(db, "tsdb-tree").Create(t.Context(), schema.Tree{Name: "new"}); err != nil || id != 3 {
			t.Errorf("exclusive %v: a new tree is %d, %v", exclusive, id, err)
		}
	}
}

// An interrupted Remove leaves a tree that is there and not enabled, and can be repeated.
func TestRemoveInterrupted(t *testing.T) {
	for nth := 1; nth <= 12; nth++ {
		for _, when := range []kvtest.When{kvtest.Before, kvtest.Midway, kvtest.After} {
			for _, method := range []kvtest.Method{kvtest.Apply, kvtest.Scan, kvtest.CheckAndPut, kvtest.Get} {
				db := newTables(t)
				faulty := kvtest.New(db)
				f := newForest(t, faulty, true)
				f.clearRows = 2
				series := []NewSeries{numbered(1, "a.b.c"), numbered(2, "a.b.d"), numbered(3, "a.b.c"), numbered(4, "x.y")}
				if err := f.Observe(t.Context(), series); err != nil {
					t.Fatal(err)
				}
				faulty.Fail(method, nth, when)
				err := f.Remove(t.Context(), 1)
				name := fmt.Sprintf("%s number %d fails %s", method, nth, when)
				if err != nil && !errors.Is(err, kvtest.ErrFault) {
					t.Fatalf("%s: %v", name, err)
				}
				faulty.Fail(method, 0, when)
				if err != nil && definition(t, db, 1)["tree"] != "" {
					if err := f.Remove(t.Context(), 1); err != nil {
						t.Fatalf("%s, again: %v", name, err)
					}
				}
				if all := cells(t, db); len(all) > 0 || definition(t, db, 1)["tree"] != "" {
					t.Fatalf("%s: there are %v", name, all)
				}
				samePaths(t, db, f)
			}
		}
	}
}

// Series that come after the leaves were deleted keep their branches, and the root.
func TestClearKeepsNewSeries(t *testing.T) {
	for _, metric := range []string{"a.b.c", "a.b", "x.y.z.u", "a"} {
		db, o := plainTables()
		o.Exclusive = true
		f := New(db, o)
		if _, err := f.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		come := plainSeries(9, metric)
		if err := f.Observe(t.Context(), append(plainSeries(1, "a.b.c"), plainSeries(2, "a.d.e")...)); err != nil {
			t.Fatal(err)
		}
		c := clearing{forest: f, id: f.Trees()[0].ID()}
		if err := c.clearLeaves(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := f.Observe(t.Context(), come); err != nil {
			t.Fatal(err)
		}
		if err := c.clearBranches(t.Context()); err != nil {
			t.Fatal(err)
		}
		fresh := New(db, o)
		if _, err := fresh.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		for name, forest := range map[string]*Forest{"running": f, "new": fresh} {
			nodes, err := forest.Find(t.Context(), "**", FindOptions{})
			if paths := leafPaths(nodes); err != nil || !slices.Equal(paths, []string{metric}) {
				t.Errorf("%s: the %s forest finds %q, %v", metric, name, paths, err)
			}
			if n := forest.Index().Branches(); n != strings.Count(metric, ".")+1 {
				t.Errorf("%s: the %s forest has %d branches", metric, name, n)
			}
		}
	}
}

// After a Clear that failed, the leaves that it did not delete are not overwritten.
func TestClearFails(t *testing.T) {
	db := newTables(t)
	faulty := kvtest.New(db)
	f := newForest(t, faulty, true)
	if err := f.Observe(t.Context(), []NewSeries{numbered(1, "a.b")}); err != nil {
		t.Fatal(err)
	}
	faulty.Fail(kvtest.Apply, 2, kvtest.Before) // the first one notes that the tree is cleared
	if err := f.Clear(t.Context(), 1); !errors.Is(err, kvtest.ErrFault) {
		t.Fatal(err)
	}
	if err := f.Observe(t.Context(), []NewSeries{numbered(2, "a.b")}); err != nil {
		t.Fatal(err)
	}
	found, err := newForest(t, db, true).Find(t.Context(), "a.b", FindOptions{})
	if err != nil || len(found) != 1 || len(found[0].Series) != 2 {
		t.Errorf("found %v, %v", found, err)
	}
}

// Series that come while a tree is cleared are on it after the next pass, and nothing else is lost.
func TestClearRaces(t *testing.T) {
	db := kv.NewMem(forgetTables()...)
	forgetTrees(t, db)
	f := newForest(t, db, true)
	f.clearRows = 3
	all := make([]NewSeries, 0, 1200)
	for i := range 1200 {
		all = append(all, numbered(i, fmt.Sprintf("a%d.b%d.c%d", i%3, i%70, i%900)))
	}
	var group sync.WaitGroup
	for worker := range 4 {
		group.Go(func() {
			for i := worker; i < len(all); i += 4 {
				if err := f.Observe(context.Background(), all[i:i+1]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Go(func() {
		for range 5 {
			if err := f.Clear(context.Background(), 1); err != nil {
				t.Error(err)
			}
		}
	})
	group.Wait()
	samePaths(t, db, f)
	m := &forgetModel{t: t, forests: []*Forest{f}, living: map[string]NewSeries{}}
	for _, s := range all {
		m.living[string(s.TSUID)] = s
	}
	m.resync()
	samePaths(t, db, f)
	if n := f.Index().Leaves(); n != len(all) {
		t.Errorf("%d leaves, want %d", n, len(all))
	}
}

// A process whose trees are cleared by another one follows at its next refresh.
func TestClearedElsewhere(t *testing.T) {
	db := kv.NewShared(forgetTables()...)
	forgetTrees(t, db)
	here, there, rows := newForest(t, db, false), newForest(t, db, false), newForest(t, db, false)
	series := []NewSeries{numbered(1, "a.b.c"), numbered(2, "a.b.d")}
	for _, f := range []*Forest{here, rows} {
		if err := f.Observe(t.Context(), series); err != nil {
			t.Fatal(err)
		}
	}
	if err := there.Clear(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := here.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	samePaths(t, db, here)
	if n := here.Index().Leaves(); n != 0 {
		t.Errorf("%d leaves after a refresh", n)
	}
	if err := rows.LoadTrees(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows.dropOutdated()
	if n := rows.Index().Leaves(); n != 0 {
		t.Errorf("%d leaves in an index that is not loaded", n)
	}
	if rows.outdated() || here.outdated() {
		t.Error("outdated still")
	}
}

// What a TSD leaves of a tree that it deletes is swept, unless the id has a new tree by then. Otherwise
// a TSD could not make one.
func TestSweep(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		var db kv.KV = kv.NewMem(forgetTables()...)
		if !exclusive {
			db = kv.NewShared(forgetTables()...)
		}
		forgetTrees(t, db)
		f := newForest(t, db, exclusive)
		f.clearRows = 2
		series := []NewSeries{numbered(1, "a.b.c"), numbered(2, "a.b.c"), numbered(3, "Aa.x"), numbered(4, "BB.x")}
		if err := f.Observe(t.Context(), series); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.setMarks(t.Context(), f.Trees(), mark{Done: true}), f.noteCleared(t.Context(), 1)); err != nil {
			t.Fatal(err)
		}
		for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-tree", Family: schema.FamilyData, Start: schema.TreeRow(1), Stop: schema.TreeRow(2)}) {
			if err != nil {
				t.Fatal(err)
			}
			m := kv.Mutation{Key: row.Key}
			for _, c := range row.Cells {
				if !strings.HasPrefix(string(c.Qualifier), "tsdbridge") {
					m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
				}
			}
			if len(m.Deletes) == 0 {
				continue
			}
			if err := db.Apply(t.Context(), "tsdb-tree", schema.FamilyData, []kv.Mutation{m}); err != nil {
				t.Fatal(err)
			}
		}
		other := len(left(t, db, 2))
		if len(left(t, db, 1)) == 0 || len(definition(t, db, 1)) != 2 {
			t.Fatalf("exclusive %v: a TSD leaves %q and %v", exclusive, left(t, db, 1), definition(t, db, 1))
		}
		if err := f.LoadTrees(t.Context()); err != nil {
			t.Fatal(err)
		}
		putCell(t, db, schema.TreeRow(1), "tree", `{"name":"new"}`)
		if err := f.sweep(t.Context()); err != nil || len(definition(t, db, 1)) != 3 {
			t.Errorf("exclusive %v: of a new tree %v is left, %v", exclusive, definition(t, db, 1), err)
		}
		if err := db.Apply(t.Context(), "tsdb-tree", schema.FamilyData, []kv.Mutation{
			{Key: schema.TreeRow(1), Deletes: []kv.Delete{{Qualifier: schema.TreeQualifier()}}},
		}); err != nil {
			t.Fatal(err)
		}
		if err := f.sweep(t.Context()); err != nil || len(definition(t, db, 1)) > 0 || len(left(t, db, 1)) > 0 {
			t.Errorf("exclusive %v: left are %v and %q, %v", exclusive, definition(t, db, 1), left(t, db, 1), err)
		}
		if err := f.LoadTrees(t.Context()); err != nil || len(f.orphans) > 0 || len(left(t, db, 2)) != other {
			t.Errorf("exclusive %v: orphans %v, %d cells of the other tree, %v", exclusive, f.orphans, len(left(t, db, 2)), err)
		}
	}
}
