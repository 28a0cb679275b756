package graphite

import (
	"context"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/source"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
)

// hideChunk is how many series are asked at once for their newest point.
const hideChunk = 1024

// shown returns the nodes that a pattern matches, without leaves whose newest point is older than
// --graphite.hide-after, and without branches that have no other leaves.
func (a *api) shown(ctx context.Context, query string, options tree.FindOptions) ([]tree.Node, error) {
	nodes, err := source.FindPaths(ctx, a.o.Trees, query, options)
	if err != nil || a.o.HideAfter <= 0 {
		return nodes, err
	}
	h := hider{api: a, branches: map[string]bool{}}
	if err := h.leaves(ctx, nodes); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if n.Branch {
			h.branches[n.Path] = false
		}
	}
	if len(h.branches) > 0 {
		if err := h.look(ctx, query); err != nil {
			return nil, err
		}
	}
	for i := range nodes {
		nodes[i].Branch = nodes[i].Branch && h.branches[nodes[i].Path]
	}
	return slices.DeleteFunc(nodes, func(n tree.Node) bool { return !n.Branch && len(n.Series) == 0 }), nil
}

// A hider finds out which branches have leaves that are shown.
type hider struct {
	*api

	branches map[string]bool // by their paths: whether they have one
}

// leaves takes the series that are hidden out of nodes.
func (h *hider) leaves(ctx context.Context, nodes []tree.Node) error {
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

// look goes through the leaves below the branches that a pattern matches, until each has one that is shown.
func (h *hider) look(ctx context.Context, query string) error {
	nodes, err := source.FindPaths(ctx, h.o.Trees, strings.TrimSuffix(query, ".")+".**", tree.FindOptions{Leaves: true, Limit: h.o.Limits.Nodes})
	if err != nil {
		return err
	}
	var some []tree.Node
	for i, n := range nodes {
		if h.open(n.Path) {
			some = append(some, n)
		}
		if len(some) < hideChunk && i < len(nodes)-1 {
			continue
		}
		if err := h.leaves(ctx, some); err != nil {
			return err
		}
		for _, leaf := range some {
			if len(leaf.Series) > 0 {
				h.mark(leaf.Path)
			}
		}
		some = some[:0]
	}
	return nil
}

// open reports whether a leaf is below a branch that has none yet.
func (h *hider) open(path string) bool {
	open := false
	eachBranch(path, func(branch string) {
		live, asked := h.branches[branch]
		open = open || asked && !live
	})
	return open
}

// mark notes that the branches of a leaf have one.
func (h *hider) mark(path string) {
	eachBranch(path, func(branch string) {
		if _, asked := h.branches[branch]; asked {
			h.branches[branch] = true
		}
	})
}

// eachBranch visits the paths of the branches that a path is below.
func eachBranch(path string, visit func(string)) {
	for i := range len(path) {
		if path[i] == '.' {
			visit(path[:i])
		}
	}
}

// live returns which of some series have sent points lately: their newest one is not too old.
func (h *hider) live(ctx context.Context, tsuids [][]byte) (map[string]bool, error) {
	live := map[string]bool{}
	since := h.o.Now().Add(-h.o.HideAfter).UnixMilli()
	for some := range slices.Chunk(tsuids, hideChunk) {
		refs, _ := h.o.Catalog.Refs(some) // those of no series have no points either
		names := map[storage.Ref]string{}
		for i, ref := range refs {
			if ref != 0 {
				names[ref] = string(some[i])
			}
		}
		asked := make([]storage.Ref, 0, len(names))
		for ref := range names {
			asked = append(asked, ref)
		}
		slices.Sort(asked)
		q := storage.Query{Refs: asked, Start: max(since, 0), End: storage.MaxTime, Samples: true, Newest: true}
		for p, err := range h.o.Store.Select(ctx, q) {
			if err != nil {
				return nil, err
			}
			if len(p.Times)+len(p.Objects) > 0 {
				live[names[p.Ref]] = true
			}
		}
	}
	return live, nil
}
