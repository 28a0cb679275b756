package tree

import (
	"bytes"
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A TSD that deletes a tree leaves the columns that it does not know. As long as one is in the row of
// the definition, a TSD takes the row for a tree: it cannot make a new one of that id, and tells
// nobody.

// isNote reports whether a column of the row of a definition is ours.
func isNote(qualifier []byte) bool {
	return slices.Contains([]string{markColumn, severalColumn, clearedColumn}, string(qualifier))
}

// isOurs reports whether a column is of a kind that no TSD deletes.
func isOurs(qualifier []byte) bool {
	_, also := parseAlso(qualifier)
	return also || isNote(qualifier) || bytes.HasPrefix(qualifier, []byte(collidedPrefix))
}

// sweep deletes the columns of ours that are left of trees that were deleted.
func (f *Forest) sweep(ctx context.Context) error {
	f.mu.RLock()
	orphans := f.orphans
	f.mu.RUnlock()
	for _, id := range orphans {
		c := clearing{forest: f, id: id, orphan: true}
		if err := c.clearLeaves(ctx); err != nil {
			return err
		}
	}
	return nil
}

// defined reports whether the tree has a definition again.
func (c *clearing) defined(ctx context.Context) (bool, error) {
	s := kv.Scan{
		Table: c.forest.o.TreeTable, Family: schema.FamilyData, Start: schema.TreeRow(c.id), Stop: append(schema.TreeRow(c.id), 0),
		Qualifier: schema.TreeQualifier(), Limit: 1,
	}
	for _, err := range c.forest.db.Scan(ctx, s) {
		return err == nil, err
	}
	return false, nil
}
