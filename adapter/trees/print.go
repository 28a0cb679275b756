package trees

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/translate"
	"github.com/tsdbridge/tsdbridge/tree"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// A Printer prints trees for people.
type Printer struct {
	Explainer
	DB    kv.KV
	Table string // of the trees
}

// Print prints trees with their rules and counts: the one with a name or an id, or all of them for
// "". With a path, a pattern of Graphite, it prints the branches and leaves up to depth elements
// below it instead, or all for depth 0; "." is the root.
func (p Printer) Print(ctx context.Context, nameOrID, path string, depth int, out io.Writer) error {
	w := printing{p, out}
	found := 0
	for _, one := range p.Forest.Trees() {
		if nameOrID != "" && !isTree(nameOrID, one.ID(), one.Definition().Name) {
			continue
		}
		found++
		var err error
		if path == "" {
			err = w.tree(ctx, one.Tree)
		} else {
			err = w.below(ctx, one.Tree, path, depth)
		}
		if err != nil {
			return err
		}
	}
	for _, b := range p.Forest.Broken() {
		if nameOrID == "" || isTree(nameOrID, b.ID, b.Name) {
			found++
			fmt.Fprintf(out, "tree %d (%s) cannot be used: %v\n", b.ID, b.Name, b.Err)
		}
	}
	if found == 0 && nameOrID != "" {
		return fmt.Errorf("%w: %s", ErrNoTree, p.treeless([]string{nameOrID}))
	}
	return nil
}

// printing is one Print.
type printing struct {
	Printer
	out io.Writer
}

func (w printing) tree(ctx context.Context, t *tree.Tree) error {
	d := t.Definition()
	fmt.Fprintf(w.out, "tree %d (%s)", t.ID(), d.Name)
	for _, said := range []struct {
		is   bool
		text string
	}{{!d.Enabled, "not enabled"}, {d.StrictMatch, "strict match"}, {d.StoreFailures, "stores failures"}, {t.Display().Sum, "several series of a path are added"}} {
		if said.is {
			fmt.Fprint(w.out, ", ", said.text)
		}
	}
	fmt.Fprintln(w.out)
	if d.Description != "" {
		fmt.Fprintln(w.out, " ", d.Description)
	}
	for _, r := range t.Rules() {
		fmt.Fprintln(w.out, "  rule", RuleText(r))
	}
	n, err := forest.Count(ctx, w.DB, w.Table, t.ID())
	if err != nil {
		return err
	}
	fmt.Fprintf(w.out, "  %d branches, %d leaves, %d collisions and %d series without a match on record\n", n.Branches, n.Leaves, n.Collisions, n.NotMatched)
	if n.Shared > 0 {
		fmt.Fprintf(w.out, "  %d more series share the paths of leaves: tags that no rule shows; {tags...} shows them\n", n.Shared)
	}
	return nil
}

// RuleText formats a rule on one line.
func RuleText(r schema.TreeRule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d:%d %s", r.Level, r.Order, r.Type)
	for _, f := range []struct{ name, value string }{
		{"field", r.Field}, {"customField", r.CustomField}, {"regex", r.Regex}, {"separator", r.Separator}, {"displayFormat", r.DisplayFormat},
	} {
		if f.value != "" {
			fmt.Fprintf(&b, " %s=%q", f.name, f.value)
		}
	}
	if r.RegexGroupIdx != 0 {
		fmt.Fprintf(&b, " regexGroup=%d", r.RegexGroupIdx)
	}
	return b.String()
}

// below prints a line for each branch and leaf: its path, and for a leaf the TSUID and the series.
// It reads some levels from the rows that they need. All levels, depth 0, are found faster in a
// full index.
func (w printing) below(ctx context.Context, t *tree.Tree, path string, depth int) error {
	path = strings.Trim(path, ".")
	only := forest.FindOptions{Trees: []uint16{t.ID()}}
	if depth == 0 {
		if !w.Forest.Loaded() {
			if _, err := w.Forest.Load(ctx); err != nil {
				return err
			}
		}
		nodes, err := w.Forest.Find(ctx, strings.TrimPrefix(path+".**", "."), only)
		return errors.Join(err, w.nodes(ctx, nodes))
	}
	rows := forest.NewRows(w.DB, w.Table, translate.Shown)
	for range depth {
		path = strings.TrimPrefix(path+".*", ".")
		nodes, err := rows.Find(ctx, path, only)
		if err = errors.Join(err, w.nodes(ctx, nodes)); err != nil || len(nodes) == 0 {
			return err
		}
	}
	return nil
}

func (w printing) nodes(ctx context.Context, nodes []forest.Node) error {
	for _, n := range nodes {
		if err := w.node(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

func (w printing) node(ctx context.Context, n forest.Node) error {
	if n.Branch {
		fmt.Fprintln(w.out, n.Path+".*")
	}
	for _, tsuid := range n.Series {
		named, err := w.Store.NameSeries(ctx, [][]byte{tsuid})
		if err != nil {
			return err
		}
		series := "a UID of it has no name"
		if len(named) == 1 {
			series = named[0].String()
		}
		fmt.Fprintln(w.out, n.Path, schema.FormatTSUID(tsuid), series)
	}
	return nil
}
