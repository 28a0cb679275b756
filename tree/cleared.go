package tree

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// clearedColumn is a column in the row of a definition, which no TSD reads. Its value changes when
// the branches and leaves of the tree are deleted: the existing series are then appended anew, and
// other processes read the tree anew.
const clearedColumn = "tsdbridge_cleared"

// noteCleared changes the column.
func (f *Forest) noteCleared(ctx context.Context, id uint16) error {
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
		all[t.id] = t.cleared
	}
	for _, b := range broken {
		all[b.ID] = b.cleared
	}
	return all
}

// outdated reports whether another process may have deleted branches of a tree, or a whole tree,
// since the index was read.
func (f *Forest) outdated() bool {
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
func (f *Forest) dropOutdated() {
	if !f.outdated() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.index, f.complete, f.cleared = NewIndex(f.o.Shown), false, clearedOf(f.trees, f.broken)
	f.indexes++
}
