package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
)

// testTSDTreeBrowse: an adapter and a TSD share one table of trees, and each browses, explains and
// extends what the other made.
func testTSDTreeBrowse(t *testing.T, s tables) {
	s.create(t)
	specs := enabledSpecs()
	// Every series of the adapter is in the trees before it is acknowledged.
	a := s.startAdapter(t, "--config.file="+treesFile(t, specs))
	all := append(treeSeries()[:60], [][]string{
		{"__name__", "carbon.x.y"}, {"__name__", "carbon.x"}, {"__name__", "single"}, {"__name__", "carbon.x.x"},
	}...)
	var batch []prompb.TimeSeries
	for _, labels := range all {
		batch = append(batch, series([]prompb.Sample{sampleAt(epoch, 1)}, labels...))
	}
	a.Write(t, batch...).ok(t)
	d := s.startTSD(t, false)
	b := browsing{t: t, tables: s, adapter: a, tsd: d, trees: a.trees(t)}
	if len(b.trees) != len(specs)+1 {
		t.Fatalf("the adapter has %d trees, want those declared and one for plain names", len(b.trees))
	}
	for _, tree := range b.trees {
		if !tree.Enabled && !tree.Default {
			continue // it is empty and has not even a root
		}
		b.browse(tree)
		b.failures(tree)
		b.messages(tree, all)
	}
	b.realtime()
	b.defined()
}

// treeState is a tree in /api/v1/status/trees.
type treeState struct {
	ID      int `json:"treeId"`
	Name    string
	Default bool
	Enabled bool
}

// trees returns the trees that an adapter knows.
func (a *adapter) trees(t testing.TB) []treeState {
	t.Helper()
	var answer struct{ Data struct{ Trees []treeState } }
	r := a.Get(t, "/api/v1/status/trees").ok(t)
	if err := json.Unmarshal(r.body, &answer); err != nil {
		t.Fatalf("%v in %v", err, r)
	}
	return answer.Data.Trees
}

// treeRoute is a tree in /api/v1/status/trees/test.
type treeRoute struct {
	ID       int `json:"treeId"`
	Messages []string
	Path     string
}

// testTree asks an adapter how a series is routed through one tree.
func (a *adapter) testTree(t testing.TB, name string, tree int) (tsuid string, route treeRoute) {
	t.Helper()
	var answer struct {
		Data struct {
			TSUID string
			Trees []treeRoute
		}
	}
	r := a.Get(t, "/api/v1/status/trees/test?"+url.Values{"name": {name}, "tree": {fmt.Sprint(tree)}}.Encode()).ok(t)
	if err := json.Unmarshal(r.body, &answer); err != nil || len(answer.Data.Trees) != 1 {
		t.Fatalf("%v in %v", err, r)
	}
	return answer.Data.TSUID, answer.Data.Trees[0]
}

// find returns the paths that an adapter finds by a pattern of Graphite.
func (a *adapter) find(t testing.TB, pattern string) []string {
	t.Helper()
	var nodes []struct{ ID string }
	r := a.Get(t, "/metrics/find?"+url.Values{"query": {pattern}}.Encode()).ok(t)
	if err := json.Unmarshal(r.body, &nodes); err != nil {
		t.Fatalf("%v in %v", err, r)
	}
	var paths []string
	for _, n := range nodes {
		paths = append(paths, n.ID)
	}
	return paths
}

// browsing is an adapter and a TSD on the same trees.
type browsing struct {
	t       *testing.T
	tables  tables
	adapter *adapter
	tsd     tsd
	trees   []treeState
}

// browse walks a tree by the TSD's API and by our rows. A TSD shows names as they are stored. It
// shows no series whose names share hashes, only one of the branches whose names differ in case
// alone, and leaves only after it has the names of their UIDs in its cache.
func (b *browsing) browse(tree treeState) {
	b.t.Helper()
	ours := leavesOf(b.tables.showTree(b.t, tree.ID))
	eventually(b.t, waitTimeout, "the TSD shows "+tree.Name, func() error {
		theirs := leavesOf(b.tsd.Browse(b.t, tree.ID))
		if diff := cmp.Diff(theirs, firstsOf(ours, theirs)); diff != "" {
			return fmt.Errorf("the TSD (-) and tsdbridge (+) differ:\n%s", diff)
		}
		return nil
	})
	want := map[bool][]string{true: {"carbon.x", "carbon.x.x", "carbon.x.y", "single"}}[tree.Default]
	for _, path := range want {
		if !slices.ContainsFunc(ours, func(line string) bool { return strings.HasPrefix(line, path+" ") }) {
			b.t.Errorf("%s is not in the tree of plain names:\n%s", path, strings.Join(ours, "\n"))
		}
	}
	if len(ours) < 4 {
		b.t.Errorf("tree %d (%s) is all but empty: %v", tree.ID, tree.Name, ours)
	}
}

// firstsOf removes the series that share the path of another series, which a TSD does not show.
func firstsOf(ours, theirs []string) []string {
	lines := map[string]int{}
	for _, line := range ours {
		path, _, _ := strings.Cut(line, " ")
		lines[path]++
	}
	return slices.DeleteFunc(slices.Clone(ours), func(line string) bool {
		path, _, _ := strings.Cut(line, " ")
		return lines[path] > 1 && !slices.Contains(theirs, line)
	})
}

// leavesOf returns the lines of leaves, except those that are shown differently on purpose.
func leavesOf(lines []string) []string {
	return slices.DeleteFunc(lines, func(line string) bool {
		odd := strings.Contains(line, "hash.") || strings.Contains(line, "dots") || strings.Contains(line, "_-") || strings.ContainsAny(line, "%öüé")
		return odd && !strings.Contains(line, "{-_=1}") || strings.HasSuffix(line, ".*")
	})
}

// failures asks the TSD for the rows of failures, which we write and a TSD hardly ever does.
func (b *browsing) failures(tree treeState) {
	b.t.Helper()
	for what, column := range map[string]string{"collisions": "tree_collision:", "notmatched": "tree_not_matched:"} {
		want := map[string]string{}
		for _, c := range b.tables.cells(b.t, b.tables.name+"-tree") {
			if tsuid, ok := strings.CutPrefix(c.qualifier, column); ok && c.row[:2] == string([]byte{0, byte(tree.ID)}) {
				want[fmt.Sprintf("%X", tsuid)] = c.value
			}
		}
		if diff := cmp.Diff(want, b.tsd.Failures(b.t, what, tree.ID)); diff != "" {
			b.t.Errorf("tree %d (%s): %s in the table (-) and by the TSD (+):\n%s", tree.ID, tree.Name, what, diff)
		}
		if len(want) == 0 && (what == "collisions" && tree.Name == "crowded" || what == "notmatched" && tree.Name == "strict") {
			b.t.Errorf("tree %d (%s) has no %s", tree.ID, tree.Name, what)
		}
	}
}

// messages compares the messages of both about the route of each series, word for word.
func (b *browsing) messages(tree treeState, all [][]string) {
	b.t.Helper()
	if tree.Default || tree.Name == "rest" {
		return // its messages do not follow its rules exactly
	}
	want := map[string][]string{}
	var tsuids []string
	for _, labels := range all {
		tsuid, route := b.adapter.testTree(b.t, keyText(labels...), tree.ID)
		want[tsuid] = route.Messages
		tsuids = append(tsuids, tsuid)
	}
	got := map[string][]string{}
	for part := range slices.Chunk(tsuids, 20) { // a TSD takes lines of 4096 bytes
		maps.Copy(got, b.tsd.TestTree(b.t, tree.ID, part))
	}
	if diff := cmp.Diff(got, want); diff != "" {
		b.t.Errorf("tree %d (%s): the TSD (-) and tsdbridge (+) say:\n%.8000s", tree.ID, tree.Name, diff)
	}
}

// realtime has the TSD append its own new series to trees, which it sometimes forgets, and the
// adapter find them.
func (b *browsing) realtime() {
	b.t.Helper()
	n := 0
	eventually(b.t, waitTimeout, "a series of the TSD is found", func() error {
		n++
		b.tsd.Put(b.t, tsdPoint{
			Metric: fmt.Sprintf("real.time%d", n), Timestamp: epoch.Unix(), Value: "1", Tags: map[string]string{"dc": "dal", "host": "tsd"},
		})
		for _, path := range b.adapter.find(b.t, "dal.tsd.real.*") {
			if strings.HasPrefix(path, "dal.tsd.real.time") {
				return nil
			}
		}
		return fmt.Errorf("of %d none", n)
	})
	b.t.Logf("found one of %d series of the TSD", n)
	for _, tree := range b.trees {
		for _, line := range b.tables.showTree(b.t, tree.ID) {
			if tree.Name == "rest" && strings.HasPrefix(line, "tsd.") {
				b.t.Errorf("the TSD appended its series to a tree with {tags...}: %s", line)
			}
		}
	}
}

// defined has the TSD define one more tree while the adapter runs, and the adapter append its next
// series to it.
func (b *browsing) defined() {
	b.t.Helper()
	id := b.tsd.DefineTree(b.t, treeSpec{Name: "later", Enabled: true, rules: []ruleSpec{{Type: "METRIC"}, {Level: 1, Type: "TAGK", Field: "late"}}})
	eventually(b.t, waitTimeout, "the adapter knows a tree of the TSD", func() error {
		if trees := b.adapter.trees(b.t); !slices.ContainsFunc(trees, func(s treeState) bool { return s.ID == id && s.Enabled }) {
			return fmt.Errorf("trees are %v", trees)
		}
		return nil
	})
	b.adapter.Write(b.t, series([]prompb.Sample{sampleAt(epoch, 1)}, "__name__", "new", "late", "yes")).ok(b.t)
	if found := b.adapter.find(b.t, "new.*"); !slices.Equal(found, []string{"new.yes"}) {
		b.t.Errorf("find new.* = %v", found)
	}
	eventually(b.t, waitTimeout, "the TSD shows it", func() error {
		if lines := b.tsd.Browse(b.t, id); len(lines) != 2 || !strings.HasPrefix(lines[1], "new.yes ") {
			return fmt.Errorf("as %v", lines)
		}
		return nil
	})
}
