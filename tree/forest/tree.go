package forest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// A treeDefinition is the row of a tree.
type treeDefinition struct {
	tree.Definition
	mark    mark   // how far existing series were appended to it
	cleared string // when its branches were deleted last, see clear.go
}

// A Tree is a tree of a forest. It does not change and is safe for concurrent use.
type Tree struct {
	*tree.Tree
	plain bool // it is the default tree

	mark    mark
	cleared string
}

// compile compiles a definition, see Compile.
func compile(d treeDefinition) (*Tree, error) {
	t, err := tree.Compile(d.Definition)
	if err != nil {
		return nil, err
	}
	return &Tree{Tree: t, mark: d.mark, cleared: d.cleared}, nil
}

// markColumn is a column in the row of a definition, which no TSD reads. It records how far the
// existing series were appended to the tree.
const markColumn = "tsdbridge_synced"

// A mark records that the series up to a position were appended to a tree, and by which rules.
type mark struct {
	Rules    string `json:"rules"`              // what the tree was, see Tree.rulesSum
	Done     bool   `json:"done,omitempty"`     // all series
	Position string `json:"position,omitempty"` // TSUID in hexadecimal
	Owner    string `json:"owner,omitempty"`    // the process that is at it
	Time     int64  `json:"time,omitempty"`     // when it said so, seconds
}

// ownerTimeout is how long another process that is appending series may be silent.
const ownerTimeout = 2 * time.Minute

// parseMark reads a mark; one that cannot be read counts as none.
func parseMark(cell []byte) (m mark) {
	if json.Unmarshal(cell, &m) != nil {
		return mark{}
	}
	return m
}

// markForm is changed when the existing series must be appended anew under unchanged rules.
const markForm = 1

// rulesSum differs between trees that give series other paths.
func (t *Tree) rulesSum() string {
	h := fnv.New64a()
	fmt.Fprint(h, markForm, t.Definition().StrictMatch, t.cleared)
	for _, r := range t.Rules() {
		fmt.Fprintf(h, "|%q %q %q %q %d %d %q %d %q", r.Type, r.Field, r.Regex, r.Separator, r.Level, r.Order, r.CustomField, r.RegexGroupIdx, r.DisplayFormat)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// takesSeries reports whether series are appended to the tree.
func (t *Tree) takesSeries() bool { return t.plain || t.IsActive() }

// synced reports whether the existing series were appended to the tree as it is.
func (t *Tree) synced() bool {
	return !t.takesSeries() || t.mark.Done && t.mark.Rules == t.rulesSum()
}

// setMarks writes the marks of trees. A tree that was deleted meanwhile gets none: a TSD could not
// use its id again.
func (f *planted) setMarks(ctx context.Context, trees []*Tree, m mark) error {
	rows := make([]kv.Mutation, 0, len(trees))
	for _, t := range trees {
		if _, err := NewDefinitions(f.db, f.o.TreeTable).Get(ctx, t.ID()); errors.Is(err, ErrNoTree) {
			continue
		} else if err != nil {
			return err
		}
		m.Rules = t.rulesSum()
		value, err := json.Marshal(m)
		if err != nil {
			return err
		}
		rows = append(rows, kv.Mutation{Key: schema.TreeRow(t.ID()), Puts: []kv.Put{{Qualifier: []byte(markColumn), Value: value}}})
	}
	if err := f.db.Apply(ctx, f.o.TreeTable, schema.FamilyData, rows); err != nil {
		return fmt.Errorf("write how far series are on their trees to %s: %w", f.o.TreeTable, err)
	}
	return nil
}
