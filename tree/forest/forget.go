package forest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// forgetBatch is how many series are forgotten under one hold of the locks.
const forgetBatch = 1024

// Forget takes series out of all trees: their leaves, their columns in the rows of failures, and
// the branches below which nothing is left, up to the root, which stays. It returns when that is
// durable. A series that shared the path of one of them inherits its leaf.
//
// Series that are not there are no error. After an error, or a crash, calling it again finishes.
// First the leaves are deleted, then the branches that have become empty, the deepest first: what
// an interruption leaves is a branch without leaves, never a leaf below a branch that is gone. The
// next call for the same series deletes such branches.
//
// On tables that other processes write to, branches stay: a TSD that has found a branch writes a
// leaf to it without another look, and no check-and-put spans two rows. Find does not show them.
//
// The series must not be observed at the same time. They may be as soon as Forget has returned.
// Others may be observed at any time; they wait while a batch is forgotten. A Load or Refresh that
// is under way ends first.
func (f *Forest) Forget(ctx context.Context, series []NewSeries) error {
	if len(series) == 0 {
		return nil
	}
	if err := f.currentTrees(ctx); err != nil {
		return err
	}
	for batch := range slices.Chunk(series, forgetBatch) {
		if err := f.forget(ctx, batch); err != nil {
			return fmt.Errorf("delete branches and leaves: %w", err)
		}
	}
	return nil
}

// currentTrees reads the definitions where another process may have made a tree since.
func (f *planted) currentTrees(ctx context.Context) error {
	if f.o.Exclusive {
		return f.needTrees(ctx)
	}
	return f.LoadTrees(ctx)
}

// forget is Forget of one batch.
func (f *Forest) forget(ctx context.Context, series []NewSeries) error {
	g, release, err := f.beginForgetting(ctx, series)
	if err != nil {
		return err
	}
	defer release()
	return g.run(ctx)
}

// run deletes the cells and what they leave empty.
func (g *forgetting) run(ctx context.Context) error {
	for g.pending = g.cells; len(g.pending) > 0 || g.changes == nil; {
		if err := g.find(ctx); err != nil {
			return err
		}
		if err := g.write(ctx); err != nil {
			return errors.Join(err, g.settle(false))
		}
	}
	if err := g.settle(true); err != nil {
		return err
	}
	return g.prune(ctx)
}

// A forgetting is one batch of Forget.
type forgetting struct {
	forest  *Forest
	index   *Index
	series  []NewSeries
	leaving leaving

	// trusted is true when the index has every row of the table, so that the table is not asked.
	trusted bool

	cells    []leafCell      // where the series have leaves, or may have
	seen     map[string]bool // their ids
	branches map[string]bool // rows that may have become empty
	trees    []uint16        // that may have the series in their rows of failures

	pending []leafCell // cells to look at in the next round
	changes changes
	heirs   []inheritance
	others  []holding // leaves that the index has for other series than the table
	// collided leaves that the table has, of series that another process has forgotten
	collided []collidedLeaf
}

// beginForgetting finds where series may have leaves, and holds the forest. Without an error the
// caller must release it.
func (f *Forest) beginForgetting(ctx context.Context, series []NewSeries) (g *forgetting, release func(), err error) {
	g = &forgetting{
		forest: f, series: series,
		leaving: leaving{gone: make(map[string]bool, len(series))}, seen: make(map[string]bool, len(series)), branches: map[string]bool{},
	}
	for i := range series {
		g.leaving.gone[string(series[i].TSUID)] = true
	}
	if err := g.route(ctx); err != nil {
		return nil, nil, err
	}
	if release, err = f.holdAlone(ctx); err != nil {
		return nil, nil, err
	}
	g.look()
	return g, release, nil
}

// A leafCell is a place where a series has a leaf, or may have one: a column of a branch's row. The
// column of a series that shares the leaf is next to it.
type leafCell struct {
	key   schema.BranchKey
	hash  uint32
	name  string // "" if it is not known
	tsuid []byte
}

// row is the row of the branch.
func (c *leafCell) row() []byte {
	row := schema.TreeRow(c.key.Tree)
	for _, hash := range c.key.Hashes {
		row = binary.BigEndian.AppendUint32(row, hash)
	}
	return row
}

// leaf is the column of the leaf.
func (c *leafCell) leaf() []byte {
	q := schema.LeafQualifier("")
	binary.BigEndian.PutUint32(q[len(q)-schema.ChildWidth:], c.hash)
	return q
}

// also is the column of a series that shares the leaf.
func (c *leafCell) also(tsuid []byte) []byte { return alsoColumn(c.hash, tsuid) }

// id identifies the cell of a series.
func (c *leafCell) id() string { return string(c.row()) + string(c.also(c.tsuid)) }

// column identifies the column of the leaf.
func (c *leafCell) column() string { return string(c.row()) + string(c.leaf()) }

// goneFrom are the TSUIDs of the series that are taken out of a cell.
func (l *leaving) goneFrom(c *leafCell) map[string]bool {
	staying := l.staying[c.column()]
	if len(staying) == 0 {
		return l.gone
	}
	gone := maps.Clone(l.gone)
	for _, tsuid := range staying {
		delete(gone, tsuid)
	}
	return gone
}

// route adds the cells in which the rules place the series, whether the trees are enabled or not.
func (g *forgetting) route(ctx context.Context) error {
	return g.forest.eachRoute(ctx, g.series, func(t *Tree, s *NewSeries, r tree.Route) { g.add(newLeafCell(t, s.TSUID, r)) })
}

// eachRoute visits where the rules place series, in all trees.
func (f *planted) eachRoute(ctx context.Context, series []NewSeries, visit func(t *Tree, s *NewSeries, r tree.Route)) error {
	trees := f.Trees()
	names := make([]storage.Series, len(series))
	for i := range series {
		names[i] = series[i].Series
	}
	custom, err := readCustoms(ctx, f.db, f.o.UIDTable, trees, names)
	if err != nil {
		return err
	}
	for _, t := range trees {
		for i := range series {
			s := &series[i]
			var r tree.Route
			switch {
			case t.plain && f.isPlain(s.Series):
				r = tree.PlainRoute(s.Metric)
			case t.HasRules():
				r = t.Route(tree.Subject{TSUID: s.TSUID, Series: s.Series, Custom: custom.of, Rest: f.o.Rest})
			default:
				continue
			}
			if r.Outcome == tree.Stored || r.Outcome == tree.OnRoot {
				visit(t, s, r)
			}
		}
	}
	return nil
}

// newLeafCell returns the cell in which a series has its leaf by a route.
func newLeafCell(t *Tree, tsuid []byte, r tree.Route) leafCell {
	key, _ := schema.ParseBranchRow(schema.BranchRow(t.ID(), r.Branches...))
	return leafCell{key: key, hash: schema.NameHash(r.Leaf), name: r.Leaf, tsuid: tsuid}
}

// add adds a cell, once, and the branches above it.
func (g *forgetting) add(c leafCell) {
	id := c.id()
	if g.seen[id] {
		return
	}
	g.seen[id] = true
	g.cells = append(g.cells, c)
	for row := c.row(); schema.Depth(row) > 0; row = row[:len(row)-schema.ChildWidth] {
		g.branches[string(row)] = true
	}
}

// look adds what the index knows of the series in addition: leaves that other rules placed, and the
// trees without usable definitions.
func (g *forgetting) look() {
	f := g.forest
	f.mu.RLock()
	g.index = f.index
	g.trusted = f.o.Exclusive && f.complete && len(f.unsure) == 0
	for _, t := range f.trees {
		g.trees = append(g.trees, t.ID())
	}
	for _, b := range f.broken {
		g.trees = append(g.trees, b.ID)
	}
	f.mu.RUnlock()
	g.index.indexTSUIDs()
	x := g.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	g.trees = append(g.trees, x.trees...)
	slices.Sort(g.trees)
	g.trees = slices.Compact(g.trees)
	finder := strayFinder{Index: x}
	for i := range g.series {
		for _, c := range finder.strays(g.series[i].TSUID, g.seen) {
			g.add(c)
		}
	}
}

// settle takes the series out of the index. Without certainty that the table has changed, their
// columns are unsure: the table is asked before they are used again.
func (g *forgetting) settle(certain bool) error {
	f := g.forest
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range g.cells {
		g.index.removeLeaf(g.cells[i])
		delete(f.unsure, g.cells[i].id())
		if column := g.cells[i].column(); certain {
			delete(f.unsure, column)
		} else {
			f.unsure[column] = true
		}
	}
	f.complete = f.complete && len(f.unsure) < maxUnsure
	for tsuid := range g.leaving.gone {
		for _, tree := range g.trees {
			g.index.removeCollided(tree, []byte(tsuid))
		}
		if f.syncs > 0 {
			f.forgotten[tsuid] = true
		}
	}
	if !certain {
		return nil // heirs stay where they are
	}
	return g.settleHeirs()
}

// settleHeirs gives heirs their leaves in the index, and others what the table has for them.
func (g *forgetting) settleHeirs() error {
	for _, h := range g.heirs {
		if err := g.index.inherit(h.cell, h.leaf); err != nil {
			return err
		}
	}
	for _, h := range g.others {
		if err := g.index.inherit(h.cell, h.leaf); err != nil {
			return err
		}
	}
	return nil
}

// leaving are the series that are forgotten, and those of them that stay on some paths.
type leaving struct {
	gone map[string]bool // their TSUIDs
	// staying are series that are renamed and keep cells, by their columns
	staying map[string][]string
}
