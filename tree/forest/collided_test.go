package forest

import (
	"bytes"
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
)

// plainTables returns empty tables and the options of forests that keep plain series.
func plainTables() (*kv.Mem, Options) {
	o := DefaultOptions()
	o.DefaultTree, o.Plain = "graphite", plain
	return kv.NewMem(
		kv.Table{Name: o.TreeTable, Families: []string{schema.FamilyData}},
		kv.Table{Name: o.UIDTable, Families: []string{schema.FamilyID, schema.FamilyName}},
	), o
}

// hashAlikes returns plain series whose names share hashes in every way: 4^3 paths over 4 names of
// one hash, and shorter ones.
func hashAlikes() (series []NewSeries, paths map[string]string) {
	names := []string{"AaAa", "AaBB", "BBAa", "BBBB"}
	paths = map[string]string{}
	add := func(elements ...string) {
		n := len(series)
		path := strings.Join(elements, ".")
		series = append(series, NewSeries{
			TSUID:  []byte{0, 0, 1, 0, 0, byte(n)},
			Series: storage.Series{Metric: path, Tags: []storage.Tag{{Key: "-_", Value: "1"}}},
		})
		paths[path] = fmt.Sprintf("%X", series[n].TSUID)
	}
	for _, a := range names {
		add(a)
		for _, b := range names {
			add(a, b)
			for _, c := range names {
				add(a, b, c)
			}
		}
	}
	return series, paths
}

// found returns the series that a forest finds, by path.
func found(t *testing.T, f *Forest) map[string]string {
	t.Helper()
	nodes, err := f.Find(t.Context(), "**", FindOptions{})
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]string{}
	for _, n := range nodes {
		for _, tsuid := range n.Series {
			paths[n.Path] += fmt.Sprintf("%X", tsuid)
		}
	}
	return paths
}

// Each series is found under its name, at once and after a new load of the table, whatever hashes
// names share, in whatever order series come and from however many processes.
func TestCollidedLeavesRace(t *testing.T) {
	for _, exclusive := range []bool{true, false} {
		db, o := plainTables()
		o.Exclusive = exclusive
		series, want := hashAlikes()
		var forests []*Forest
		var group sync.WaitGroup
		for process := range 3 {
			if process == 0 || !exclusive {
				forests = append(forests, New(db, o))
			}
			f := forests[len(forests)-1]
			for batch := range slices.Chunk(series, 10) {
				group.Go(func() {
					if process == 1 {
						batch = slices.Clone(batch)
						slices.Reverse(batch)
					}
					if err := f.Observe(context.Background(), batch); err != nil {
						t.Error(err)
					}
				})
			}
			group.Go(func() {
				if _, err := f.Load(context.Background()); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		for n, f := range append(forests, New(db, o)) {
			if _, err := f.Refresh(t.Context()); err != nil {
				t.Fatal(err)
			}
			if n == len(forests) {
				if _, err := f.Load(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(want, found(t, f)); diff != "" {
				t.Fatalf("exclusive %v, process %d (-want +got):\n%s", exclusive, n, diff)
			}
			if got := f.Index().Leaves(); got != len(series) {
				t.Errorf("exclusive %v, process %d: %d leaves, want %d", exclusive, n, got, len(series))
			}
		}
		rows, err := NewRows(db, o.TreeTable, nil).Find(t.Context(), "**", FindOptions{Trees: []uint16{1}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), leafPaths(rows)); diff != "" {
			t.Errorf("exclusive %v, rows (-want +got):\n%s", exclusive, diff)
		}
	}
}

func leafPaths(nodes []Node) []string {
	var paths []string
	for _, n := range nodes {
		if len(n.Series) > 0 {
			paths = append(paths, n.Path)
		}
	}
	return paths
}

// Whatever call fails, before or after it took effect, there is one default tree, and observing
// again makes every series found.
func TestPlainAfterFailures(t *testing.T) {
	all, _ := hashAlikes()
	var series []NewSeries
	want := map[string]string{}
	for n := 0; n < len(all); n += 5 {
		series = append(series, all[n])
		want[all[n].Metric] = fmt.Sprintf("%X", all[n].TSUID)
	}
	for _, exclusive := range []bool{false, true} {
		for _, method := range []kvtest.Method{kvtest.CheckAndPut, kvtest.Apply, kvtest.Scan, kvtest.Get} {
			for _, when := range []kvtest.When{kvtest.Before, kvtest.Midway, kvtest.After} {
				for nth := 1; nth <= 6; nth++ {
					db, o := plainTables()
					o.Exclusive = exclusive
					faulty := kvtest.New(db)
					f := New(faulty, o)
					faulty.Fail(method, nth, when)
					name := fmt.Sprintf("exclusive %v, %s number %d fails %s", exclusive, method, nth, when)
					for range 2 {
						if err := f.Observe(t.Context(), series); err != nil && !errors.Is(err, kvtest.ErrFault) {
							t.Fatalf("%s: %v", name, err)
						}
					}
					if diff := cmp.Diff(want, found(t, f)); diff != "" {
						t.Fatalf("%s (-want +got):\n%s", name, diff)
					}
					again := New(db, o)
					if _, err := again.Load(t.Context()); err != nil {
						t.Fatal(err)
					}
					if diff := cmp.Diff(want, found(t, again)); diff != "" || len(again.Trees()) != 1 {
						t.Fatalf("%s: %d trees; of a new process (-want +got):\n%s", name, len(again.Trees()), diff)
					}
				}
			}
		}
	}
}

// Processes that need a default tree at the same time make one, in addition to the existing trees.
func TestDefaultTreeRace(t *testing.T) {
	for range 20 {
		db, o := plainTables()
		declare(t, db, schema.TreeRule{Type: "TAGK", Field: "n"})
		var group sync.WaitGroup
		for process := range 4 {
			f := New(db, o)
			group.Go(func() {
				one := NewSeries{TSUID: []byte{byte(process)}, Series: storage.Series{Metric: fmt.Sprint("a.b", process), Tags: []storage.Tag{{Key: "-_", Value: "1"}}}}
				if err := f.Observe(context.Background(), []NewSeries{one}); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		f := New(db, o)
		if _, err := f.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
		if trees := f.Trees(); len(trees) != 2 || trees[1].ID() != 2 || len(trees[1].Rules()) != 1 {
			t.Fatalf("%d trees, want the one that was there and a default tree", len(trees))
		}
		if got := found(t, f); len(got) != 4 {
			t.Errorf("found %v, want 4 series", got)
		}
	}
}

// A leaf that cannot be read hides no series.
func TestCollidedLeafOfBrokenLeaf(t *testing.T) {
	for _, exclusive := range []bool{false, true} {
		db, o := plainTables()
		o.Exclusive = exclusive
		one := NewSeries{TSUID: []byte{7}, Series: storage.Series{Metric: "a.b", Tags: []storage.Tag{{Key: "-_", Value: "1"}}}}
		putCell(t, db, schema.BranchRow(1, "a"), string(schema.LeafQualifier("b")), "{")
		f := New(db, o)
		if err := f.Observe(t.Context(), []NewSeries{one}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(map[string]string{"a.b": "07"}, found(t, f)); diff != "" {
			t.Errorf("exclusive %v (-want +got):\n%s", exclusive, diff)
		}
		sameIndex(t, "broken leaf", f, db)
	}
}

// plainSeries returns a series of a path, numbered.
func plainSeries(n byte, path string) []NewSeries {
	return []NewSeries{{TSUID: []byte{n}, Series: storage.Series{Metric: path, Tags: []storage.Tag{{Key: "-_", Value: "1"}}}}}
}

// checkFound compares what a running forest finds with what a forest finds that loads the table.
func checkFound(t *testing.T, name string, db kv.KV, o Options, running *Forest, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, found(t, running)); diff != "" {
		t.Errorf("%s (-want +running):\n%s", name, diff)
	}
	again := New(db, o)
	if _, err := again.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, found(t, again)); diff != "" {
		t.Errorf("%s (-want +loaded):\n%s", name, diff)
	}
}

// If another process has given the row of a branch another name, this process learns that from the
// row.
func TestCollidedLeafOfUnknownBranch(t *testing.T) {
	db, o := plainTables()
	first, second := New(db, o), New(db, o)
	for n, f := range []*Forest{first, second} {
		if err := f.Observe(t.Context(), plainSeries(byte(n), []string{"Aa.one", "BB.two"}[n])); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := second.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkFound(t, "two processes", db, o, second, map[string]string{"Aa.one": "00", "BB.two": "01"})
}

// A process may crash after it wrote a leaf and before it wrote the column with the path of the
// collided leaf. The series of the leaf is found all the same, and so is the other one after its
// next sample.
func TestCollidedLeafAfterCrash(t *testing.T) {
	db, o := plainTables()
	if err := New(db, o).Observe(t.Context(), plainSeries(1, "Aa.one")); err != nil {
		t.Fatal(err)
	}
	faulty := kvtest.New(db)
	faulty.Fail(kvtest.Apply, 1, kvtest.Before)
	if err := New(faulty, o).Observe(t.Context(), plainSeries(2, "BB.two")); !errors.Is(err, kvtest.ErrFault) {
		t.Fatalf("Observe without an Apply: %v", err)
	}
	f := New(db, o)
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := f.Observe(t.Context(), plainSeries(3, "Aa.two")); err != nil {
		t.Fatal(err)
	}
	checkFound(t, "after the crash", db, o, f, map[string]string{"Aa.one": "01", "Aa.two": "0203"})
	if err := f.Observe(t.Context(), plainSeries(2, "BB.two")); err != nil {
		t.Fatal(err)
	}
	checkFound(t, "sent again", db, o, f, map[string]string{"Aa.one": "01", "Aa.two": "03", "BB.two": "02"})
}

// overtaken is a table whose next collided leaf is written after a Load has read everything and
// before its index is in use.
type overtaken struct {
	kv.KV
	load    func()
	scanned chan struct{}
	goOn    chan struct{}
}

func (o *overtaken) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if do := o.load; do != nil && bytes.Equal(rows[0].Key, schema.CollisionRow(1)) {
		o.load = nil
		scanned := o.scanned
		go do()
		<-scanned
	}
	return o.KV.Apply(ctx, table, family, rows)
}

func (o *overtaken) Scan(ctx context.Context, s kv.Scan) iter.Seq2[kv.Row, error] {
	return func(yield func(kv.Row, error) bool) {
		for row, err := range o.KV.Scan(ctx, s) {
			if !yield(row, err) {
				return
			}
		}
		if s.Limit == 0 && o.scanned != nil {
			close(o.scanned)
			o.scanned = nil
			<-o.goOn
		}
	}
}

// A collided leaf that is written during a Load is in the index that the Load fills.
func TestLoadMissesNoCollidedLeaf(t *testing.T) {
	db, o := plainTables()
	over := &overtaken{KV: db, scanned: make(chan struct{}), goOn: make(chan struct{})}
	f := New(over, o)
	loaded := make(chan error, 1)
	over.load = func() {
		_, err := f.Load(context.Background())
		loaded <- err
	}
	if err := f.Observe(t.Context(), append(plainSeries(1, "Aa.one"), plainSeries(2, "BB.two")...)); err != nil {
		t.Fatal(err)
	}
	close(over.goOn)
	if err := <-loaded; err != nil {
		t.Fatal(err)
	}
	checkFound(t, "overtaken", db, o, f, map[string]string{"Aa.one": "01", "BB.two": "02"})
}

// A collided leaf is found under its path alone, whether its leaf was known before or comes
// afterwards, until another series gets that leaf.
func TestCollidedLeafBeforeItsLeaf(t *testing.T) {
	x := NewIndex(nil)
	find := func() string {
		nodes, err := x.Find(t.Context(), "**", FindOptions{Trees: x.Trees()})
		if err != nil {
			t.Fatal(err)
		}
		return printNodes(nodes)
	}
	aa := schema.BranchKey{Tree: 1, Hashes: []uint32{schema.NameHash("Aa")}}
	if ok, err := x.addCollided(collidedLeaf{1, []string{"BB", "two"}, []byte{2}}); ok || err != nil {
		t.Errorf("a collided leaf in no tree: %v, %v", ok, err)
	}
	if _, err := x.AddBranch(schema.BranchKey{Tree: 1}, schema.RootName); err != nil {
		t.Fatal(err)
	}
	if ok, err := x.addCollided(collidedLeaf{1, []string{"BB", "two"}, []byte{2}}); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if _, err := x.AddBranch(aa, "Aa"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tsuid []byte
		want  string
	}{{[]byte{2}, "BB.*\nBB.two 02\n"}, {[]byte{3}, "Aa.*\nAa.two 03\nBB.*\nBB.two 02\n"}, {[]byte{2}, "BB.*\nBB.two 02\n"}} {
		if _, err := x.AddLeaf(aa, schema.NameHash("two"), schema.Leaf{DisplayName: "two", TSUID: test.tsuid}); err != nil {
			t.Fatal(err)
		}
		if got := find(); got != test.want {
			t.Errorf("the leaf being %X's: find ** = %q, want %q", test.tsuid, got, test.want)
		}
	}
}
