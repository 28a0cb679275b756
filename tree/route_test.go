package tree

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A recording is a series, the rules of a tree, and what OpenTSDB 2.4.1 made of them
// (testdata/RecordRoutes.java).
type recording struct {
	Rules  []json.RawMessage
	Strict bool
	TSUID  string
	Metric string
	Tags   []string
	Custom map[string]map[string]map[string]string

	Messages []string
	Error    string
	Row      string
	Path     []string
	Leaf     string
}

func (r recording) tree(t *testing.T) *Tree {
	t.Helper()
	d := Definition{ID: 1, Tree: schema.Tree{Name: "t", StrictMatch: r.Strict}}
	for _, raw := range r.Rules {
		rule, err := schema.ParseTreeRule(raw)
		if err != nil {
			t.Fatal(err)
		}
		d.Rules = append(d.Rules, rule)
	}
	tree, err := Compile(d)
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func (r recording) subject(t *testing.T) Subject {
	t.Helper()
	tsuid, err := hex.DecodeString(r.TSUID)
	if err != nil {
		t.Fatal(err)
	}
	s := Subject{TSUID: tsuid, Series: storage.Series{Metric: r.Metric}}
	for pair := range slices.Chunk(r.Tags, 2) {
		s.Tags = append(s.Tags, storage.Tag{Key: pair[0], Value: pair[1]})
	}
	s.Custom = func(kind storage.NameKind, name string) map[string]string { return r.Custom[kind.String()][name] }
	return s
}

// answer returns a Route in the form of a recording: a TSD's test shows a leaf on the root too.
func answer(r Route, said []string) (path []string, row, leaf, failed string, messages []string) {
	if r.Outcome == Failed {
		return nil, "", "", r.Unmatched, nil
	}
	path = append([]string{schema.RootName}, r.Branches...)
	row = fmt.Sprintf("%X", schema.BranchRow(1, r.Branches...))
	if r.Outcome == Stored {
		leaf = r.Leaf
	}
	return path, row, leaf, "", said
}

// Every recorded route is the same, message for message.
func TestRoutesOfOpenTSDB(t *testing.T) {
	file, err := os.Open("testdata/routes.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	outcomes := map[Outcome]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var want recording
		if err := json.Unmarshal(lines.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		said := &transcript{}
		route := want.tree(t).route(want.subject(t), said)
		outcomes[route.Outcome]++
		path, row, leaf, failed, messages := answer(route, said.lines)
		if (failed != "") != (want.Error != "") {
			t.Errorf("line %d: failed %q, want %q\n%s", n, failed, want.Error, lines.Text())
		}
		if want.Error != "" {
			continue
		}
		switch route.Outcome {
		case OnRoot: // a TSD's test shows it on the root, a TSD's store drops it
			leaf = route.Leaf
		case Refused: // a TSD's answer keeps the branches made before the refusal
			leaf = want.Leaf
		}
		got := recording{Path: path, Row: row, Leaf: leaf, Messages: messages}
		if diff := cmp.Diff(recording{Path: want.Path, Row: want.Row, Leaf: want.Leaf, Messages: want.Messages}, got); diff != "" {
			t.Errorf("line %d (-OpenTSDB +ours):\n%s\n%s", n, diff, strings.TrimSpace(lines.Text()))
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	for o := Stored; o <= Failed; o++ {
		if outcomes[o] == 0 {
			t.Errorf("no recording of the outcome %q", o)
		}
	}
}

// A rule may look around, and fails where that takes too long: a TSD would not end.
func TestRouteGoesBack(t *testing.T) {
	tree, err := Compile(Definition{ID: 1, Tree: schema.Tree{Name: "t"}, Rules: []schema.TreeRule{
		{Type: "METRIC", Regex: `^(?!sys\.)((a|aa)+)$`},
		{Type: "METRIC", Order: 1, Regex: `^(?=(\w+)\.)`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[string]string{"sys.cpu": "sys", "aaa": "aaa", "x.y": "x"} {
		if r := tree.Route(Subject{TSUID: []byte{1}, Series: storage.Series{Metric: metric}}); r.Leaf != want || r.Outcome == Failed {
			t.Errorf("%s: %+v, want %s", metric, r, want)
		}
	}
	r := tree.Route(Subject{TSUID: []byte{1}, Series: storage.Series{Metric: strings.Repeat("a", 100) + ".b"}})
	if r.Outcome != Failed || !strings.Contains(r.Unmatched, "[1:0:0:METRIC] takes more than 20000 steps") {
		t.Errorf("an expensive value: %+v", r)
	}
}

// A separator may look around, too: a metric is cut before capital letters.
func TestSeparatorGoesBack(t *testing.T) {
	tree, err := Compile(Definition{ID: 1, Tree: schema.Tree{Name: "t"}, Rules: []schema.TreeRule{
		{Type: "METRIC", Separator: `(?<=[a-z])(?=[A-Z])`},
		{Type: "METRIC", Level: 1, Separator: `(?=(a|aa)+b)c`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := tree.Route(Subject{TSUID: []byte{1}, Series: storage.Series{Metric: "heapUsedBytes"}})
	if r.Outcome != Stored || r.Leaf != "heapUsedBytes" || !slices.Equal(r.Branches, []string{"heap", "Used", "Bytes"}) {
		t.Errorf("%+v", r)
	}
	r = tree.Route(Subject{TSUID: []byte{1}, Series: storage.Series{Metric: strings.Repeat("a", 100) + ".b"}})
	if r.Outcome != Failed || !strings.Contains(r.Unmatched, "[1:1:0:METRIC] takes more than 20000 steps") {
		t.Errorf("an expensive value: %+v", r)
	}
}
