package e2e_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// treeSpec is a tree in the form of OpenTSDB's API.
type treeSpec struct {
	ID            int    `json:"treeId,omitempty"`
	Name          string `json:"name"`
	Description   string `json:"description"`
	Enabled       bool   `json:"enabled"`
	StrictMatch   bool   `json:"strictMatch"`
	StoreFailures bool   `json:"storeFailures"`
	rules         []ruleSpec
}

// ruleSpec is a rule in the form of OpenTSDB's API.
type ruleSpec struct {
	TreeID        int    `json:"treeId"`
	Level         int    `json:"level"`
	Order         int    `json:"order"`
	Type          string `json:"type"`
	Field         string `json:"field,omitempty"`
	CustomField   string `json:"customField,omitempty"`
	Regex         string `json:"regex,omitempty"`
	RegexGroupIdx int    `json:"regexGroupIdx,omitempty"`
	Separator     string `json:"separator,omitempty"`
	DisplayFormat string `json:"displayFormat,omitempty"`
}

// yaml returns the tree as the configuration file declares it. JSON is YAML too.
func (s treeSpec) yaml() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  - {name: %q, description: %q, enabled: %v, strict: %v, storeFailures: %v, rules: [\n",
		s.Name, s.Description, s.Enabled, s.StrictMatch, s.StoreFailures)
	for _, r := range s.rules {
		fmt.Fprintf(&b, "      {level: %d, order: %d, type: %s, field: %q, customField: %q, regex: %q, regexGroup: %d, separator: %q, displayFormat: %q},\n",
			r.Level, r.Order, r.Type, r.Field, r.CustomField, r.Regex, r.RegexGroupIdx, r.Separator, r.DisplayFormat)
	}
	b.WriteString("    ]}\n")
	return b.String()
}

// treesFile writes a configuration file that declares trees and returns its path.
func treesFile(t testing.TB, specs []treeSpec) string {
	t.Helper()
	text := "trees:\n"
	for _, s := range specs {
		text += s.yaml()
	}
	path := filepath.Join(t.TempDir(), "trees.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// DefineTree makes a tree by the TSD's API, enabled only when its rules are there.
func (d tsd) DefineTree(t testing.TB, s treeSpec) (id int) {
	t.Helper()
	enabled := s.Enabled
	s.Enabled = false
	var made treeSpec
	d.sendJSON(t, "/api/tree", s, &made)
	for _, r := range s.rules {
		r.TreeID = made.ID
		d.sendJSON(t, "/api/tree/rule", r, nil)
	}
	if enabled {
		s.ID, s.Enabled = made.ID, true
		d.sendJSON(t, "/api/tree", s, nil)
	}
	return made.ID
}

// sendJSON posts a document; the answer goes into data, if any.
func (d tsd) sendJSON(t testing.TB, path string, document, data any) {
	t.Helper()
	body, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	r := d.Post(t, path, map[string]string{"Content-Type": "application/json"}, body).ok(t)
	if data == nil {
		return
	}
	if err := json.Unmarshal(r.body, data); err != nil {
		t.Fatalf("%s: %v in %v", path, err, r)
	}
}

// AssignUID gives a name its UID.
func (d tsd) AssignUID(t testing.TB, kind, name string) string {
	t.Helper()
	var answer map[string]map[string]string
	d.sendJSON(t, "/api/uid/assign", map[string][]string{kind: {name}}, &answer)
	return answer[kind][name]
}

// Customise sets custom fields of a name's UIDMeta.
func (d tsd) Customise(t testing.TB, kind, uid string, custom map[string]string) {
	t.Helper()
	d.sendJSON(t, "/api/uid/uidmeta", map[string]any{"type": kind, "uid": uid, "custom": custom}, nil)
}

// tsdBranch is an answer of /api/tree/branch.
type tsdBranch struct {
	BranchID string
	Depth    int
	Path     map[string]string
	Branches []tsdBranch
	Leaves   []struct {
		DisplayName, Metric, TSUID string
		Tags                       map[string]string
	}
}

// Browse walks a tree of the TSD from the root and gives a line for each branch, "path.*", and each
// leaf, "path TSUID metric{tags}".
func (d tsd) Browse(t testing.TB, tree int) []string {
	t.Helper()
	var lines []string
	var walk func(query, path string)
	walk = func(query, path string) {
		var b tsdBranch
		d.getJSON(t, "/api/tree/branch?"+query, &b)
		for _, l := range b.Leaves {
			var tags []string
			for _, key := range slices.Sorted(maps.Keys(l.Tags)) {
				tags = append(tags, key+"="+l.Tags[key])
			}
			lines = append(lines, fmt.Sprintf("%s %s %s{%s}", strings.TrimPrefix(path+"."+l.DisplayName, "."), l.TSUID, l.Metric, strings.Join(tags, ",")))
		}
		for _, child := range b.Branches {
			name := child.Path[fmt.Sprint(child.Depth)]
			below := strings.TrimPrefix(path+"."+name, ".")
			lines = append(lines, below+".*")
			walk("branch="+child.BranchID, below)
		}
	}
	walk(fmt.Sprintf("treeid=%d", tree), "")
	slices.Sort(lines)
	return lines
}

// Failures lists collisions or notmatched: TSUID -> why.
func (d tsd) Failures(t testing.TB, what string, tree int) map[string]string {
	t.Helper()
	failed := map[string]string{}
	d.getJSON(t, fmt.Sprintf("/api/tree/%s?treeid=%d", what, tree), &failed)
	return failed
}

// TestTree returns the TSD's messages about the routes of series through a tree: TSUID -> messages.
func (d tsd) TestTree(t testing.TB, tree int, tsuids []string) map[string][]string {
	t.Helper()
	var answer map[string]struct{ Messages []string }
	d.getJSON(t, fmt.Sprintf("/api/tree/test?treeid=%d&tsuids=%s", tree, url.QueryEscape(strings.Join(tsuids, ","))), &answer)
	said := map[string][]string{}
	for tsuid, a := range answer {
		said[tsuid] = a.Messages
	}
	return said
}

// run runs a command of tsdbridge on the tables and returns what it printed on its standard output.
func (s tables) run(t testing.TB, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), adapterBinary(t), append(command, s.args()...)...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("tsdbridge %s: %v\n%s%s", strings.Join(command, " "), err, out, said.String())
	}
	return string(out)
}

// showTree returns what "tree show" prints of a whole tree, in lines like those of Browse.
func (s tables) showTree(t testing.TB, tree int) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(s.run(t, "tree", "show", "--depth=0", fmt.Sprint(tree), ".")), "\n")
	slices.Sort(lines)
	return lines
}
