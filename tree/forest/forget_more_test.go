package forest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// Another process knows the leaf, the column next to it and the collided leaf of series that this
// one forgets. When it registers them again, all are in the table again.
func TestForgetElsewhere(t *testing.T) {
	db := kv.NewShared(forgetTables()...)
	forgetTrees(t, db)
	ours, theirs := newForest(t, db, false), newForest(t, db, false)
	series := []NewSeries{numbered(1, "a.Aa"), numbered(2, "a.Aa"), numbered(3, "a.BB"), numbered(4, "b.c")}
	if err := theirs.Observe(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	want := cells(t, db)
	if err := ours.Forget(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	if nodes, err := newForest(t, db, false).Find(t.Context(), "**", FindOptions{}); err != nil || len(nodes) > 0 {
		t.Fatalf("after all is forgotten: %s, %v", printNodes(nodes), err)
	}
	if err := theirs.Observe(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, cells(t, db)); diff != "" {
		t.Errorf("registered again (-before +after):\n%s", diff)
	}
}

// Another process forgets series. As soon as this one follows, it finds the same as a process that
// starts then: a series that shared the path of a forgotten one has the leaf. A series that comes
// back has its leaf again.
func TestForgottenElsewhere(t *testing.T) {
	for n := range 4 {
		db := kv.NewShared(forgetTables()...)
		forgetTrees(t, db)
		ours, theirs := newForest(t, db, false), newForest(t, db, false)
		series := []NewSeries{numbered(1, "a.Aa"), numbered(2, "a.Aa"), numbered(3, "a.BB"), numbered(4, "b.c")}
		if err := theirs.Observe(t.Context(), series); err != nil {
			t.Fatal(err)
		}
		if _, err := ours.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		same := func(when string) {
			t.Helper()
			t.Logf("series %d %s", n+1, when)
			samePaths(t, db, ours)
		}
		same("observed")
		if err := theirs.Forget(t.Context(), series[n:n+1]); err != nil {
			t.Fatal(err)
		}
		if err := ours.Forgotten(t.Context(), series[n:n+1]); err != nil {
			t.Fatal(err)
		}
		same("forgotten")
		if err := ours.Observe(t.Context(), series[n:n+1]); err != nil {
			t.Fatal(err)
		}
		same("observed again")
		if err := ours.Forgotten(t.Context(), series); err != nil {
			t.Fatal(err)
		}
		same("followed once more")
	}
}

// Another process gives the column of a forgotten series to a series whose name has the same hash.
// A refresh shows it under its own name.
func TestRefreshShowsNewName(t *testing.T) {
	db := kv.NewShared(forgetTables()...)
	forgetTrees(t, db)
	ours, theirs := newForest(t, db, false), newForest(t, db, false)
	series := []NewSeries{numbered(1, "a.Aa"), numbered(2, "a.BB")}
	if err := ours.Observe(t.Context(), series[:1]); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Forget(t.Context(), series[:1]); err != nil {
		t.Fatal(err)
	}
	if err := theirs.Observe(t.Context(), series[1:]); err != nil {
		t.Fatal(err)
	}
	if _, err := ours.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	samePaths(t, db, ours)
}

// A column has a leaf of another name than the index of the process that forgets the leaf's series.
// A series that shared the earlier name does not inherit the leaf under the later one.
func TestHeirKeepsName(t *testing.T) {
	db := kv.NewShared(forgetTables()...)
	forgetTrees(t, db)
	ours, theirs := newForest(t, db, false), newForest(t, db, false)
	holder, sharer, later := numbered(1, "a.BB"), numbered(2, "a.BB"), numbered(3, "a.Aa")
	for _, step := range []struct {
		do     func(context.Context, []NewSeries) error
		series NewSeries
	}{
		{theirs.Observe, holder},
		{ours.Observe, holder},
		{ours.Observe, sharer},
		{theirs.Forget, holder}, // it does not know who shares the leaf
		{theirs.Observe, later},
		{ours.Forget, later},
	} {
		if err := step.do(t.Context(), []NewSeries{step.series}); err != nil {
			t.Fatal(err)
		}
	}
	nodes, err := newForest(t, db, false).Find(t.Context(), "a.*", FindOptions{Trees: []uint16{1}})
	if want := "a.BB 000001000001000002\n"; err != nil || printNodes(nodes) != want {
		t.Errorf("found %q, %v; want %q", printNodes(nodes), err, want)
	}
}

// A series shared a leaf, was forgotten by another process, and came back as a collided leaf. A
// process that follows the deletion only then finds it.
func TestForgottenCameBackCollided(t *testing.T) {
	db := kv.NewShared(forgetTables()...)
	forgetTrees(t, db)
	ours, theirs := newForest(t, db, false), newForest(t, db, false)
	holder, sharer, later := numbered(1, "a.BB"), numbered(2, "a.BB"), numbered(3, "a.Aa")
	for _, step := range []struct {
		do     func(context.Context, []NewSeries) error
		series []NewSeries
	}{
		{theirs.Observe, []NewSeries{holder}},
		{theirs.Observe, []NewSeries{sharer}},
		{refresh(ours), nil},
		{theirs.Forget, []NewSeries{holder, sharer}},
		{theirs.Observe, []NewSeries{later}},
		{theirs.Observe, []NewSeries{sharer}},
		{refresh(ours), nil},
		{ours.Forgotten, []NewSeries{sharer}},
	} {
		if err := step.do(t.Context(), step.series); err != nil {
			t.Fatal(err)
		}
	}
	samePaths(t, db, ours)
}

func refresh(f *Forest) func(context.Context, []NewSeries) error {
	return func(ctx context.Context, _ []NewSeries) error {
		_, err := f.Refresh(ctx)
		return err
	}
}

// samePaths compares a forest with one that loads the table.
func samePaths(t *testing.T, db kv.KV, f *Forest) {
	t.Helper()
	got, err := f.Find(t.Context(), "**", FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := newForest(t, db, false).Find(t.Context(), "**", FindOptions{})
	if diff := cmp.Diff(printNodes(want), printNodes(got)); err != nil || diff != "" {
		t.Errorf("(-a new process +this one)%v\n%s", err, diff)
	}
}

// A forgettingCatalog is a catalog in which series are forgotten after they were listed.
type forgettingCatalog struct {
	listed
	forest *Forest
}

func (c forgettingCatalog) NameSeries(ctx context.Context, tsuids [][]byte) ([]storage.NewSeries, error) {
	series, err := c.listed.NameSeries(ctx, tsuids)
	if err == nil {
		err = c.forest.Forget(ctx, slices.Clone(series[:1]))
	}
	return series, err
}

// What is forgotten while a pass goes over all series stays forgotten.
func TestForgetDuringSync(t *testing.T) {
	db := newTables(t)
	f := newForest(t, db, true)
	var series []NewSeries
	for i := range 10 {
		series = append(series, numbered(i+1, fmt.Sprintf("a.b%d", i)))
	}
	so := DefaultSyncOptions()
	so.Parallel = 1
	s := &syncing{db: db, o: f.o, so: so, catalog: forgettingCatalog{listed{series, 5}, f}, forest: f, home: f, running: true, told: so.Now(), tally: newTally(db)}
	if _, err := s.all(t.Context()); err != nil {
		t.Fatal(err)
	}
	nodes, err := f.Find(t.Context(), "a.*", FindOptions{})
	if err != nil || len(nodes) != 8 || strings.Contains(printNodes(nodes), "a.b0 ") || strings.Contains(printNodes(nodes), "a.b5 ") {
		t.Errorf("found %s, %v", printNodes(nodes), err)
	}
}

// A btree from which items are removed has the others, in order.
func TestBtreeRemove(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		var b btree
		have := map[uint32]bool{}
		less := func(n uint32) func(item) bool { return func(it item) bool { return it.entry < n } }
		for range 20000 {
			n := uint32(r.IntN(3000))
			if r.IntN(20000) < 9 { // all but a few
				for n := range uint32(2990) {
					if b.remove(item{1, n}, less(n)) != have[n] {
						t.Fatalf("removing %d", n)
					}
					delete(have, n)
				}
			}
			if r.IntN(2) == 0 {
				if b.remove(item{1, n}, less(n)) != have[n] {
					t.Fatalf("removing %d", n)
				}
				delete(have, n)
			} else if !have[n] {
				b.insert(item{1, n}, less(n))
				have[n] = true
			}
		}
		var got []uint32
		b.ascend(less(0), func(it item) bool { got = append(got, it.entry); return true })
		if len(got) != len(have) || b.count != len(have) || !slices.IsSorted(got) {
			t.Fatalf("%d items, count %d, want %d", len(got), b.count, len(have))
		}
	}
}
