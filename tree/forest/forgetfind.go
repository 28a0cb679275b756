package forest

import (
	"bytes"
	"context"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// An inheritance is the leaf of a forgotten series that goes to one that shared it.
type inheritance struct {
	cell leafCell
	old  []byte // the value of the column
	leaf schema.Leaf
	done bool
}

// A holding is a leaf that is of another series.
type holding struct {
	cell leafCell
	leaf schema.Leaf
}

// changes are mutations by row.
type changes map[string]*kv.Mutation

func (c changes) row(key []byte) *kv.Mutation {
	m, ok := c[string(key)]
	if !ok {
		m = &kv.Mutation{Key: key}
		c[string(key)] = m
	}
	return m
}

// remove deletes a cell that was written up to a time.
func (c changes) remove(key, qualifier []byte, time int64) {
	m := c.row(key)
	m.Deletes = append(m.Deletes, kv.Delete{Qualifier: qualifier, Time: time})
}

func (c changes) all() []kv.Mutation {
	rows := make([]kv.Mutation, 0, len(c))
	for _, m := range c {
		rows = append(rows, *m)
	}
	return rows
}

// find collects the changes: from the index where it is trusted, else from the table.
func (g *forgetting) find(ctx context.Context) error {
	g.changes = changes{}
	var err error
	switch {
	case g.trusted:
		err = g.findInIndex(ctx)
		g.pending = nil
	case g.forest.o.Exclusive:
		err = g.findInRows(ctx)
		g.pending = nil
	default:
		err = g.findCells(ctx)
	}
	if err != nil {
		return err
	}
	return g.findFailures(ctx)
}

// findInIndex asks the index. Deletes of cells that are not there cost nothing on a local engine.
func (g *forgetting) findInIndex(ctx context.Context) error {
	passed := map[string]bool{} // columns whose heir was looked for
	for _, c := range g.cells {
		leaf, also, taken := g.index.holds(c)
		if also {
			g.changes.remove(c.row(), c.also(c.tsuid), 0)
		}
		column := c.column()
		if taken || passed[column] || !leaf && !also {
			continue
		}
		passed[column] = true
		name := g.index.leafName(c)
		if heir := g.index.heir(c, name, g.leaving.goneFrom(&c)); heir != nil {
			if err := g.inherit(ctx, c, name, heir); err != nil {
				return err
			}
		} else if leaf {
			g.changes.remove(c.row(), c.leaf(), 0)
		}
	}
	return nil
}

// inherit puts the leaf of a series that shared it under a name.
func (g *forgetting) inherit(ctx context.Context, c leafCell, name string, heir []byte) error {
	leaf := schema.Leaf{DisplayName: c.name, TSUID: heir}
	if c.name == "" || g.index.shown(c.name) != name {
		beside, err := g.forest.cell(ctx, c.row(), c.also(heir))
		if err != nil {
			return err
		}
		if leaf, err = schema.ParseLeaf(beside.Value); err != nil {
			return err
		}
	}
	g.bequeath(c, leaf)
	return nil
}

// bequeath moves a leaf from the column beside to its own, in one atomic change of the row.
func (g *forgetting) bequeath(c leafCell, leaf schema.Leaf) {
	m := g.changes.row(c.row())
	m.Puts = append(m.Puts, kv.Put{Qualifier: c.leaf(), Value: leaf.AppendTo(nil)})
	m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.also(leaf.TSUID)})
	g.heirs = append(g.heirs, inheritance{cell: c, leaf: leaf, done: true})
}

// findInRows reads the rows of the branches whole. The engine reads them whole for each cell too.
func (g *forgetting) findInRows(ctx context.Context) error {
	byRow := map[string][]leafCell{}
	for _, c := range g.cells {
		byRow[string(c.row())] = append(byRow[string(c.row())], c)
	}
	for key, cells := range byRow {
		rows, err := g.forest.db.Get(ctx, g.forest.o.TreeTable, schema.FamilyData, [][]byte{[]byte(key)})
		if err != nil {
			return err
		}
		g.findInRow(rows[0], cells)
	}
	return nil
}

func (g *forgetting) findInRow(row kv.Row, cells []leafCell) {
	passed := map[uint32]bool{}
	for _, c := range cells {
		if has(row, c.also(c.tsuid)) {
			g.changes.remove(c.row(), c.also(c.tsuid), 0)
		}
		if passed[c.hash] {
			continue
		}
		value := cellOf(row, c.leaf())
		holder, err := schema.ParseLeaf(value)
		ours := err == nil && g.leaving.goneFrom(&c)[string(holder.TSUID)]
		if value != nil && !ours {
			if err == nil {
				g.others = append(g.others, holding{c, holder})
			}
			continue
		}
		passed[c.hash] = true
		name := c.name
		if ours {
			name = holder.DisplayName
		}
		if heir := heirIn(row, c.hash, name, g.leaving.goneFrom(&c)); heir != nil {
			g.bequeath(c, *heir)
		} else if ours {
			g.changes.remove(c.row(), c.leaf(), 0)
		}
	}
}

func has(row kv.Row, qualifier []byte) bool {
	return slices.ContainsFunc(row.Cells, func(c kv.Cell) bool { return bytes.Equal(c.Qualifier, qualifier) })
}

// heirIn is heir of an index, for the cells of a row.
func heirIn(row kv.Row, hash uint32, name string, gone map[string]bool) *schema.Leaf {
	for _, c := range row.Cells {
		if own, ok := parseAlso(c.Qualifier); !ok || own != hash {
			continue
		}
		leaf, err := schema.ParseLeaf(c.Value)
		if err == nil && !gone[string(leaf.TSUID)] && leaf.DisplayName == name {
			return &leaf
		}
	}
	return nil
}

// findCells reads the cells one by one, many at a time. Each is deleted with its own stamp: what
// another process puts meanwhile has a later one and stays. A series that shared a leaf is looked
// at once more afterwards: another process may have let it inherit the leaf meanwhile.
func (g *forgetting) findCells(ctx context.Context) error {
	cells := g.pending
	g.pending = nil
	leaves, beside := make([]*kv.Cell, len(cells)), make([]*kv.Cell, len(cells))
	err := g.each(ctx, len(cells), func(ctx context.Context, i int) (err error) {
		c := &cells[i]
		if leaves[i], err = g.forest.cell(ctx, c.row(), c.leaf()); err == nil {
			beside[i], err = g.forest.cell(ctx, c.row(), c.also(c.tsuid))
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, c := range cells {
		if beside[i] != nil {
			g.pending = append(g.pending, c)
			g.changes.remove(c.row(), beside[i].Qualifier, beside[i].Time)
		}
		if leaves[i] == nil {
			continue
		}
		holder, err := schema.ParseLeaf(leaves[i].Value)
		if err != nil || !bytes.Equal(holder.TSUID, c.tsuid) {
			continue
		}
		if g.index.heir(c, g.index.shown(holder.DisplayName), g.leaving.goneFrom(&c)) != nil {
			g.heirs = append(g.heirs, inheritance{cell: c, old: leaves[i].Value, leaf: schema.Leaf{DisplayName: holder.DisplayName}})
		} else {
			g.changes.remove(c.row(), leaves[i].Qualifier, leaves[i].Time)
		}
	}
	return nil
}

// each calls do for the numbers up to n, some at a time.
func (g *forgetting) each(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(g.forest.o.Concurrency, 1))
	for i := range n {
		group.Go(func() error { return do(ctx, i) })
	}
	return group.Wait()
}

// findFailures adds the cells of the series in the rows of failures of all trees.
func (g *forgetting) findFailures(ctx context.Context) error {
	for _, tree := range g.trees {
		if err := g.findInFailures(ctx, schema.CollisionRow(tree), g.collisions(tree)); err != nil {
			return err
		}
		if err := g.findInFailures(ctx, schema.NotMatchedRow(tree), g.leaving.refusals()); err != nil {
			return err
		}
	}
	return nil
}

// collisions are the columns of the series in the row of collisions, and those of heirs, which have
// collided no longer. The others became heirs before an interruption.
func (g *forgetting) collisions(tree uint16) (qualifiers [][]byte) {
	for tsuid := range g.leaving.gone {
		qualifiers = append(qualifiers, schema.CollisionQualifier([]byte(tsuid)), []byte(collidedPrefix+tsuid))
	}
	for _, h := range g.heirs {
		if h.cell.key.Tree == tree && h.done {
			qualifiers = append(qualifiers, schema.CollisionQualifier(h.leaf.TSUID))
		}
	}
	for _, h := range g.others {
		if h.cell.key.Tree == tree {
			qualifiers = append(qualifiers, schema.CollisionQualifier(h.leaf.TSUID))
		}
	}
	slices.SortFunc(qualifiers, bytes.Compare)
	return slices.CompactFunc(qualifiers, bytes.Equal)
}

func (l *leaving) refusals() (qualifiers [][]byte) {
	for tsuid := range l.gone {
		qualifiers = append(qualifiers, schema.NotMatchedQualifier([]byte(tsuid)))
	}
	return qualifiers
}

// hasFailures reports whether a row of failures may have cells. Hardly any tree has one.
func (g *forgetting) hasFailures(ctx context.Context, row []byte) (bool, error) {
	if g.trusted {
		return g.forest.fails(row), nil
	}
	s := kv.Scan{
		Table: g.forest.o.TreeTable, Family: schema.FamilyData, Start: row, Stop: append(slices.Clone(row), 0), KeysOnly: true, Limit: 1,
	}
	for _, err := range g.forest.db.Scan(ctx, s) {
		return err == nil, err
	}
	return false, nil
}

// findInFailures adds those columns that a row of failures has.
func (g *forgetting) findInFailures(ctx context.Context, row []byte, qualifiers [][]byte) error {
	if there, err := g.hasFailures(ctx, row); err != nil || !there {
		return err
	}
	found := make([]*kv.Cell, len(qualifiers))
	if g.forest.o.Exclusive {
		for i, q := range qualifiers {
			found[i] = &kv.Cell{Qualifier: q}
		}
	} else if err := g.each(ctx, len(qualifiers), func(ctx context.Context, i int) (err error) {
		found[i], err = g.forest.cell(ctx, row, qualifiers[i])
		return err
	}); err != nil {
		return err
	}
	for _, c := range found {
		if c != nil {
			g.changes.remove(row, c.Qualifier, c.Time)
		}
	}
	return nil
}

// cell reads a cell, nil without one.
func (f *table) cell(ctx context.Context, row, qualifier []byte) (*kv.Cell, error) {
	s := kv.Scan{
		Table: f.o.TreeTable, Family: schema.FamilyData, Start: row, Stop: append(slices.Clone(row), 0), Qualifier: qualifier, Limit: 1,
	}
	for row, err := range f.db.Scan(ctx, s) {
		if err != nil {
			return nil, err
		}
		return &row.Cells[0], nil
	}
	return nil, nil
}

// fails reports whether a row of failures may have cells.
func (f *exceptions) fails(row []byte) bool {
	f.mu.RLock()
	defer f.mu.RUnlock()
	f.index.mu.RLock()
	defer f.index.mu.RUnlock()
	return f.failing[string(row)] || f.index.failing[string(row)]
}

// noteFailing notes that rows of failures are about to be written.
func (f *exceptions) noteFailing(rows []kv.Mutation) {
	if len(rows) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range rows {
		f.failing[string(rows[i].Key)] = true
	}
}
