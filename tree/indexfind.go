package tree

import (
	"context"
	"slices"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/tree/glob"
)

// Find lists what a pattern matches in some trees, in the order of the paths' bytes. Its cost
// depends on the branches that the pattern visits, not on the size of the trees. Rows that are
// added while it runs may or may not be seen.
func (x *Index) Find(ctx context.Context, pattern string, o FindOptions) ([]Node, error) {
	g, err := glob.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return find(ctx, x, x.roots(o.Trees), g, o)
}

// Trees returns the ids of the trees that have a root, ascending.
func (x *Index) Trees() []uint16 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.trees)
}

func (x *Index) roots(trees []uint16) []root[uint32] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	var roots []root[uint32]
	for _, id := range trees {
		if branch, ok := x.branches[cellID{noBranch, uint32(id)}]; ok {
			roots = append(roots, root[uint32]{id, branch})
		}
	}
	return roots
}

// firstPage is how many entries of a branch are read at first, and listPage is how many are read at
// most under one hold of the lock: a search that wants few leaves reads few.
const (
	firstPage = 16
	listPage  = 256
)

// list implements source.
func (x *Index) list(ctx context.Context, branch uint32, ranges []glob.Range, visit func(child[uint32]) error) error {
	var page []child[uint32]
	turn := query.TurnOf(ctx)
	for _, r := range ranges {
		from := child[uint32]{name: []byte(r.First), tsuid: []byte{}}
		for size := firstPage; ; size = listPage {
			if err := turn.Yield(ctx); err != nil {
				return err
			}
			if page = x.page(page[:0], size, branch, from, r.End); len(page) == 0 {
				break
			}
			// visit may list other branches, with a page of its own.
			for _, c := range page {
				if err := visit(c); err != nil {
					return err
				}
			}
			if len(page) < size {
				break
			}
			from = page[len(page)-1]
			from.branch++
		}
	}
	return nil
}

// page reads so many entries of a branch from one on, up to a name.
func (x *Index) page(page []child[uint32], size int, branch uint32, from child[uint32], end string) []child[uint32] {
	x.mu.RLock()
	defer x.mu.RUnlock()
	x.byName.ascend(x.before(branch, from.name, from.tsuid == nil, from.branch), func(it item) bool {
		if it.parent != branch {
			return false
		}
		e := x.entries[it.entry]
		c := child[uint32]{name: x.at(e.name), branch: it.entry}
		if end != "" && string(c.name) >= end {
			return false
		}
		if e.tsuid != 0 {
			c.tsuid = x.at(e.tsuid)
		}
		if len(x.hidden) == 0 || !x.hidden[it.entry] {
			page = append(page, c)
		}
		return len(page) < size
	})
	return page
}

// empty implements source. A branch whose leaves are gone counts as nothing: on tables that other
// processes write to it cannot be deleted safely.
func (x *Index) empty(_ context.Context, branch uint32) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return !x.living(branch)
}
