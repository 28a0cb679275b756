package forest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/glob"
)

// randomForest appends series to two trees whose names overlap, some with dots in them, some
// sharing a hash, and returns the dotted paths that the rules give them.
func randomForest(t *testing.T, r *rand.Rand) (db *kv.Mem, f *Forest, paths map[string][]string) {
	t.Helper()
	db = newTables(t)
	x := tree.Definition{Tree: schema.Tree{Name: "second", Enabled: true}, Rules: []schema.TreeRule{
		{Type: "METRIC", Separator: "[|]"}, // leaves dots in names
	}}
	if _, err := NewDefinitions(db, "tsdb-tree").Declare(t.Context(), x); err != nil {
		t.Fatal(err)
	}
	f = newForest(t, db, true)
	pieces := []string{"a", "b", "ab", "web01", "web02", "web.03", "a.b", "c", "é", "[x]", "a-b", ".", "x..y", "Aa", "BB"}
	paths = map[string][]string{}
	var series []NewSeries
	for i := range 700 {
		var names []string
		for range 2 + r.IntN(4) {
			names = append(names, pieces[r.IntN(len(pieces))])
		}
		series = append(series, numbered(i, strings.Join(names, ".|")))
	}
	if err := f.Observe(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	for _, of := range f.Trees() {
		for _, one := range series {
			route := of.Route(tree.Subject{TSUID: one.TSUID, Series: one.Series})
			names := append(route.Branches, route.Leaf)
			path, tsuid := dotted(names), schema.FormatTSUID(one.TSUID)
			if route.Outcome == tree.Stored && !slices.Contains(paths[path], tsuid) {
				paths[path] = append(paths[path], tsuid)
			}
		}
	}
	return db, f, paths
}

// dotted joins names. Dots in a row and at the ends of names count once; a name of only dots stays
// as it is.
func dotted(names []string) string {
	var elements []string
	for _, name := range names {
		parts := strings.FieldsFunc(name, func(r rune) bool { return r == '.' })
		if len(parts) == 0 {
			parts = []string{name}
		}
		elements = append(elements, parts...)
	}
	return strings.Join(elements, "\x00")
}

// matches is Pattern.Match over elements that may contain dots themselves.
func matches(g *glob.Pattern, path string) bool {
	s := g.Start()
	for element := range strings.SplitSeq(path, "\x00") {
		s = g.Step(s, element)
	}
	return g.Done(s)
}

// The index and the rows find the same series: exactly those leaves whose paths match.
func TestFindAgainstMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	db, f, paths := randomForest(t, r)
	elements := []string{"a", "b", "*", "*", "web*", "w?b0[12]", "{a,ab,c}", "**", "[!a]*", "web", "03", "x", "?", "a*b", "{web0{1,2},BB}", "Aa", "{a,a*}"}
	found := 0
	for range 60 {
		var pattern []string
		for range 1 + r.IntN(6) {
			pattern = append(pattern, elements[r.IntN(len(elements))])
		}
		text := strings.Join(pattern, ".")
		g, err := glob.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		nodes, err := f.Find(t.Context(), text, FindOptions{})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := NewRows(db, "tsdb-tree", nil).Find(t.Context(), text, FindOptions{Trees: []uint16{1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(printNodes(nodes), printNodes(rows)); diff != "" {
			t.Fatalf("find %s (-index +rows):\n%s", text, diff)
		}
		want, got := map[string]int{}, map[string]int{}
		for path, series := range paths {
			if matches(g, path) {
				want[strings.ReplaceAll(path, "\x00", ".")] += len(series)
			}
		}
		for i, n := range nodes {
			if i > 0 && n.Path <= nodes[i-1].Path {
				t.Errorf("find %s: %q comes after %q", text, n.Path, nodes[i-1].Path)
			}
			if len(n.Series) > 0 {
				got[n.Path] = len(n.Series)
			}
		}
		found += len(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("find %s, leaves (-match +find):\n%s", text, diff)
		}
	}
	if found < 150 {
		t.Errorf("all patterns together find %d leaves", found)
	}
}

// A branch with many rows below its children is listed by seeks past them, the child with the
// greatest hash among them.
func TestRowsSeekPastDescendants(t *testing.T) {
	db := newTables(t)
	f := newForest(t, db, false)
	var series []NewSeries
	for i := range 2000 {
		series = append(series, numbered(i, fmt.Sprintf("%c.b%d.leaf", 'a'+i%4, i)))
	}
	if err := f.Observe(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	last := append(schema.TreeRow(1), 0xFF, 0xFF, 0xFF, 0xFF)
	putCell(t, db, last, "branch", `{"path":{"0":"ROOT","1":"z"},"displayName":"z"}`)
	for i := range 100 {
		putCell(t, db, append(last, 0, 0, 0, byte(i)), "branch", `{"path":{"0":"ROOT","1":"z","2":"y"},"displayName":"y"}`)
	}
	counting := kvtest.New(db)
	nodes, err := NewRows(counting, "tsdb-tree", nil).Find(t.Context(), "*", FindOptions{Trees: []uint16{1}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := printNodes(nodes), "a.*\nb.*\nc.*\nd.*\nz.*\n"; got != want {
		t.Errorf("find * = %q, want %q", got, want)
	}
	if n := counting.Calls(kvtest.Scan); n != 5 {
		t.Errorf("%d scans, want one and one more after each of a, b, c and d", n)
	}
}

func TestFindLimits(t *testing.T) {
	db := newTables(t)
	f := newForest(t, db, false)
	if err := f.Observe(t.Context(), []NewSeries{numbered(1, "a.b"), numbered(2, "a.c"), numbered(3, "a.d")}); err != nil {
		t.Fatal(err)
	}
	if nodes, err := f.Find(t.Context(), "a.*", FindOptions{Limit: 3}); err != nil || len(nodes) != 3 {
		t.Errorf("three of three: %v, %v", nodes, err)
	}
	if _, err := f.Find(t.Context(), "a.*", FindOptions{Limit: 2}); !errors.Is(err, storage.ErrLimit) {
		t.Errorf("two of three: %v, want ErrLimit", err)
	}
	if nodes, err := f.Find(t.Context(), "a.*", FindOptions{Trees: []uint16{2}}); err != nil || len(nodes) != 0 {
		t.Errorf("another tree: %v, %v", nodes, err)
	}
	if nodes, err := f.Find(t.Context(), "a.*", FindOptions{First: 2, Limit: 2}); err != nil || len(nodes) != 2 || nodes[0].Path != "a.b" || nodes[1].Path != "a.c" {
		t.Errorf("the first two of three: %v, %v", nodes, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Find(ctx, "a.*", FindOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	faulty := kvtest.New(db)
	faulty.Fail(kvtest.Scan, 2, kvtest.Midway)
	if _, err := NewRows(faulty, "tsdb-tree", nil).Find(t.Context(), "a.*", FindOptions{Trees: []uint16{1}}); !errors.Is(err, kvtest.ErrFault) {
		t.Errorf("a scan that breaks off: %v", err)
	}
}

// The index orders more entries than fit a page of its tree or of a listing, in whatever order they
// arrive.
func TestIndexOrder(t *testing.T) {
	x := NewIndex(nil)
	if _, err := x.AddBranch(schema.BranchKey{Tree: 1}, schema.RootName); err != nil {
		t.Fatal(err)
	}
	const n = 20_000
	for _, i := range rand.New(rand.NewPCG(3, 4)).Perm(n) {
		name := fmt.Sprintf("n%05d", i)
		if i%10 == 0 { // a leaf and a branch of one name
			if _, err := x.AddBranch(schema.BranchKey{Tree: 1, Hashes: []uint32{schema.NameHash(name)}}, name); err != nil {
				t.Fatal(err)
			}
		}
		leaf := schema.Leaf{DisplayName: name, TSUID: []byte{1, byte(i >> 8), byte(i)}}
		if _, err := x.AddLeaf(schema.BranchKey{Tree: 1}, schema.NameHash(name), leaf); err != nil {
			t.Fatal(err)
		}
	}
	// Each leaf is listed once; empty branches are not listed.
	nodes, err := x.Find(t.Context(), "*", FindOptions{Trees: []uint16{1}, Limit: n})
	if err != nil || len(nodes) != n {
		t.Fatalf("%d nodes, %v, want %d", len(nodes), err, n)
	}
	for i, node := range nodes {
		if node.Path != fmt.Sprintf("n%05d", i) || len(node.Series) != 1 || node.Series[0][1] != byte(i>>8) || node.Series[0][2] != byte(i) {
			t.Fatalf("node %d is %s %X", i, node.Path, node.Series)
		}
	}
}

// TestFindFirst ends when enough is found.
func TestFindFirst(t *testing.T) {
	x := NewIndex(nil)
	for _, names := range [][]string{nil, {"a"}, {"a", "b"}} {
		name := schema.RootName
		if len(names) > 0 {
			name = names[len(names)-1]
		}
		if ok, err := x.AddBranch(keyOf(names), name); !ok || err != nil {
			t.Fatal(ok, err)
		}
		for _, leaf := range []string{"x", "y", "z"} {
			tsuid := []byte{0, 0, byte(len(names)), 0, 0, leaf[0], 0, 0, 1}
			if ok, err := x.AddLeaf(keyOf(names), schema.NameHash(leaf), schema.Leaf{DisplayName: leaf, TSUID: tsuid}); !ok || err != nil {
				t.Fatal(ok, err)
			}
		}
	}
	for first, want := range map[int]int{0: 6, 1: 1, 4: 4, 6: 6, 7: 6} {
		nodes, err := x.Find(t.Context(), "a.**", FindOptions{Trees: []uint16{1}, Leaves: true, First: first})
		if err != nil || len(nodes) != want {
			t.Errorf("the first %d: %d nodes (%v), want %d", first, len(nodes), err, want)
		}
	}
}
