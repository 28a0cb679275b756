package forest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// invertible makes a tree of random rules that have an inverse, and returns the tags that it needs.
func invertible(r *rand.Rand, id uint16) (d tree.Definition, tags []string) {
	d = tree.Definition{ID: id, Tree: schema.Tree{Name: fmt.Sprint("t", id), Enabled: true, StrictMatch: true}}
	metric := r.IntN(5)
	for level := range max(metric+1, 1+r.IntN(5)) {
		rule := schema.TreeRule{Level: level * (1 + r.IntN(2)), Order: r.IntN(3), Type: "METRIC"}
		if level > 0 {
			rule.Level = d.Rules[level-1].Level + 1 + r.IntN(2)
		}
		format := [...]string{"", "{value}", "x-{value}", "{value}_y", "({value})"}[r.IntN(5)]
		switch {
		case level == metric:
			rule.DisplayFormat = format
			rule.Separator = [...]string{`\.`, "[.]", "", `\.`}[r.IntN(4)]
		case r.IntN(3) == 0:
			rule.DisplayFormat = fmt.Sprint("text", level)
		default:
			rule.Type, rule.Field = "TAGK", fmt.Sprint("k", level)
			rule.DisplayFormat = strings.ReplaceAll(format, "x-", "{tag_name}=")
			tags = append(tags, rule.Field)
		}
		d.Rules = append(d.Rules, rule)
	}
	return d, tags
}

// A series turned into a path and back is the same series, and a path turned into a series and back
// is the same path, or the inverse refuses it.
func TestInverseBothWays(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	same, refused := 0, 0
	for range 150 {
		d, keys := invertible(r, 1)
		f := definedForest(t, d)
		of := f.Trees()[0]
		inverse, err := of.Inverse()
		if err != nil {
			t.Fatalf("%+v has no inverse: %v", d.Rules, err)
		}
		for range 20 {
			s, tame := randomOf(r, of.Tree, keys)
			route := of.Route(tree.Subject{Series: s})
			if route.Outcome != tree.Stored {
				continue
			}
			path := route.Path(asStored)
			back, ok := inverse.Series(path)
			if tame && (!ok || !cmp.Equal(s, back, cmpopts.EquateEmpty())) {
				t.Fatalf("%v has the path %s, which comes back as %v, %v\nrules %+v", s, path, back, ok, d.Rules)
			}
			checkPath(t, f, path)
			if ok {
				same++
			}
			mutilated := []string{path + ".x", "x." + path, strings.Replace(path, ".", "..", 1), strings.ToUpper(path), path[1:], path + "_y"}
			for _, path := range mutilated {
				if !checkPath(t, f, path) {
					refused++
				}
			}
		}
	}
	if same < 500 || refused < 500 {
		t.Errorf("%d series came back, %d paths were refused", same, refused)
	}
}

// checkPath reports whether a forest turns a path into a series. If so, its tree must give the
// series that path.
func checkPath(t *testing.T, f *Forest, path string) bool {
	t.Helper()
	s, by, ok := f.Inverse(path)
	if !ok {
		return false
	}
	if got := by.Route(tree.Subject{Series: s}); got.Outcome != tree.Stored || got.Path(asStored) != path {
		t.Fatalf("Inverse(%q) = %v, whose path is %q\nrules %+v", path, s, got.Path(asStored), by.Rules())
	}
	return true
}

// definedForest returns a forest of trees that are in no table.
func definedForest(t *testing.T, all ...tree.Definition) *Forest {
	t.Helper()
	f := New(kv.NewMem(), DefaultOptions())
	for _, d := range all {
		if err := tree.Check(d); err != nil {
			t.Fatal(err)
		}
		tree, err := compile(treeDefinition{Definition: d})
		if err != nil {
			t.Fatal(err)
		}
		f.trees = append(f.trees, tree)
	}
	f.inverse = inversesOf(f.trees)
	return f
}

// randomOf returns a series that a tree may accept. It is tame when no rule can mistake it: its
// values have no dots and all differ, and its metric has one element where the tree has place for
// one.
func randomOf(r *rand.Rand, tree *tree.Tree, keys []string) (s storage.Series, tame bool) {
	tame = r.IntN(2) == 0
	value := func(n int) string {
		if tame {
			return fmt.Sprint("v", n)
		}
		return [...]string{"a", "a.b", "x-", "text1", "_y", "é", "a a", "{value}", "k1=1"}[r.IntN(9)]
	}
	pieces := []string{"m"}
	for n := range r.IntN(4) {
		pieces = append(pieces, value(100+n))
	}
	if tame && !splits(tree) {
		pieces = pieces[:1]
	}
	s.Metric = strings.Join(pieces, ".")
	for n, key := range keys {
		s.Tags = append(s.Tags, storage.Tag{Key: key, Value: value(n)})
	}
	return s, tame
}

func splits(t *tree.Tree) bool {
	return slices.ContainsFunc(t.Rules(), func(r schema.TreeRule) bool { return r.Separator != "" && r.Regex == "" })
}

// Of the trees that may turn paths into series, the one with the smallest id takes a path first.
func TestInverseOrder(t *testing.T) {
	template := func(id uint16, text string) tree.Definition {
		parsed, err := tree.ParseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		d := parsed.Definition(text)
		d.ID = id
		return d
	}
	f := definedForest(t, template(1, "servers.{host}.{metric}"), template(2, "servers.{machine}.{metric...}"), template(3, "{metric...}.of.{app}"))
	for _, test := range []struct {
		path string
		tree uint16
	}{{"servers.a.b", 1}, {"servers.a.b.c", 2}, {"a.of.b", 3}, {"servers.of.b", 1}, {"a.b", 0}} {
		_, got, ok := f.Inverse(test.path)
		if ok != (test.tree != 0) || ok && got.ID() != test.tree {
			t.Errorf("Inverse(%s) by tree %v, %v, want %d", test.path, got, ok, test.tree)
		}
	}
	f.o.Inverse = func(t *tree.Tree) bool { return t.ID() > 1 }
	if _, got, ok := f.Inverse("servers.a.b"); !ok || got.ID() != 2 {
		t.Errorf("without tree 1, Inverse(servers.a.b) by tree %v, %v, want 2", got, ok)
	}
}

// Every template that parses has an inverse, and paths of its shape come back.
func FuzzParseTemplate(f *testing.F) {
	for _, seed := range []string{
		"servers.{host}.{metric...}", "{metric}.{a}", "rack-{rack}!.{metric...}.x", "a.a.{metric}", "{metric...}.a.a", "ROOT.{metric}", "{a}{b}.{metric}",
		"{metric...}", "é.{metric}", "{", "}.{metric}", "{a.b}.{metric}", "_-.{metric}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		template, err := tree.ParseTemplate(text)
		if err != nil {
			return
		}
		d := template.Definition("name")
		if d.Description != text {
			t.Errorf("%q prints as %q", text, d.Description)
		}
		d.ID = 1
		forest := definedForest(t, d)
		var elements []string
		for n, r := range d.Rules {
			element := fmt.Sprintf("v~%d", n) // ~ is in no text
			more := "~more"
			if r.DisplayFormat != "" {
				element, more = strings.ReplaceAll(r.DisplayFormat, "{value}", element), strings.ReplaceAll(r.DisplayFormat, "{value}", more)
			}
			elements = append(elements, element)
			if r.Separator != "" {
				elements = append(elements, more)
			}
		}
		path := strings.Join(elements, ".")
		if _, _, ok := forest.Inverse(path); !ok {
			t.Errorf("template %q does not take its own path %q", text, path)
		}
		checkPath(t, forest, path)
	})
}
