package forest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// A SyncReport is the result of a Sync so far.
type SyncReport struct {
	// Position is the last TSUID up to which every series is done: SeriesScan.From to go on.
	Position []byte
	// Series are those looked at; Nameless those among them that have a UID without a name, of
	// which no tree can take any.
	Series, Nameless int
	// WrittenBranches and WrittenLeaves were not there before; some may be of series after
	// Position.
	WrittenBranches, WrittenLeaves int64
	// Trees are the trees that took part, by id.
	Trees []TreeReport
	// Broken are the trees that could not.
	Broken []Broken
}

// A TreeReport is the outcome of the series in one tree. Each is counted once.
type TreeReport struct {
	Tree *Tree
	// WithLeaf have their leaf, now or already before.
	WithLeaf int
	// CollidedLeaves have no leaf of their own, because names share a hash with others, but are
	// found.
	CollidedLeaves int
	// Collided have no leaf, because another series has the leaf of that name and branch.
	Collided int
	// OnRoot, NoMatch, Refused and Failed are the outcomes of routes without a leaf.
	OnRoot, NoMatch, Refused, Failed int
}

// add adds what was routed in a batch.
func (r *SyncReport) add(b SyncReport) {
	r.Series += b.Series
	r.Nameless += b.Nameless
	for _, t := range b.Trees {
		at, found := slices.BinarySearchFunc(r.Trees, t.Tree.ID(), func(have TreeReport, id uint16) int { return int(have.Tree.ID()) - int(id) })
		if !found {
			r.Trees = slices.Insert(r.Trees, at, TreeReport{Tree: t.Tree})
		}
		r.Trees[at].add(t)
	}
}

func (t *TreeReport) add(b TreeReport) {
	t.WithLeaf += b.WithLeaf
	t.CollidedLeaves += b.CollidedLeaves
	t.Collided += b.Collided
	t.OnRoot += b.OnRoot
	t.NoMatch += b.NoMatch
	t.Refused += b.Refused
	t.Failed += b.Failed
}

// String returns the report in some lines.
func (r SyncReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d series, %d branches and %d leaves written", r.Series, r.WrittenBranches, r.WrittenLeaves)
	if r.Nameless > 0 {
		fmt.Fprintf(&b, ", %d series have UIDs without names", r.Nameless)
	}
	b.WriteByte('\n')
	for _, t := range r.Trees {
		fmt.Fprintf(&b, "tree %d (%s): %d with a leaf, %d collided leaves, %d with the path of another series, %d of one name, %d without a match, %d refused by strict match, %d failed\n",
			t.Tree.ID(), t.Tree.Definition().Name, t.WithLeaf, t.CollidedLeaves, t.Collided, t.OnRoot, t.NoMatch, t.Refused, t.Failed)
	}
	for _, broken := range r.Broken {
		fmt.Fprintf(&b, "tree %d (%s) cannot be used: %v\n", broken.ID, broken.Name, broken.Err)
	}
	return b.String()
}

// outcomes counts what became of series that were observed.
func (f *indexed) outcomes(ctx context.Context, series []NewSeries) ([]TreeReport, error) {
	trees := f.enabled()
	names := make([]storage.Series, len(series))
	for i := range series {
		names[i] = series[i].Series
	}
	custom, err := readCustoms(ctx, f.db, f.o.UIDTable, trees, names)
	if err != nil {
		return nil, err
	}
	reports := make([]TreeReport, len(trees))
	for n, t := range trees {
		reports[n].Tree = t
		for i := range series {
			route := t.Route(tree.Subject{TSUID: series[i].TSUID, Series: series[i].Series, Custom: custom.of, Rest: f.o.Rest})
			f.outcome(&reports[n], series[i].TSUID, route)
		}
	}
	return f.plainOutcomes(reports, series), nil
}

// plainOutcomes adds what became of plain series in the default tree.
func (f *indexed) plainOutcomes(reports []TreeReport, series []NewSeries) []TreeReport {
	r := TreeReport{Tree: f.knownDefault().tree}
	for _, s := range series {
		if r.Tree != nil && f.isPlain(s.Series) {
			f.countLeaf(&r, s.TSUID, tree.PlainRoute(s.Metric))
		}
	}
	if (r == TreeReport{Tree: r.Tree}) {
		return reports
	}
	return append(reports, r)
}

func (f *indexed) outcome(r *TreeReport, tsuid []byte, route tree.Route) {
	switch route.Outcome {
	case tree.NoMatch:
		r.NoMatch++
	case tree.Refused:
		r.Refused++
	case tree.Failed:
		r.Failed++
	case tree.OnRoot:
		r.OnRoot++
	case tree.Stored:
		f.countLeaf(r, tsuid, route)
	}
}

// countLeaf finds out which series has the leaf.
func (f *indexed) countLeaf(r *TreeReport, tsuid []byte, route tree.Route) {
	x := f.Index()
	switch {
	case x.isCollided(r.Tree.ID(), tsuid):
		r.CollidedLeaves++
	case bytes.Equal(x.Holder(r.Tree.ID(), route), tsuid):
		r.WithLeaf++
	default:
		r.Collided++
	}
}

func (x *leafIndex) isCollided(tree uint16, tsuid []byte) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	_, ok := x.collided[collidedID(tree, tsuid)]
	return ok
}

// Holder returns the TSUID that has the leaf of a route, or one whose name shares its hash; nil
// when there is none.
func (x *Index) Holder(tree uint16, r tree.Route) []byte {
	x.mu.RLock()
	defer x.mu.RUnlock()
	branch, known := x.locate(tree, r.Branches)
	if known <= len(r.Branches) {
		return nil
	}
	return x.holder(branch, r.Leaf)
}

// A tally is an engine that counts the branches and leaves it was the first to be told of.
type tally struct {
	kv.KV
	branches, leaves atomic.Int64
}

func newTally(db kv.KV) *tally { return &tally{KV: db} }

// CheckAndPut implements kv.KV.
func (t *tally) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	done, err := t.KV.CheckAndPut(ctx, c, expected, value)
	if done && err == nil {
		if _, leaf := schema.ParseLeafQualifier(c.Qualifier); leaf {
			t.leaves.Add(1)
		} else if bytes.Equal(c.Qualifier, schema.BranchQualifier()) {
			t.branches.Add(1)
		}
	}
	return done, err
}
