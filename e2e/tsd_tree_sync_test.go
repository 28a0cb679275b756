package e2e_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/prompb"
)

// treeSpecs are trees with every kind of rule, numbered from 1 in this order.
func treeSpecs() []treeSpec {
	return []treeSpec{
		{Name: "manual", Description: "dc, host and metric, as OpenTSDB's manual", rules: []ruleSpec{
			{Type: "TAGK", Field: "dc"},
			{Order: 1, Type: "TAGK", Field: "host", Regex: `.*\.(.*)\.mysite\.com`},
			{Level: 1, Type: "TAGK", Field: "host"},
			{Level: 2, Type: "METRIC", Separator: `\.`},
		}},
		{Name: "own", Description: "of OpenTSDB's own tests", rules: []ruleSpec{
			{Type: "TAGK", Field: "fqdn", Regex: `^.*\.([a-zA-Z]{3,4})[0-9]{0,1}\..*\..*$`},
			{Order: 1, Type: "TAGK", Field: "host", Regex: `^.*\.([a-zA-Z]{3,4})[0-9]{0,1}\..*\..*$`},
			{Level: 1, Type: "TAGK", Field: "fqdn", Regex: `^([a-zA-Z]+)(\-|[0-9])*.*\..*$`},
			{Level: 1, Order: 1, Type: "TAGK", Field: "host", Regex: `^([a-zA-Z]+)(\-|[0-9])*.*\..*$`},
			{Level: 2, Type: "TAGK", Field: "fqdn"},
			{Level: 2, Order: 1, Type: "TAGK", Field: "host"},
			{Level: 3, Type: "METRIC", Separator: `\.`},
			{Level: 4, Type: "TAGK", Field: "type"},
		}},
		{Name: "separators", rules: []ruleSpec{
			{Type: "TAGK", Field: "path", Separator: `[-/]+`},
			{Level: 3, Type: "METRIC", Separator: `\.`, DisplayFormat: "<{value}>"},
			{Level: 7, Type: "TAGK", Field: "host", Separator: `\.`, DisplayFormat: "{tag_name} {value} of {ovalue}"},
		}},
		{Name: "formats", Description: `with "quotes" and \`, rules: []ruleSpec{
			{Type: "METRIC", DisplayFormat: "OV: {ovalue}"},
			{Level: 1, Type: "TAGK", Field: "host", Regex: `^(\w+?)(\d*)\.`, RegexGroupIdx: 1, DisplayFormat: "{ovalue}:{value}:{tag_name}:{tsuid}"},
			{Level: 2, Type: "TAGK", Field: "dc", DisplayFormat: "OVERRIDE"},
			{Level: 3, Type: "METRIC", DisplayFormat: "Wrong: {tag_name}"},
			{Level: 4, Type: "TAGK", Field: "type", DisplayFormat: "TSUID {tsuid}"},
		}},
		{Name: "strict", StrictMatch: true, rules: []ruleSpec{
			{Type: "TAGK", Field: "dc"}, {Level: 1, Type: "TAGK", Field: "type"}, {Level: 2, Type: "METRIC"}, {Level: 3, Type: "TAGK", Field: "host"},
		}},
		{Name: "custom", rules: []ruleSpec{
			{Type: "METRIC_CUSTOM", Field: "metric", CustomField: "owner"},
			{Level: 1, Type: "TAGK_CUSTOM", Field: "host", CustomField: "rack", DisplayFormat: "{tag_name} {value}"},
			{Level: 2, Type: "TAGV_CUSTOM", Field: "dal", CustomField: "city", Separator: " "},
			{Level: 3, Type: "METRIC"},
			{Level: 4, Type: "TAGK", Field: "host"},
			{Level: 5, Type: "TAGK", Field: "type"},
		}},
		{Name: "crowded", Description: "many series of one leaf", rules: []ruleSpec{
			{Type: "TAGK", Field: "dc"}, {Level: 1, Type: "METRIC", Regex: `^(\w+)`},
		}},
		{Name: "rest", Description: "what a TSD keeps out", StrictMatch: true, rules: []ruleSpec{
			{Type: "TAGK", Field: "host"}, {Level: 1, Type: "METRIC", Separator: `\.`}, {Level: 2, Type: "TAGK", Field: "{tags...}"},
		}},
		{Name: "off", rules: []ruleSpec{{Type: "METRIC", Separator: `\.`}, {Level: 1, Type: "TAGK", Field: "host"}}},
	}
}

// enabledSpecs are treeSpecs enabled except for the last, all with rows of failures.
func enabledSpecs() []treeSpec {
	specs := treeSpecs()
	for i := range specs {
		specs[i].Enabled, specs[i].StoreFailures = specs[i].Name != "off", true
	}
	return specs
}

// treeSeries returns the series of the manual and of OpenTSDB's own test tree, and random ones of
// the same tags.
func treeSeries() [][]string {
	all := [][]string{
		{"__name__", "sys.cpu.0", "host", "web-01.lga.mysite.com", "type", "user"},
		{"__name__", "app.connections", "host", "web01.dal.mysite.com"},
		{"__name__", "app.errors", "host", "web01.dal.mysite.com", "owner", "doe"},
		{"__name__", "cpu.system", "dc", "dal", "host", "web01.dal.mysite.com"},
		{"__name__", "cpu.system", "dc", "dal", "host", "web02.dal.mysite.com"},
		{"__name__", "cpu.system", "dc", "lax", "host", "web01.lax.mysite.com"},
		{"__name__", "cpu.user", "dc", "dal", "host", "web01.dal.mysite.com"},
		{"__name__", "a.a.b", "dc", "ROOT", "host", "a"}, // equal names in a row, the name of roots
		{"__name__", "Größe.überall", "host", "été web", "dc", "50%"},
		{"__name__", "hash.Aa", "dc", "AaAa"},
		{"__name__", "hash.BB", "dc", "AaBB"},
		{"__name__", "hash.Aa", "dc", "BBBB"},
		{"__name__", "..dots..", "dc", ".", "path", "//-x//y-"},
	}
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(values ...string) string { return values[random.IntN(len(values))] }
	for range 300 {
		one := []string{"__name__", pick("sys", "app", "net.if", "cpu") + "." + pick("user", "system", "in", "a.b.c", "in-out") + "." + fmt.Sprint(random.IntN(40))}
		if random.IntN(3) > 0 {
			one = append(one, "dc", pick("dal", "lax", "lga", "dal-2"))
		}
		if random.IntN(4) > 0 {
			one = append(one, "host", fmt.Sprintf("%s%02d.%s.mysite.com", pick("web", "db", "vm-"), random.IntN(20), pick("dal", "lax", "lga1")))
		}
		if random.IntN(2) > 0 {
			one = append(one, "path", pick("/usr/bin", "a-b--c", "-", "x"))
		}
		if random.IntN(2) > 0 {
			one = append(one, "type", pick("user", "idle"))
		}
		if len(one) == 2 {
			one = append(one, "fqdn", pick("web01.lga2.mysite.com", "x"))
		}
		all = append(all, one)
	}
	return all
}

// testTSDTreeSync has a TSD and tsdbridge define the same trees and append the same series to them,
// each in a tree table of its own, with the same tables of UIDs and series. The rows must have the
// same bytes.
func testTSDTreeSync(t *testing.T, s tables) {
	theirs := tables{cluster: s.cluster, name: s.name + "Theirs"}
	s.create(t)
	theirs.create(t)
	d := s.startTSD(t, false, "tsd.storage.hbase.tree_table", theirs.name+"-tree", "tsd.core.meta.enable_realtime_uid", "false")
	d.Customise(t, "METRIC", d.AssignUID(t, "metric", "cpu.system"), map[string]string{"owner": "John Doe"})
	d.Customise(t, "TAGK", d.AssignUID(t, "tagk", "host"), map[string]string{"rack": "r7"})
	d.Customise(t, "TAGV", d.AssignUID(t, "tagv", "dal"), map[string]string{"city": "Dallas Fort Worth"})
	before := s.startAdapter(t)
	var batch []prompb.TimeSeries
	for _, labels := range treeSeries() {
		batch = append(batch, series([]prompb.Sample{sampleAt(epoch, 1)}, labels...))
	}
	before.Write(t, batch...).ok(t)
	before.Stop(t)

	specs := enabledSpecs()
	for _, spec := range specs {
		d.DefineTree(t, spec)
	}
	if out, err := d.Tool(t.Context(), "UidManager", "treesync"); err != nil {
		t.Fatalf("treesync: %v\n%s", err, out)
	}
	a := s.startAdapter(t, "--config.file="+treesFile(t, specs))
	defer a.Stop(t)
	first, second := s.run(t, "tree", "sync"), s.run(t, "tree", "sync")
	t.Logf("tree sync:\n%s", first)
	if !strings.Contains(second, " 0 branches and 0 leaves written") {
		t.Errorf("the second sync finds something to do:\n%s", second)
	}
	rest := fmt.Sprintf("%04X", 1+slices.IndexFunc(specs, func(spec treeSpec) bool { return spec.Name == "rest" }))
	compareTrees(t, treeCells(t, theirs), withoutLeaves(t, rest, treeCells(t, s)))
	if found, printed := s.fsck(t, 0, "--table=tree"); len(found) > 0 {
		t.Errorf("fsck of the trees:\n%s", printed)
	}
}

// withoutLeaves removes the cells below the root of a tree to which a TSD appends no series.
func withoutLeaves(t *testing.T, tree string, all map[string]string) map[string]string {
	t.Helper()
	left, hung := map[string]string{}, 0
	for at, value := range all {
		if strings.HasPrefix(at, tree) && len(strings.Fields(at)[0]) > len(tree) && !strings.Contains(at, "tree_not_matched:") {
			hung++
			continue
		}
		left[at] = value
	}
	if hung < 100 {
		t.Errorf("%d cells below the root of tree %s, want many", hung, tree)
	}
	return left
}

// treeCells returns the cells of a tree table by row and column.
func treeCells(t *testing.T, s tables) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, c := range s.cells(t, s.name+"-tree") {
		all[fmt.Sprintf("%X %q", c.row, c.qualifier)] = c.value
	}
	return all
}

// compareTrees fails the test unless both wrote the same cells. A TSD writes rows of failures only
// sometimes, and rule documents in an order that changes from one start to the next. Where several
// series want one leaf, the first one gets it: in the TSD's table it may be another one, but then
// that series must be on our list of collisions. Of names that share a hash, as Aa and BB do, the
// first one names the branch.
func compareTrees(t *testing.T, theirs, ours map[string]string) {
	t.Helper()
	equal, rules, won, shared := 0, 0, 0, 0
	for at, want := range theirs {
		got, ok := ours[at]
		switch {
		case strings.Contains(at, "tree_collision:") || strings.Contains(at, "tree_not_matched:"):
		case ok && got == want:
			equal++
		case ok && strings.Contains(at, `"tree_rule:`) && sameDocument(want, got):
			rules++
		case ok && strings.Contains(at, `"leaf:`) && lost(ours, at, want, got):
			won++
		case ok && strings.Contains(at, `"branch`) && shareRow(at, want, got):
			shared++
		default:
			t.Errorf("cell %s: the TSD wrote %s, tsdbridge %s", at, want, got)
		}
	}
	extra := map[string]int{}
	for at := range ours {
		if _, ok := theirs[at]; !ok {
			kind, _, _ := strings.Cut(strings.Trim(strings.Fields(at)[1], `"`), ":")
			extra[kind]++
		}
	}
	t.Logf("%d cells are equal in all bytes, %d rules but for the order of fields, %d leaves have another one of the series that want them, "+
		"%d branches another one of the names that share a hash; tsdbridge alone wrote %v", equal, rules, won, shared, extra)
	delete(extra, "tree_collision")
	delete(extra, "tree_not_matched")
	for _, own := range []string{"tsdbridge_leaf", "tsdbridge_also", "tsdbridge_synced"} {
		delete(extra, own)
	}
	if len(extra) > 0 || equal < 1000 {
		t.Errorf("%d equal cells, cells that the TSD does not have: %v", equal, extra)
	}
}

func sameDocument(a, b string) bool {
	var x, y map[string]any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && cmp.Equal(x, y)
}

// lost reports whether the series of the TSD's leaf collided with a leaf of ours.
func lost(ours map[string]string, at, theirs, leaf string) bool {
	var want, have struct{ DisplayName, TSUID string }
	if json.Unmarshal([]byte(theirs), &want) != nil || json.Unmarshal([]byte(leaf), &have) != nil {
		return false
	}
	var tsuid []byte
	if _, err := fmt.Sscanf(want.TSUID, "%X", &tsuid); err != nil {
		return false
	}
	column := string(bytes.Join([][]byte{[]byte("tree_collision:"), tsuid}, nil))
	return ours[fmt.Sprintf("%s01 %q", at[:4], column)] == have.TSUID
}

// shareRow reports whether two branches have different names that belong in this row.
func shareRow(at, theirs, ours string) bool {
	row, _, _ := strings.Cut(at, " ")
	for _, document := range []string{theirs, ours} {
		var b struct {
			Path        map[string]string
			DisplayName string
		}
		if json.Unmarshal([]byte(document), &b) != nil || b.DisplayName != b.Path[fmt.Sprint(len(b.Path)-1)] {
			return false
		}
		want := row[:4]
		for depth := 1; depth < len(b.Path); depth++ {
			want += fmt.Sprintf("%08X", javaHash(b.Path[fmt.Sprint(depth)]))
		}
		if row != want {
			return false
		}
	}
	return true
}

// javaHash is String.hashCode of a stored name, whose characters are all below U+0100.
func javaHash(s string) (h uint32) {
	for _, r := range s {
		h = 31*h + uint32(r)
	}
	return h
}
