package api

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree/forest"
)

// hideChunk is how many series are asked at once for their newest point.
const hideChunk = 1024

// shown returns the nodes that a pattern matches, without leaves whose newest point is older than
// --graphite.hide-after, and without branches that have no other leaves.
func (a *finder) shown(ctx context.Context, query string, options forest.FindOptions) ([]forest.Node, error) {
	nodes, err := source.FindPaths(ctx, a.trees, query, options)
	if err != nil || a.hideAfter <= 0 {
		return nodes, err
	}
	h := a.newHider()
	if err := h.leaves(ctx, nodes); err != nil {
		return nil, err
	}
	if err := h.look(ctx, nodes); err != nil {
		return nil, err
	}
	for i := range nodes {
		nodes[i].Branch = nodes[i].Branch && h.branches[nodes[i].Path]
	}
	return slices.DeleteFunc(nodes, func(n forest.Node) bool { return !n.Branch && len(n.Series) == 0 }), nil
}

// latelyKept is how many series are remembered that have sent lately, over requests: a series that sent at some
// time is shown until --graphite.hide-after later, whatever else it sends.
const latelyKept = 1 << 17

// sent is what is known of series that have sent lately, over requests and reloads.
type sent struct {
	lately   *cache.LRU[string, int64] // by TSUID: a time of a point, in epoch milliseconds
	branches *cache.LRU[string, lateBranch]
}

func newSent() *sent {
	return &sent{
		lately:   cache.NewLRU[string, int64](latelyKept),
		branches: cache.NewWeightedLRU[string, lateBranch](branchesKept, func(path string, _ lateBranch) int { return len(path) + branchBytes }),
	}
}

// A lateBranch is a branch below which a leaf was found that had sent lately.
type lateBranch struct {
	newest  int64          // a time of a point of the leaf, in epoch milliseconds
	edition forest.Edition // of the trees, before the leaf was found
}

// branchesKept is how many bytes the branches that are remembered take, and branchBytes is how many
// one takes besides its path.
const (
	branchesKept = 4 << 20
	branchBytes  = 100
)

// A hider finds out which branches have leaves that are shown.
type hider struct {
	*finder

	since    int64           // the newest point of a leaf that is shown is not before it, in epoch milliseconds
	branches map[string]bool // by their paths: whether they have one
	edition  forest.Edition  // of the trees when the search began
	editions bool            // it is known: branches can be remembered
}

func (a *finder) newHider() *hider {
	h := &hider{finder: a, since: a.now().Add(-a.hideAfter).UnixMilli(), branches: map[string]bool{}}
	h.edition, h.editions = a.trees.Edition()
	return h
}

// known reports whether a branch is remembered, and its leaf is still there and shown.
func (h *hider) known(path string) bool {
	late, ok := h.finder.branches.Get(path)
	return ok && h.editions && late.edition == h.edition && late.newest >= h.since
}

// note remembers that a leaf below a branch is shown.
func (h *hider) note(path, tsuid string) {
	h.branches[path] = true
	if newest, ok := h.lately.Get(tsuid); ok && h.editions {
		h.finder.branches.Put(path, lateBranch{newest, h.edition})
	}
}

// leaves takes the series that are hidden out of nodes.
func (h *hider) leaves(ctx context.Context, nodes []forest.Node) error {
	var tsuids [][]byte
	for _, n := range nodes {
		tsuids = append(tsuids, n.Series...)
	}
	live, err := h.live(ctx, tsuids)
	if err != nil {
		return err
	}
	for i := range nodes {
		n := &nodes[i]
		was := n.Series
		n.Series, n.Trees = nil, slices.Clone(n.Trees)
		kept := n.Trees[:0]
		for j, tsuid := range was {
			if live[string(tsuid)] {
				n.Series, kept = append(n.Series, tsuid), append(kept, n.Trees[j])
			}
		}
		n.Trees = kept
	}
	return nil
}

// firstLeaves is how many leaves of a branch are asked at first, and leavesGrow is how many times as many are if
// all of them are hidden.
const (
	firstLeaves = 4
	leavesGrow  = 8
)

// look goes through the leaves below branches until each has one that is shown, or has no more.
func (h *hider) look(ctx context.Context, nodes []forest.Node) (err error) {
	var open []string
	for _, n := range nodes {
		switch {
		case !n.Branch:
		case strings.Contains("."+n.Path+".", ".."):
			h.branches[n.Path] = true // no pattern names it
		case h.known(n.Path):
			h.branches[n.Path] = true
		default:
			open = append(open, n.Path)
		}
	}
	for first := firstLeaves; err == nil && len(open) > 0; first *= leavesGrow {
		open, err = h.lookAt(ctx, open, first)
	}
	return err
}

// lookAt asks the first leaves below branches, and returns the branches that have more and of which none is shown.
func (h *hider) lookAt(ctx context.Context, open []string, first int) (more []string, err error) {
	for some := range slices.Chunk(open, max(1, hideChunk/first)) {
		var leaves [][]byte
		ends := make([]int, len(some)) // of the leaves of each branch
		for i, path := range some {
			below, others, err := h.below(ctx, path, first)
			if err != nil {
				return nil, err
			}
			leaves = append(leaves, below...)
			ends[i] = len(leaves)
			if others {
				more = append(more, path)
			}
		}
		live, err := h.live(ctx, leaves)
		if err != nil {
			return nil, err
		}
		begin := 0
		for i, path := range some {
			for _, leaf := range leaves[begin:ends[i]] {
				if live[string(leaf)] {
					h.note(path, string(leaf))
					break
				}
			}
			begin = ends[i]
		}
	}
	return slices.DeleteFunc(more, func(path string) bool { return h.branches[path] }), nil
}

// below returns the first leaves below a branch, and whether there may be more. What a pattern cannot say of a
// path matches any character; leaves of other branches are left out.
func (h *hider) below(ctx context.Context, path string, first int) (tsuids [][]byte, more bool, err error) {
	pattern := strings.Map(func(r rune) rune {
		if strings.ContainsRune(`{}[]*?\`, r) {
			return '?'
		}
		return r
	}, path) + ".**"
	nodes, err := h.trees.Find(ctx, pattern, forest.FindOptions{Leaves: true, First: first})
	found := 0
	for _, n := range nodes {
		if found += len(n.Series); strings.HasPrefix(n.Path, path+".") {
			tsuids = append(tsuids, n.Series...)
		}
	}
	return tsuids, found >= first, err
}

// live returns which of some series have sent points lately: their newest one is not too old.
func (h *hider) live(ctx context.Context, tsuids [][]byte) (map[string]bool, error) {
	live := map[string]bool{}
	var unknown [][]byte
	for _, tsuid := range tsuids {
		if newest, ok := h.lately.Get(string(tsuid)); ok && newest >= h.since {
			live[string(tsuid)] = true
		} else {
			unknown = append(unknown, tsuid)
		}
	}
	for some := range slices.Chunk(unknown, hideChunk) {
		if err := h.ask(ctx, some, live); err != nil {
			return nil, err
		}
	}
	return live, nil
}

// ask reads the newest points of series.
func (h *hider) ask(ctx context.Context, tsuids [][]byte, live map[string]bool) error {
	refs, _ := h.catalog.Refs(tsuids) // those of no series have no points either
	names := map[storage.Ref]string{}
	for i, ref := range refs {
		if ref != 0 {
			names[ref] = string(tsuids[i])
		}
	}
	q := storage.Query{Refs: slices.Sorted(maps.Keys(names)), Start: max(h.since, 0), End: storage.MaxTime, Samples: true, Newest: true}
	for p, err := range h.store.Select(ctx, q) {
		if err != nil {
			return err
		}
		if len(p.Times)+len(p.Objects) == 0 {
			continue
		}
		newest := h.since
		if len(p.Times) > 0 {
			newest = p.Times[len(p.Times)-1]
		}
		live[names[p.Ref]] = true
		h.lately.Put(names[p.Ref], newest)
	}
	return nil
}
