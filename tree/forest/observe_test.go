package forest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// newTables returns empty tables with a tree of the pieces of metrics, which keeps failures.
func newTables(t testing.TB) *kv.Mem {
	t.Helper()
	o := DefaultOptions()
	db := kv.NewMem(
		kv.Table{Name: o.TreeTable, Families: []string{schema.FamilyData}},
		kv.Table{Name: o.UIDTable, Families: []string{schema.FamilyID, schema.FamilyName}},
	)
	declare(t, db, schema.TreeRule{Type: "METRIC", Separator: `\.`})
	return db
}

func declare(t testing.TB, db kv.KV, rules ...schema.TreeRule) {
	t.Helper()
	d := tree.Definition{Tree: schema.Tree{Name: "default", Enabled: true, StoreFailures: true}, Rules: rules}
	if _, err := NewDefinitions(db, "tsdb-tree").Declare(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// newForest loads a forest.
func newForest(t testing.TB, db kv.KV, exclusive bool) *Forest {
	t.Helper()
	o := DefaultOptions()
	o.Exclusive = exclusive
	f := New(db, o)
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

func numbered(i int, metric string) NewSeries {
	return NewSeries{
		TSUID:  []byte{0, 0, 1, 0, 0, 1, byte(i >> 16), byte(i >> 8), byte(i)},
		Series: storage.Series{Metric: metric, Tags: []storage.Tag{{Key: "n", Value: fmt.Sprint(i)}}},
	}
}

// cells returns all cells of tsdb-tree except the definitions.
func cells(t testing.TB, db kv.KV) map[string]string {
	t.Helper()
	all := map[string]string{}
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: "tsdb-tree", Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			if _, _, rule := schema.ParseRuleQualifier(c.Qualifier); !rule && string(c.Qualifier) != "tree" {
				all[printRow(row.Key)+" "+printQualifier(c.Qualifier)] = string(c.Value)
			}
		}
	}
	return all
}

// Whatever call fails, before or after it took effect, observing again leaves the rows as if
// nothing had failed, and the index equals the one that a new process would load.
func TestObserveAfterFailures(t *testing.T) {
	series := []NewSeries{numbered(1, "a.b.c"), numbered(2, "a.b.d"), numbered(3, "a.b.c"), numbered(4, "x.y")}
	whole := newTables(t)
	if err := newForest(t, whole, false).Observe(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	want := cells(t, whole)
	for _, exclusive := range []bool{false, true} {
		for _, method := range []kvtest.Method{kvtest.CheckAndPut, kvtest.Apply, kvtest.Scan} {
			for _, when := range []kvtest.When{kvtest.Before, kvtest.Midway, kvtest.After} {
				for nth := 1; nth <= 8; nth++ {
					db := newTables(t)
					faulty := kvtest.New(db)
					f := newForest(t, faulty, exclusive)
					faulty.Fail(method, nth, when)
					for range 3 {
						if err := f.Observe(t.Context(), series); err != nil && !errors.Is(err, kvtest.ErrFault) {
							t.Fatal(err)
						}
					}
					name := fmt.Sprintf("exclusive %v, %s number %d fails %s", exclusive, method, nth, when)
					if diff := cmp.Diff(want, cells(t, db)); diff != "" {
						t.Fatalf("%s (-want +got):\n%s", name, diff)
					}
					sameIndex(t, name, f, db)
				}
			}
		}
	}
}

// sameIndex fails the test unless a running forest finds what a new one finds.
func sameIndex(t *testing.T, name string, f *Forest, db kv.KV) {
	t.Helper()
	running, err := f.Find(t.Context(), "**", FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := newForest(t, db, false).Find(t.Context(), "**", FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printNodes(fresh), printNodes(running)); diff != "" {
		t.Errorf("%s: index (-new +running):\n%s", name, diff)
	}
}

// Processes and their requests race for the same branches and leaves: each leaf has one series, all
// others are collisions, and every index agrees with the table.
func TestObserveRaces(t *testing.T) {
	for _, test := range []struct {
		processes int
		exclusive bool
	}{{1, true}, {1, false}, {3, false}} {
		db := newTables(t)
		var forests []*Forest
		var group sync.WaitGroup
		for range test.processes {
			f := newForest(t, db, test.exclusive)
			forests = append(forests, f)
			for request := range 4 {
				group.Go(func() {
					var series []NewSeries
					for i := range 60 {
						// Requests 0 and 1 bring the same series, 2 and 3 others under the same
						// names.
						series = append(series, numbered(1+request/2*100+i, fmt.Sprintf("a.b%d.c%d", i%3, i)))
					}
					if err := f.Observe(context.Background(), series); err != nil {
						t.Error(err)
					}
				})
			}
		}
		group.Wait()
		name := fmt.Sprintf("%+v", test)
		checkOwners(t, name, cells(t, db))
		for _, f := range forests {
			if _, err := f.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			sameIndex(t, name, f, db)
		}
	}
}

func checkOwners(t *testing.T, name string, all map[string]string) {
	t.Helper()
	leaves, shared, collisions := map[string]bool{}, 0, 0
	for cell, value := range all {
		if strings.Contains(cell, alsoPrefix) {
			shared++
		} else if leaf, err := schema.ParseLeaf([]byte(value)); err == nil {
			leaves[schema.FormatTSUID(leaf.TSUID)] = true
		} else if len(cell) > 7 && cell[:7] == "0001-01" {
			collisions++
		}
	}
	if len(leaves) != 60 || shared != 60 || collisions != 60 {
		t.Errorf("%s: %d leaves, %d series that share them, %d collisions, want 60 of each", name, len(leaves), shared, collisions)
	}
	for cell, value := range all {
		if len(cell) > 7 && cell[:7] == "0001-01" && !leaves[value] {
			t.Errorf("%s: %s lost to %s, which has no leaf", name, cell, value)
		}
	}
}

// A TSD or another process writes and deletes rows: Refresh finds the new rows; Load also notices
// the deleted ones.
func TestRefresh(t *testing.T) {
	db := newTables(t)
	ours, theirs := newForest(t, db, false), newForest(t, db, false)
	if err := theirs.Observe(t.Context(), []NewSeries{numbered(1, "a.b"), numbered(2, "a.c")}); err != nil {
		t.Fatal(err)
	}
	declare(t, db, schema.TreeRule{Type: "METRIC"}, schema.TreeRule{Type: "TAGK", Field: "n", Level: 1})
	if _, err := ours.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := ours.Index().Leaves(); n != 2 {
		t.Errorf("after a refresh %d leaves, want 2", n)
	}
	if rules := ours.Trees()[0].Rules(); len(rules) != 2 {
		t.Errorf("after a refresh the rules are %v", rules)
	}
	gone := kv.Mutation{Key: schema.BranchRow(1, "a"), DeleteRow: true}
	if err := db.Apply(t.Context(), "tsdb-tree", schema.FamilyData, []kv.Mutation{gone}); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := ours.Index().Leaves(); n != 0 {
		t.Errorf("after the rows are gone %d leaves", n)
	}
}

// When another process gave a leaf to another series, a refresh finds that series.
func TestRefreshOfReplacedLeaf(t *testing.T) {
	db := newTables(t)
	f := newForest(t, db, false)
	if err := f.Observe(t.Context(), []NewSeries{numbered(1, "a.b")}); err != nil {
		t.Fatal(err)
	}
	leaf := schema.Leaf{DisplayName: "b", TSUID: []byte{9}}
	putCell(t, db, schema.BranchRow(1, "a"), string(schema.LeafQualifier("b")), string(leaf.AppendTo(nil)))
	if _, err := f.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameIndex(t, "refreshed", f, db)
}

// An exclusive process assumes nothing about a table that it has not read, and nothing after an
// error, since the failed call may have taken effect.
func TestObserveWithoutIndexedRows(t *testing.T) {
	first, second := []NewSeries{numbered(1, "a.b")}, []NewSeries{numbered(2, "a.b")}
	want := schema.FormatTSUID(first[0].TSUID)
	check := func(name string, db kv.KV) {
		t.Helper()
		if got := cells(t, db)["0001-01 tree_collision:"+schema.FormatTSUID(second[0].TSUID)]; got != want {
			t.Errorf("%s: the second series lost to %q, want %q", name, got, want)
		}
	}

	db := newTables(t)
	if err := newForest(t, db, true).Observe(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.Exclusive = true
	blind := New(db, o)
	if err := errors.Join(blind.LoadTrees(t.Context()), blind.Observe(t.Context(), second)); err != nil {
		t.Fatal(err)
	}
	check("not loaded", db)

	db = newTables(t)
	for _, series := range [][]NewSeries{first, second} { // nor without even the definitions
		if err := New(db, o).Observe(t.Context(), series); err != nil {
			t.Fatal(err)
		}
	}
	check("not even the definitions", db)

	db = newTables(t)
	faulty := kvtest.New(db)
	f := newForest(t, faulty, true)
	faulty.Fail(kvtest.Apply, 1, kvtest.After)
	if err := f.Observe(t.Context(), first); !errors.Is(err, kvtest.ErrFault) {
		t.Fatalf("Observe over a broken engine: %v", err)
	}
	if err := f.Observe(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	check("written in spite of an error", db)
}

// interrupted calls a function after the last row of a scan of whole rows.
type interrupted struct {
	kv.KV
	once func()
}

func (i *interrupted) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		for row, err := range i.KV.Scan(ctx, s) {
			if !yield(row, err) {
				return
			}
		}
		if do := i.once; do != nil && s.Limit == 0 {
			i.once = nil
			do()
		}
	}
}

// What is appended to a tree during a scan is in the index that the scan fills all the same.
func TestLoadMissesNothing(t *testing.T) {
	db := &interrupted{KV: newTables(t)}
	f := newForest(t, db, true)
	db.once = func() {
		if err := f.Observe(t.Context(), []NewSeries{numbered(1, "a.b")}); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameIndex(t, "loaded", f, db)
	// The table has branch a; the index in use does not have it yet.
	db.once = func() {
		db.once = func() {
			if err := f.Observe(t.Context(), []NewSeries{numbered(3, "c.e")}); err != nil {
				t.Error(err)
			}
		}
		if err := f.Observe(t.Context(), []NewSeries{numbered(2, "c.d")}); err != nil {
			t.Error(err)
		}
	}
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	sameIndex(t, "loaded twice", f, db)
}

// Series that come while everything is loaded anew are in the new index.
func TestLoadWhileObserving(t *testing.T) {
	db := newTables(t)
	f := newForest(t, db, true)
	var group sync.WaitGroup
	group.Go(func() {
		for i := range 300 {
			if err := f.Observe(context.Background(), []NewSeries{numbered(i+1, fmt.Sprintf("a.b%d.c%d", i%7, i))}); err != nil {
				t.Error(err)
			}
		}
	})
	for range 30 {
		if _, err := f.Load(t.Context()); err != nil {
			t.Error(err)
		}
	}
	group.Wait()
	if n := f.Index().Leaves(); n != 300 {
		t.Errorf("%d leaves, want 300", n)
	}
	sameIndex(t, "after loading", f, db)
	for cell := range cells(t, db) {
		if strings.Contains(cell, collidedPrefix) {
			t.Errorf("%s: no names share a hash", cell)
		}
	}
}

// A cancelled call releases its cells: the next one writes them.
func TestObserveCancelled(t *testing.T) {
	db := newTables(t)
	f := newForest(t, db, true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Observe(ctx, []NewSeries{numbered(1, "a.b")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Observe with a cancelled context: %v", err)
	}
	if err := f.Observe(t.Context(), []NewSeries{numbered(1, "a.b")}); err != nil {
		t.Error(err)
	}
	if got := slices.Sorted(maps.Keys(cells(t, db))); len(got) != 3 {
		t.Errorf("cells %q, want root, branch and leaf", got)
	}
}

// While everything is read for the first time, the status reports the progress.
func TestStatusWhileLoading(t *testing.T) {
	db := &interrupted{KV: newTables(t)}
	if err := newForest(t, db, true).Observe(t.Context(), []NewSeries{numbered(1, "a.b"), numbered(2, "a.c")}); err != nil {
		t.Fatal(err)
	}
	f := New(db, DefaultOptions())
	said := ""
	db.once = func() { said = f.Status().Err.Error() }
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said, "2 branches and 2 leaves so far") {
		t.Errorf("the status says %q", said)
	}
}
