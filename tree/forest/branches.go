package forest

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
)

var (
	_ storage.Brancher = (*Forest)(nil)
	_ storage.Brancher = (*Service)(nil)
)

// Branches returns how many branches are in memory, and how many Observe has made since the start. Those
// that a sync makes for series that exist do not count.
func (f *exceptions) Branches() (kept int, made int64) { return f.Index().Branches(), f.made.Load() }

// MostBranches returns a number of branches that Observe never exceeds for some series, and how many
// of them are beyond some usual ones of each.
func (f *planted) MostBranches(all []storage.Series, usual int) (most, beyond int) {
	trees := f.enabled()
	for i := range all {
		n := f.mostBranches(trees, &all[i])
		most, beyond = most+n, beyond+max(0, n-usual)
	}
	return most, beyond
}

func (f *planted) mostBranches(trees []*Tree, s *storage.Series) (most int) {
	if f.isPlain(*s) {
		return min(strings.Count(s.Metric, "."), tree.MaxBranches)
	}
	for _, t := range trees {
		most += min(t.MostNames(s), tree.MaxBranches)
	}
	return most
}

// NewBranches returns for each of some series how many branches Observe would make that are not in
// the index, and that no series before it in the list makes; 0 while the index is not loaded.
func (f *indexed) NewBranches(all []storage.Series) []int {
	counts := make([]int, len(all))
	f.mu.RLock()
	index, known := f.index, f.complete || f.loaded
	f.mu.RUnlock()
	if !known {
		return counts
	}
	c := branchCounter{index: index, made: map[branchName]uint32{}}
	plain, trees := f.knownDefault().tree, f.enabled()
	index.mu.RLock()
	defer index.mu.RUnlock()
	for i := range all {
		if f.isPlain(all[i]) {
			id := uint16(0) // The tree is made with its first series.
			if plain != nil {
				id = plain.ID()
			}
			counts[i] = c.count(id, tree.PlainRoute(all[i].Metric).Branches)
			continue
		}
		for _, t := range trees {
			counts[i] += c.count(t.ID(), t.Route(tree.Subject{Series: all[i], Rest: f.o.Rest, Custom: noCustom}).Branches)
		}
	}
	return counts
}

// noCustom stands for the custom fields of names, which are not read to count.
func noCustom(storage.NameKind, string) map[string]string { return nil }

// A branchCounter counts branches that an index does not have, each once.
type branchCounter struct {
	index *Index
	made  map[branchName]uint32 // numbers of such branches, from the last one of the index downwards
}

// A branchName is a branch below another one: one of the index, or one that was counted.
type branchName struct {
	parent uint32
	made   bool // the parent was counted
	tree   uint16
	name   string
}

// count returns how many branches of a path are new. The caller holds the index' mu.
func (c *branchCounter) count(tree uint16, names []string) (fresh int) {
	branch, known := c.index.locate(tree, names)
	at := branchName{parent: branch, tree: tree}
	if known == 0 {
		at.parent = noBranch
	}
	for depth := max(known-1, 0); depth < len(names); depth++ {
		at.name = names[depth]
		number, ok := c.made[at]
		if !ok {
			number = uint32(len(c.made))
			c.made[at] = number
			fresh++
		}
		at = branchName{parent: number, made: true, tree: tree}
	}
	return fresh
}

// Branches returns how many branches are in memory, and how many Observe has made since the start.
func (s *Service) Branches() (kept int, made int64) { return s.forest.Branches() }

// MostBranches implements storage.Brancher.
func (s *Service) MostBranches(all []storage.Series, usual int) (most, beyond int) {
	return s.forest.MostBranches(all, usual)
}

// NewBranches implements storage.Brancher.
func (s *Service) NewBranches(all []storage.Series) []int { return s.forest.NewBranches(all) }
