package tree

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An Explanation is the way of a series through a tree.
type Explanation struct {
	Tree  *Tree
	Route Route
	// Messages are those of a TSD's /api/tree/test, word for word.
	Messages []string

	shown func(stored string) string
}

// Explain runs a series through the rules of one tree, until done is closed: then it is not whole. Its
// path is of names as shown returns them.
func (t *Tree) Explain(s Subject, shown func(stored string) string, done <-chan struct{}) Explanation {
	said := &transcript{done: done}
	return Explanation{Tree: t, Route: t.route(s, said), Messages: said.lines, shown: shown}
}

// Path returns the dotted path that finds the series, "" when the tree has no place for it.
func (e Explanation) Path() string {
	if e.Route.Outcome != Stored && e.Route.Outcome != OnRoot {
		return ""
	}
	return e.Route.Path(e.shown)
}

// String tells it rule by rule, a line each, and ends with where it leads.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tree %d (%s)", e.Tree.id, e.Tree.def.Name)
	if !e.Tree.def.Enabled {
		b.WriteString(", not enabled")
	}
	for _, m := range e.Messages {
		fmt.Fprintf(&b, "\n  %s", m)
	}
	fmt.Fprintf(&b, "\n%s", e.Route.Outcome)
	switch {
	case e.Route.Outcome == Failed:
		fmt.Fprintf(&b, ": %s", e.Route.Unmatched)
	case e.Route.Unmatched != "":
		fmt.Fprintf(&b, "; not matched: %s", e.Route.Unmatched)
	}
	if path := e.Path(); path != "" {
		row := schema.BranchRow(e.Tree.id, e.Route.Branches...)
		fmt.Fprintf(&b, "\npath %s\nrow %X column leaf:%08X\n", path, row, schema.NameHash(e.Route.Leaf))
		return b.String()
	}
	b.WriteByte('\n')
	return b.String()
}
