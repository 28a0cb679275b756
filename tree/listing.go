package tree

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Listing is a branch as a TSD shows it: what the cells of the table say about it and about what is
// directly below it. Collided leaves, and series that share a leaf, are not in it.
type Listing struct {
	Row []byte
	schema.Branch
	Branches []Listing // without what is below them
	Leaves   []schema.Leaf
}

// List returns the branch of a row, its branches and leaves by their names, ignoring case; false if
// there is no such branch. More than a number of branches and leaves is storage.ErrLimit.
func (e *Editor) List(ctx context.Context, row []byte, most int) (l Listing, ok bool, err error) {
	if err := e.ready(); err != nil || len(row) < len(schema.TreeRow(1)) || len(row) > kv.MaxKeyLength-2*schema.ChildWidth {
		return l, false, err
	}
	if l, ok, err = e.service.rows.branch(ctx, row); err != nil || !ok {
		return l, false, err
	}
	tooMany := fmt.Errorf("%w: branch %X has more than %d branches and leaves", storage.ErrLimit, row, most)
	if len(l.Leaves) > most {
		return l, false, tooMany
	}
	err = e.service.rows.eachBranch(ctx, row, func(found []listedBranch) error {
		for _, b := range found {
			l.Branches = append(l.Branches, Listing{Row: b.Row, Branch: b.Branch})
		}
		if len(l.Branches)+len(l.Leaves) > most {
			return tooMany
		}
		return nil
	})
	slices.SortFunc(l.Branches, func(a, b Listing) int { return compareNames(a.DisplayName, b.DisplayName) })
	slices.SortFunc(l.Leaves, func(a, b schema.Leaf) int { return compareNames(a.DisplayName, b.DisplayName) })
	return l, err == nil, err
}

// branch reads the row of a branch.
func (r *Rows) branch(ctx context.Context, row []byte) (l Listing, ok bool, err error) {
	if _, ok := schema.ParseBranchRow(row); !ok {
		return l, false, nil
	}
	rows, err := r.db.Get(ctx, r.table, schema.FamilyData, [][]byte{row})
	if err != nil {
		return l, false, fmt.Errorf("read branch %X: %w", row, err)
	}
	l.Row = row
	for _, c := range rows[0].Cells {
		if _, isLeaf := schema.ParseLeafQualifier(c.Qualifier); isLeaf {
			if leaf, err := schema.ParseLeaf(c.Value); err == nil {
				l.Leaves = append(l.Leaves, leaf)
			}
		} else if bytes.Equal(c.Qualifier, schema.BranchQualifier()) {
			l.Branch, err = schema.ParseBranch(c.Value)
			ok = err == nil
		}
	}
	return l, ok, nil
}

// compareNames orders names as Java's String.compareToIgnoreCase does, nearly, and then by their
// bytes.
func compareNames(a, b string) int {
	return cmp.Or(cmp.Compare(folded(a), folded(b)), cmp.Compare(a, b))
}

// folded returns a name in small letters, by way of capital ones.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }
