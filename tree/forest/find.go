package forest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree/glob"
)

// A Node is a place in a tree under its dotted path: a leaf, a branch, or both.
type Node struct {
	Path string
	// Branch is true when the node has children.
	Branch bool
	// Series are the TSUIDs of the leaf, none where there is no leaf; several, in the order of
	// their bytes, when rules, trees, or names with dots in them, make one path of several series.
	// They must not be changed.
	Series [][]byte
	// Trees are the trees of Series, one by one: of several that show a series here the one with
	// the smallest id.
	Trees []uint16
}

// FindOptions of a search.
type FindOptions struct {
	// Trees are the trees to search, in no order.
	Trees []uint16
	// Leaves leaves out nodes that are only branches.
	Leaves bool
	// Limit, when above 0, makes an answer of more nodes an ErrLimit.
	Limit int
	// First, when above 0, ends the search after so many leaves and branches.
	First int
}

// A source lists the leaves and branches below branches, which it identifies by B.
type source[B any] interface {
	// list calls visit for the leaves and branches of a branch whose names are in the ranges,
	// perhaps for others too.
	list(ctx context.Context, branch B, ranges []glob.Range, visit func(child[B]) error) error
	// empty reports whether a branch has neither leaves nor branches below it.
	empty(ctx context.Context, branch B) bool
}

// A child is a leaf or branch below a branch: a leaf if it has a TSUID.
type child[B any] struct {
	name   []byte
	tsuid  []byte
	branch B
}

// A walker goes down from a root along a pattern.
type walker[B any] struct {
	source source[B]
	glob   *glob.Pattern
	limit  int
	first  int                          // see FindOptions; 0: all are wanted
	leaves bool                         // no branches are wanted
	ranges map[glob.States][]glob.Range // made so far
	path   []byte                       // of the branch that is being listed
	tree   uint16                       // that is being walked
	hits   []hit

	account *query.Account // of the request; nil has no limit
}

// A root is where a walk begins.
type root[B any] struct {
	tree   uint16
	branch B
}

// hitBytes is the memory of a hit without its path, and of the node that is made of it.
const hitBytes = 150

// A hit is a path that matches: a leaf if it has a TSUID.
type hit struct {
	path  string
	tsuid []byte
	tree  uint16
}

func (w *walker[B]) walk(ctx context.Context, branch B, s glob.States) error {
	ranges, ok := w.ranges[s]
	if !ok {
		ranges = w.glob.Ranges(s)
		w.ranges[s] = ranges
	}
	depth := len(w.path)
	return w.source.list(ctx, branch, ranges, func(c child[B]) error {
		defer func() { w.path = w.path[:depth] }()
		return w.enter(ctx, c, s)
	})
}

// enter continues the walk with the name of a leaf or branch. A name with dots counts as several
// elements; all except the last are branches without a row.
func (w *walker[B]) enter(ctx context.Context, c child[B], s glob.States) error {
	for name := strings.Trim(string(c.name), "."); ; {
		element, rest, more := strings.Cut(name, ".")
		name = rest
		switch {
		case element == "" && more:
			continue // dots in a row
		case element == "":
			element = string(c.name) // nothing but dots
		}
		if s = w.glob.Step(s, element); s == 0 {
			return nil
		}
		if len(w.path) > 0 {
			w.path = append(w.path, '.')
		}
		w.path = append(w.path, element...)
		if !more {
			break
		}
		if c.tsuid == nil && w.glob.Done(s) && w.source.empty(ctx, c.branch) {
			return nil
		}
		if err := w.hit(s, nil); err != nil {
			return err
		}
	}
	if c.tsuid != nil {
		return w.hit(s, c.tsuid)
	}
	if w.glob.Done(s) && !w.source.empty(ctx, c.branch) {
		if err := w.hit(s, nil); err != nil {
			return err
		}
	}
	if !w.glob.More(s) {
		return nil
	}
	return w.walk(ctx, c.branch, s)
}

// hit notes the path if it matches.
func (w *walker[B]) hit(s glob.States, tsuid []byte) error {
	if !w.glob.Done(s) || w.leaves && tsuid == nil {
		return nil
	}
	if n := len(w.hits); n > 0 && tsuid == nil && w.hits[n-1].tsuid == nil && w.hits[n-1].path == string(w.path) {
		return nil // one more name with dots that begins so
	}
	if w.first > 0 && len(w.hits) >= w.first {
		return errEnough
	}
	if w.limit > 0 && len(w.hits) >= w.limit {
		return tooMany(w.limit)
	}
	if err := w.account.Take(hitBytes + int64(len(w.path))); err != nil {
		return err
	}
	w.hits = append(w.hits, hit{string(w.path), tsuid, w.tree})
	return nil
}

// find walks from the roots, which come with the trees' order, and gives the nodes in the order of
// their paths' bytes.
func find[B any](ctx context.Context, from source[B], roots []root[B], g *glob.Pattern, o FindOptions) ([]Node, error) {
	hits, err := walkAll(ctx, from, roots, g, o)
	if err != nil {
		return nil, err
	}
	return nodesOf(hits), nil
}

// walkAll walks from the roots.
func walkAll[B any](ctx context.Context, from source[B], roots []root[B], g *glob.Pattern, o FindOptions) ([]hit, error) {
	w := walker[B]{account: query.AccountOf(ctx), source: from, glob: g, limit: o.Limit, first: o.First, leaves: o.Leaves, ranges: map[glob.States][]glob.Range{}}
	for _, root := range roots {
		w.tree = root.tree
		switch err := w.walk(ctx, root.branch, g.Start()); {
		case errors.Is(err, errEnough):
			return w.hits, nil
		case err != nil:
			return nil, err
		}
	}
	return w.hits, nil
}

// errEnough ends a walk that has found as many as are wanted.
var errEnough = errors.New("enough was found")

func tooMany(limit int) error {
	return fmt.Errorf("%w: more than %d paths match (--query.max-series)", storage.ErrLimit, limit)
}

// nodesOf sorts hits and makes one node of those of a path.
func nodesOf(hits []hit) []Node {
	order := func(a, b hit) int {
		if c := strings.Compare(a.path, b.path); c != 0 {
			return c
		}
		return cmp.Or(bytes.Compare(a.tsuid, b.tsuid), cmp.Compare(a.tree, b.tree))
	}
	if !slices.IsSortedFunc(hits, order) {
		slices.SortFunc(hits, order)
	}
	nodes := make([]Node, 0, len(hits))
	// one piece of memory for all nodes
	series, trees := make([][]byte, 0, len(hits)), make([]uint16, 0, len(hits))
	for len(hits) > 0 {
		n := Node{Path: hits[0].path}
		first := len(series)
		for len(hits) > 0 && hits[0].path == n.Path {
			switch tsuid := hits[0].tsuid; {
			case tsuid == nil:
				n.Branch = true
			case len(series) == first || !bytes.Equal(series[len(series)-1], tsuid):
				series, trees = append(series, tsuid), append(trees, hits[0].tree)
			}
			hits = hits[1:]
		}
		n.Series, n.Trees = series[first:len(series):len(series)], trees[first:len(trees):len(trees)]
		nodes = append(nodes, n)
	}
	return nodes
}

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
func (x *branchIndex) Trees() []uint16 {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Clone(x.trees)
}

func (x *branchIndex) roots(trees []uint16) []root[uint32] {
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
