package forest

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// TestScripts runs the scripts in testdata/scripts, each over empty tables:
//
//	tree id=1 [strict] [failures] [disabled]   rules as JSON, a line each -> stores and loads them; says what is wrong with them
//	check id=1                                 the same for a declared tree, without storing it
//	uid kind name uid                          custom fields as JSON, if any
//	observe                                    TSUID metric{key=value,...} a line -> the cells that are new in tsdb-tree
//	forget                                     TSUID metric{key=value,...} a line -> the cells that are left in tsdb-tree
//	put row qualifier                          a value; row and qualifier as they are printed
//	find pattern                               -> what is found, in the index and in the rows alike
//	explain                                    a series -> its way
//	template name                              its text -> its rules, what becomes of paths below it; stores and loads it if it is right
//	inverse                                    paths -> tree and series, or why no tree takes them: a line each
//	status                                     -> how the trees are
//	load                                       a forest that has been running for a while loads again
//	restart [exclusive] [default=name] [shown] a new process; with shown, _ is shown as a blank
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/scripts", func(t *testing.T, path string) {
		s := newScript()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

type script struct {
	db     *kv.Mem
	o      Options
	forest *Forest
	seen   map[string]string // cells that were printed
}

func newScript() *script {
	o := DefaultOptions()
	s := &script{o: o, seen: map[string]string{}}
	s.db = kv.NewMem(
		kv.Table{Name: o.TreeTable, Families: []string{schema.FamilyData}},
		kv.Table{Name: o.UIDTable, Families: []string{schema.FamilyID, schema.FamilyName}},
	)
	s.forest = New(s.db, o)
	return s
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "tree", "check":
		return s.tree(t, d)
	case "uid":
		s.uid(t, d)
		return ""
	case "observe":
		if err := s.forest.Observe(t.Context(), parseSeries(t, d.Input)); err != nil {
			return "error: " + err.Error()
		}
		return s.news(t)
	case "forget":
		return s.forget(t, d)
	case "put":
		s.put(t, s.o.TreeTable, schema.FamilyData, parseRow(t, d.CmdArgs[0].Key), parseQualifier(t, d.CmdArgs[1].String()), strings.TrimSpace(d.Input))
		s.news(t)
		return ""
	case "find":
		return s.find(t, d)
	case "explain":
		return s.explain(t, d)
	case "restart":
		s.restart(t, d)
		s.forest = New(s.db, s.o)
		return s.load(t)
	case "load":
		return s.load(t)
	case "template":
		return s.template(t, d)
	case "inverse":
		return s.inverse(d)
	case "status":
		return s.status()
	}
	d.Fatalf(t, "unknown command")
	return ""
}

func (s *script) load(t *testing.T) string {
	t.Helper()
	loaded, err := s.forest.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%d branches, %d leaves, %d skipped", loaded.Branches, loaded.Leaves, loaded.Skipped)
	if loaded.CollidedLeaves > 0 {
		fmt.Fprintf(&out, ", %d collided leaves", loaded.CollidedLeaves)
	}
	out.WriteByte('\n')
	for _, b := range s.forest.Broken() {
		fmt.Fprintf(&out, "broken: %v\n", b.Err)
	}
	return out.String()
}

func (s *script) forget(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	if err := s.forest.Forget(t.Context(), parseSeries(t, d.Input)); err != nil {
		return "error: " + err.Error()
	}
	s.seen = map[string]string{}
	return s.news(t)
}

func (s *script) restart(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	s.o = DefaultOptions()
	s.o.Exclusive = d.HasArg("exclusive")
	s.o.Plain = plain
	if d.HasArg("default") {
		d.ScanArgs(t, "default", &s.o.DefaultTree)
	}
	if d.HasArg("shown") {
		s.o.Shown = func(name string) string { return strings.ReplaceAll(name, "_", " ") }
		s.o.Stored = func(shown storage.Series) storage.Series {
			shown.Metric = strings.ReplaceAll(shown.Metric, " ", "_")
			for i := range shown.Tags {
				shown.Tags[i].Value = strings.ReplaceAll(shown.Tags[i].Value, " ", "_")
			}
			return shown
		}
	}
}

// plain reports whether a series has only the tag that stands for no tags.
func plain(s storage.Series) bool {
	return len(s.Tags) == 1 && s.Tags[0] == storage.Tag{Key: "-_", Value: "1"}
}

func (s *script) template(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	template, err := tree.ParseTemplate(strings.TrimSpace(d.Input))
	if err != nil {
		return err.Error()
	}
	def := template.Definition(d.CmdArgs[0].Key)
	id, err := NewDefinitions(s.db, s.o.TreeTable).Declare(t.Context(), def)
	if err == nil {
		err = s.forest.LoadTrees(t.Context())
	}
	if err != nil {
		return err.Error()
	}
	s.news(t)
	var out strings.Builder
	fmt.Fprintf(&out, "tree %d\n", id)
	for _, r := range def.Rules {
		fmt.Fprintf(&out, "%d %s", r.Level, r.Type)
		for _, field := range [][2]string{{"field", r.Field}, {"separator", r.Separator}, {"format", r.DisplayFormat}} {
			if field[1] != "" {
				fmt.Fprintf(&out, " %s=%s", field[0], field[1])
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (s *script) inverse(d *datadriven.TestData) string {
	var out strings.Builder
	for line := range strings.Lines(d.Input) {
		if series, t, ok := s.forest.Inverse(strings.TrimSpace(line)); ok {
			fmt.Fprintf(&out, "%d %s\n", t.ID(), series)
		} else {
			out.WriteString("no tree\n")
		}
	}
	return out.String()
}

func (s *script) status() string {
	var out strings.Builder
	status := s.forest.Status()
	for _, t := range status.Trees {
		fmt.Fprintf(&out, "%d %s enabled=%v default=%v", t.ID, t.Name, t.Enabled, t.Default)
		if t.Err != nil {
			fmt.Fprintf(&out, " broken: %v", t.Err)
		} else if t.Inverse != nil {
			fmt.Fprintf(&out, " no inverse: %v", t.Inverse)
		}
		out.WriteByte('\n')
	}
	if status.DefaultErr != nil {
		fmt.Fprintf(&out, "plain series: %v\n", status.DefaultErr)
	}
	fmt.Fprintf(&out, "%d branches, %d leaves, %d collided leaves\n", status.Branches, status.Leaves, status.CollidedLeaves)
	return out.String()
}

func (s *script) tree(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var id uint16
	d.ScanArgs(t, "id", &id)
	def := tree.Definition{ID: id, Tree: schema.Tree{
		Name: fmt.Sprintf("t%d", id), StrictMatch: d.HasArg("strict"), Enabled: !d.HasArg("disabled"), StoreFailures: d.HasArg("failures"),
	}}
	for line := range strings.Lines(d.Input) {
		rule, err := schema.ParseTreeRule([]byte(line))
		if err != nil {
			return err.Error()
		}
		rule.TreeID = int(id)
		def.Rules = append(def.Rules, rule)
		if d.Cmd == "tree" {
			s.put(t, s.o.TreeTable, schema.FamilyData, schema.TreeRow(id), schema.RuleQualifier(rule.Level, rule.Order), strings.TrimSpace(line))
		}
	}
	if err := tree.Check(def); err != nil || d.Cmd == "check" {
		return fmt.Sprintf("%v\n", err)
	}
	s.put(t, s.o.TreeTable, schema.FamilyData, schema.TreeRow(id), schema.TreeQualifier(), string(def.AppendTo(nil)))
	if err := s.forest.LoadTrees(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.news(t)
	return ""
}

func (s *script) uid(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	for _, kind := range storage.NameKinds() {
		if kind.String() != d.CmdArgs[0].Key {
			continue
		}
		name, uid := d.CmdArgs[1].String(), parseRow(t, d.CmdArgs[2].Key)
		s.put(t, s.o.UIDTable, schema.FamilyID, []byte(name), schema.UIDQualifier(kind), string(uid))
		meta := schema.UIDMeta{}
		if d.Input != "" {
			var err error
			if meta, err = schema.ParseUIDMeta([]byte(`{"custom":` + d.Input + `}`)); err != nil {
				t.Fatal(err)
			}
		}
		meta.Type = strings.ToUpper(kind.String())
		s.put(t, s.o.UIDTable, schema.FamilyName, uid, schema.UIDMetaQualifier(kind), string(meta.AppendTo(nil)))
	}
}

func (s *script) put(t *testing.T, table, family string, row, qualifier []byte, value string) {
	t.Helper()
	m := kv.Mutation{Key: row, Puts: []kv.Put{{Qualifier: qualifier, Value: []byte(value)}}}
	if err := s.db.Apply(t.Context(), table, family, []kv.Mutation{m}); err != nil {
		t.Fatal(err)
	}
}

// news returns the cells that were not printed yet, and those that changed, which branches and
// leaves never do.
func (s *script) news(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for row, err := range s.db.Scan(t.Context(), kv.Scan{Table: s.o.TreeTable, Family: schema.FamilyData}) {
		if err != nil {
			t.Fatal(err)
		}
		begun := false
		for _, c := range row.Cells {
			key := string(row.Key) + string(c.Qualifier)
			if s.seen[key] == string(c.Value) {
				continue
			}
			s.seen[key] = string(c.Value)
			if !begun {
				fmt.Fprintln(&out, printRow(row.Key))
				begun = true
			}
			fmt.Fprintf(&out, "  %s = %s\n", printQualifier(c.Qualifier), c.Value)
		}
	}
	return out.String()
}

func (s *script) find(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	pattern := d.CmdArgs[0].String()
	nodes, err := s.forest.Find(t.Context(), pattern, FindOptions{})
	if err != nil {
		return err.Error()
	}
	again, err := NewRows(s.db, s.o.TreeTable, s.o.Shown).Find(t.Context(), pattern, FindOptions{Trees: s.forest.Index().Trees()})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(printNodes(nodes), printNodes(again)); diff != "" {
		t.Errorf("find %s (-index +rows):\n%s", pattern, diff)
	}
	return printNodes(nodes)
}

func printNodes(nodes []Node) string {
	var out strings.Builder
	for _, n := range nodes {
		out.WriteString(n.Path)
		if n.Branch {
			out.WriteString(".*")
		}
		for _, tsuid := range n.Series {
			fmt.Fprintf(&out, " %X", tsuid)
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func (s *script) explain(t *testing.T, d *datadriven.TestData) string {
	t.Helper()
	var out strings.Builder
	for _, series := range parseSeries(t, d.Input) {
		all, err := s.forest.Explain(t.Context(), series)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range all {
			out.WriteString(e.String())
		}
	}
	return out.String()
}

func parseSeries(t *testing.T, input string) []NewSeries {
	t.Helper()
	var all []NewSeries
	for line := range strings.Lines(input) {
		id, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		tsuid, err := hex.DecodeString(id)
		if err != nil {
			t.Fatal(err)
		}
		metric, tags, _ := strings.Cut(strings.TrimSuffix(text, "}"), "{")
		one := NewSeries{TSUID: tsuid, Series: storage.Series{Metric: metric}}
		for pair := range strings.SplitSeq(tags, ",") {
			key, value, _ := strings.Cut(pair, "=")
			one.Tags = append(one.Tags, storage.Tag{Key: key, Value: value})
		}
		all = append(all, one)
	}
	return all
}

// printRow prints a row key: the tree, then four bytes a name.
func printRow(key []byte) string {
	text := fmt.Sprintf("%X", key[:2])
	for rest := key[2:]; len(rest) > 0; rest = rest[min(4, len(rest)):] {
		text += fmt.Sprintf("-%X", rest[:min(4, len(rest))])
	}
	return text
}

func parseRow(t *testing.T, text string) []byte {
	t.Helper()
	key, err := hex.DecodeString(strings.ReplaceAll(text, "-", ""))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// printQualifier prints the part of a leaf's or failure's qualifier after the colon in hexadecimal.
func printQualifier(q []byte) string {
	if bytes.HasPrefix(q, []byte("tree_rule:")) {
		return string(q)
	}
	if at := bytes.IndexByte(q, ':'); at >= 0 {
		return fmt.Sprintf("%s%X", q[:at+1], q[at+1:])
	}
	return string(q)
}

func parseQualifier(t *testing.T, text string) []byte {
	t.Helper()
	name, rest, found := strings.Cut(text, ":")
	if !found || name == "tree_rule" {
		return []byte(text)
	}
	return append([]byte(name+":"), parseRow(t, rest)...)
}
