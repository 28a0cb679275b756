package tree

import (
	"fmt"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// hostRules returns the rules of the tree that OpenTSDB's own tests use
// (testdata/scripts/host_tree).
func hostRules() []schema.TreeRule {
	place := `^.*\.([a-zA-Z]{3,4})[0-9]{0,1}\..*\..*$`
	kind := `^([a-zA-Z]+)(\-|[0-9])*.*\..*$`
	return []schema.TreeRule{
		{Type: "TAGK", Field: "fqdn", Regex: place, Level: 0, Order: 0},
		{Type: "TAGK", Field: "host", Regex: place, Level: 0, Order: 1},
		{Type: "TAGK", Field: "fqdn", Regex: kind, Level: 1, Order: 0},
		{Type: "TAGK", Field: "host", Regex: kind, Level: 1, Order: 1},
		{Type: "TAGK", Field: "fqdn", Level: 2, Order: 0},
		{Type: "TAGK", Field: "host", Level: 2, Order: 1},
		{Type: "METRIC", Separator: `\.`, Level: 3, Order: 0},
		{Type: "TAGK", Field: "type", Level: 4, Order: 0},
	}
}

func edit(level, order int, change func(*schema.TreeRule)) func([]schema.TreeRule) []schema.TreeRule {
	return func(rules []schema.TreeRule) []schema.TreeRule {
		for i := range rules {
			if rules[i].Level == level && rules[i].Order == order {
				change(&rules[i])
			}
		}
		return rules
	}
}

func display(format string) func([]schema.TreeRule) []schema.TreeRule {
	return edit(1, 1, func(r *schema.TreeRule) { r.DisplayFormat = format })
}

// The variants of that tree with the rows that OpenTSDB's tests expect.
func TestVariantsOfHostTree(t *testing.T) {
	// web-01.lga.mysite.com; sys, cpu, 0
	const host, metric = "247F7202", "0001BECD 000181A8 00000030"
	for _, test := range []struct {
		name   string
		change func([]schema.TreeRule) []schema.TreeRule
		row    string // after the tree's id
	}{
		{"as it is", func(rules []schema.TreeRule) []schema.TreeRule { return rules }, "0001A246 0001CB54 " + host + " " + metric},
		{"no separator", edit(3, 0, func(r *schema.TreeRule) { r.Separator = "" }), "0001A246 0001CB54 " + host + " CBBF5B09"},
		{"a separator that takes all", edit(3, 0, func(r *schema.TreeRule) { r.Separator = "." }), "0001A246 0001CB54 " + host},
		{"no such group", edit(1, 1, func(r *schema.TreeRule) { r.RegexGroupIdx = 42 }), "0001A246 " + host + " " + metric},
		{"original value", display("OV: {ovalue}"), "0001A246 37E140D5 " + host + " " + metric},
		{"value", display("V: {value}"), "0001A246 96026FD8 " + host + " " + metric},
		{"tsuid", display("TSUID: {tsuid}"), "0001A246 E0A07086 " + host + " " + metric},
		{"tag name", display("TAGNAME: {tag_name}"), "0001A246 7BFCCB13 " + host + " " + metric},
		{"all tokens", display("{ovalue}:{value}:{tag_name}:{tsuid}"), "0001A246 E4592083 " + host + " " + metric},
		{"no token", display("OVERRIDE"), "0001A246 4E3D0BCC " + host + " " + metric},
		{"tag name of a metric", edit(3, 0, func(r *schema.TreeRule) {
			r.Separator, r.DisplayFormat = "", "Wrong: {tag_name}"
		}), "0001A246 0001CB54 " + host + " C3165573"},
		{"custom field", func(rules []schema.TreeRule) []schema.TreeRule {
			custom := schema.TreeRule{Type: "METRIC_CUSTOM", Field: "owner", CustomField: "owner"}
			return append([]schema.TreeRule{custom}, rules[2:]...)
		}, "AE805CA5 0001CB54 " + host + " " + metric},
	} {
		tree, err := Compile(Definition{ID: 1, Rules: test.change(hostRules())})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		route := tree.Route(Subject{
			TSUID: []byte{1, 2, 3, 4, 5},
			Series: storage.Series{Metric: "sys.cpu.0", Tags: []storage.Tag{
				{Key: "host", Value: "web-01.lga.mysite.com"}, {Key: "type", Value: "user"},
			}},
			Custom: func(storage.NameKind, string) map[string]string { return map[string]string{"owner": "John Doe"} },
		})
		row := ""
		for i, name := range route.Branches {
			row += fmt.Sprintf("%s%08X", " "[:min(i, 1)], schema.NameHash(name))
		}
		if row != test.row || route.Leaf != "user" {
			t.Errorf("%s: row %s leaf %s, want %s user\n%q", test.name, row, route.Leaf, test.row, route)
		}
	}
}

func BenchmarkRoute(b *testing.B) {
	tree, err := Compile(Definition{ID: 1, Rules: hostRules()})
	if err != nil {
		b.Fatal(err)
	}
	s := Subject{TSUID: []byte{1, 2, 3}, Series: storage.Series{Metric: "sys.cpu.0", Tags: []storage.Tag{
		{Key: "host", Value: "web-01.lga.mysite.com"}, {Key: "type", Value: "user"},
	}}}
	b.ReportAllocs()
	for b.Loop() {
		tree.Route(s)
	}
}
