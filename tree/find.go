package tree

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/budget"
	"github.com/tsdbridge/tsdbridge/storage"
)

// A Node is a place in a tree under its dotted path: a leaf, a branch, or both.
type Node struct {
	Path string
	// Branch says that paths go on from here.
	Branch bool
	// Series are the TSUIDs of the leaf, none where there is no leaf; several, in the order of their bytes, when trees, or names with
	// dots in them, make one path of several series. They must not be changed.
	Series [][]byte
}

// FindOptions of a search.
type FindOptions struct {
	Trees []uint16 // where to look, in no order
	// Limit, when above 0, makes an answer of more nodes an ErrLimit.
	Limit int
}

// A source lists what hangs on branches, which it names by B.
type source[B any] interface {
	// list calls visit for the leaves and branches of a branch whose names are in the ranges, perhaps for others too.
	list(ctx context.Context, branch B, ranges []nameRange, visit func(child[B]) error) error
	// empty says whether nothing hangs on a branch.
	empty(ctx context.Context, branch B) bool
}

// A child is what hangs on a branch: a leaf if it has a TSUID.
type child[B any] struct {
	name   []byte
	tsuid  []byte
	branch B
}

// A walker goes down from a root along a pattern.
type walker[B any] struct {
	source source[B]
	glob   *Glob
	limit  int
	ranges map[states][]nameRange // made so far
	path   []byte                 // of the branch that is being listed
	hits   []hit

	account *budget.Account // of the request; nil has no limit
}

// hitBytes is what a hit costs beside its path, and the node that is made of it.
const hitBytes = 150

// A hit is a path that matches: a leaf if it has a TSUID.
type hit struct {
	path  string
	tsuid []byte
}

func (w *walker[B]) walk(ctx context.Context, branch B, s states) error {
	ranges, ok := w.ranges[s]
	if !ok {
		ranges = w.glob.ranges(s)
		w.ranges[s] = ranges
	}
	depth := len(w.path)
	return w.source.list(ctx, branch, ranges, func(c child[B]) error {
		defer func() { w.path = w.path[:depth] }()
		return w.enter(ctx, c, s)
	})
}

// enter goes on by the name of a leaf or branch. A name with dots counts as several elements, of which all but the last are branches
// that no row has.
func (w *walker[B]) enter(ctx context.Context, c child[B], s states) error {
	for name := strings.Trim(string(c.name), "."); ; {
		element, rest, more := strings.Cut(name, ".")
		name = rest
		switch {
		case element == "" && more:
			continue // dots in a row
		case element == "":
			element = string(c.name) // nothing but dots
		}
		if s = w.glob.step(s, element); s == 0 {
			return nil
		}
		if len(w.path) > 0 {
			w.path = append(w.path, '.')
		}
		w.path = append(w.path, element...)
		if !more {
			break
		}
		if err := w.hit(s, nil); err != nil {
			return err
		}
	}
	if c.tsuid != nil {
		return w.hit(s, c.tsuid)
	}
	if w.glob.done(s) && !w.source.empty(ctx, c.branch) {
		if err := w.hit(s, nil); err != nil {
			return err
		}
	}
	if !w.glob.more(s) {
		return nil
	}
	return w.walk(ctx, c.branch, s)
}

// hit notes the path if it matches.
func (w *walker[B]) hit(s states, tsuid []byte) error {
	if !w.glob.done(s) {
		return nil
	}
	if n := len(w.hits); n > 0 && tsuid == nil && w.hits[n-1].tsuid == nil && w.hits[n-1].path == string(w.path) {
		return nil // one more name with dots that begins so
	}
	if w.limit > 0 && len(w.hits) >= w.limit {
		return tooMany(w.limit)
	}
	if err := w.account.Take(hitBytes + int64(len(w.path))); err != nil {
		return err
	}
	w.hits = append(w.hits, hit{string(w.path), tsuid})
	return nil
}

// find walks from the roots, which come with the trees' order, and gives the nodes in the order of their paths' bytes.
func find[B any](ctx context.Context, from source[B], roots []B, g *Glob, limit int) ([]Node, error) {
	hits, err := walkAll(ctx, from, roots, g, limit)
	if err != nil {
		return nil, err
	}
	return nodesOf(hits), nil
}

// walkAll walks from the roots.
func walkAll[B any](ctx context.Context, from source[B], roots []B, g *Glob, limit int) ([]hit, error) {
	w := walker[B]{account: budget.From(ctx), source: from, glob: g, limit: limit, ranges: map[states][]nameRange{}}
	for _, root := range roots {
		if err := w.walk(ctx, root, g.start()); err != nil {
			return nil, err
		}
	}
	return w.hits, nil
}

func tooMany(limit int) error {
	return fmt.Errorf("%w: more than %d paths match (--graphite.max-nodes)", storage.ErrLimit, limit)
}

// nodesOf sorts hits and makes one node of those of a path.
func nodesOf(hits []hit) []Node {
	byPath := func(a, b hit) int { return strings.Compare(a.path, b.path) }
	if !slices.IsSortedFunc(hits, byPath) {
		slices.SortFunc(hits, byPath)
	}
	nodes := make([]Node, 0, len(hits))
	series := make([][]byte, 0, len(hits)) // one piece of memory for all nodes
	for len(hits) > 0 {
		same := 1
		for same < len(hits) && hits[same].path == hits[0].path {
			same++
		}
		n := Node{Path: hits[0].path}
		first := len(series)
		for _, h := range hits[:same] {
			if h.tsuid == nil {
				n.Branch = true
			} else if !containsBytes(series[first:], h.tsuid) {
				series = append(series, h.tsuid)
			}
		}
		n.Series = series[first:len(series):len(series)]
		slices.SortFunc(n.Series, bytes.Compare)
		nodes = append(nodes, n)
		hits = hits[same:]
	}
	return nodes
}

func containsBytes(list [][]byte, b []byte) bool {
	return slices.ContainsFunc(list, func(have []byte) bool { return string(have) == string(b) })
}
