package forest

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// clearedColumn is a column in the row of a definition, which no TSD reads. Its value changes when
// the branches and leaves of the tree are deleted: the existing series are then appended anew, and
// other processes read the tree anew.
const clearedColumn = "tsdbridge_cleared"

// noteCleared changes the column.
func (f *planted) noteCleared(ctx context.Context, id uint16) error {
	value := fmt.Appendf(nil, "%016x", rand.Uint64())
	m := kv.Mutation{Key: schema.TreeRow(id), Puts: []kv.Put{{Qualifier: []byte(clearedColumn), Value: value}}}
	if err := f.db.Apply(ctx, f.o.TreeTable, schema.FamilyData, []kv.Mutation{m}); err != nil {
		return fmt.Errorf("clear tree %d: %w", id, err)
	}
	return f.LoadTrees(ctx)
}

// clearedOf returns the values of the column, by trees.
func clearedOf(trees []*Tree, broken []Broken) map[uint16]string {
	all := make(map[uint16]string, len(trees)+len(broken))
	for _, t := range trees {
		all[t.ID()] = t.cleared
	}
	for _, b := range broken {
		all[b.ID] = b.cleared
	}
	return all
}

// outdated reports whether another process may have deleted branches of a tree, or a whole tree,
// since the index was read.
func (f *indexed) outdated() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.o.Exclusive {
		return false
	}
	now := clearedOf(f.trees, f.broken)
	for id, was := range f.cleared {
		if is, ok := now[id]; !ok || is != was {
			return true
		}
	}
	f.cleared = now // with the trees that are new
	return false
}

// dropOutdated empties an index that is not loaded from the table if it is outdated.
func (f *indexed) dropOutdated() {
	if !f.outdated() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index, f.complete, f.cleared = NewIndex(f.o.Shown), false, clearedOf(f.trees, f.broken)
	f.indexes++
}

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
