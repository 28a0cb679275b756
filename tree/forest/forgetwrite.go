package forest

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// write makes the changes. Where other processes write too, heirs first get their leaves by
// check-and-put: the leaf may have gone to another one meanwhile.
func (g *forgetting) write(ctx context.Context) error {
	for i := range g.heirs {
		if h := &g.heirs[i]; !h.done {
			if err := g.settleHeir(ctx, h); err != nil {
				return err
			}
		}
	}
	g.heirs = slices.DeleteFunc(g.heirs, func(h inheritance) bool { return h.leaf.TSUID == nil })
	if len(g.changes) == 0 {
		return nil
	}
	rows := g.changes.all()
	if !g.forest.o.Exclusive {
		rows[0].Deletes = append(rows[0].Deletes, kv.Delete{Qualifier: []byte(noColumn)})
	}
	return g.forest.db.Apply(ctx, g.forest.o.TreeTable, schema.FamilyData, rows)
}

// noColumn is a column that is nowhere. Deleting it by the engine's clock makes the engine leave the
// present millisecond before it returns. Otherwise a cell that was put, deleted with its own stamp
// and put again within one millisecond would stay hidden.
const noColumn = "tsdbridge.clock"

// settleHeir puts the leaf of an heir in place of that of the forgotten series. Without an heir
// that lives it deletes the leaf.
func (g *forgetting) settleHeir(ctx context.Context, h *inheritance) error {
	dead := maps.Clone(g.leaving.goneFrom(&h.cell))
	for h.done = true; ; {
		tsuid := g.index.heir(h.cell, g.index.shown(h.leaf.DisplayName), dead)
		if tsuid == nil {
			h.leaf.TSUID = nil
			return g.removeLeaf(ctx, h)
		}
		beside, err := g.forest.cell(ctx, h.cell.row(), h.cell.also(tsuid))
		if err != nil {
			return err
		}
		if beside == nil || leafNamed(beside.Value) != h.leaf.DisplayName {
			dead[string(tsuid)] = true // another process has forgotten it
			continue
		}
		h.leaf.TSUID = tsuid
		done, err := g.swap(ctx, h)
		if err != nil || done {
			return err
		}
		dead[string(tsuid)] = true
	}
}

// leafNamed returns the name of a leaf's document, "" if it cannot be read.
func leafNamed(value []byte) string {
	leaf, err := schema.ParseLeaf(value)
	if err != nil {
		return ""
	}
	return leaf.DisplayName
}

// removeLeaf deletes the leaf of a column if it is what it was.
func (g *forgetting) removeLeaf(ctx context.Context, h *inheritance) error {
	now, err := g.forest.cell(ctx, h.cell.row(), h.cell.leaf())
	if err == nil && now != nil && bytes.Equal(now.Value, h.old) {
		g.changes.remove(h.cell.row(), now.Qualifier, now.Time)
	}
	return err
}

// swap gives a leaf to an heir, and deletes the column in which the heir shared it. done is false
// if another process forgets the heir at the same time: that process deletes the column first and
// looks at the leaf afterwards, so that one of the two sees the other.
func (g *forgetting) swap(ctx context.Context, h *inheritance) (done bool, err error) {
	f, row := g.forest, h.cell.row()
	column := kv.Column{Table: f.o.TreeTable, Family: schema.FamilyData, Row: row, Qualifier: h.cell.leaf()}
	value := h.leaf.AppendTo(nil)
	won, err := f.db.CheckAndPut(ctx, column, h.old, value)
	if err != nil {
		return false, err
	}
	if !won {
		now, err := f.cell(ctx, row, column.Qualifier)
		if err != nil || now == nil || !bytes.Equal(now.Value, value) {
			h.leaf.TSUID = nil // another process was faster
			return true, err
		}
	}
	h.old = value
	beside, err := f.cell(ctx, row, h.cell.also(h.leaf.TSUID))
	if err != nil || beside == nil {
		return false, err
	}
	g.changes.remove(row, beside.Qualifier, beside.Time)
	return true, nil
}

// prune deletes the branches that have become empty, the deepest first. It deletes their own column
// only: cells that nobody can read stay.
func (g *forgetting) prune(ctx context.Context) error {
	if !g.forest.o.Exclusive {
		return nil
	}
	depths := map[int][]string{}
	deepest := 0
	for row := range g.branches {
		depth := schema.Depth([]byte(row))
		depths[depth] = append(depths[depth], row)
		deepest = max(deepest, depth)
	}
	for depth := deepest; depth > 0; depth-- {
		if err := g.pruneRows(ctx, depths[depth]); err != nil {
			return err
		}
	}
	return nil
}

// pruneRows deletes the empty ones of branches of one depth.
func (g *forgetting) pruneRows(ctx context.Context, rows []string) error {
	empty := changes{}
	for _, row := range rows {
		is, err := g.isEmpty(ctx, []byte(row))
		if err != nil {
			return err
		}
		if is {
			empty.remove([]byte(row), schema.BranchQualifier(), 0)
		}
	}
	if len(empty) == 0 {
		return nil
	}
	err := g.forest.db.Apply(ctx, g.forest.o.TreeTable, schema.FamilyData, empty.all())
	g.forest.dropBranches(g.index, empty, err == nil)
	return err
}

// dropBranches removes branches from the index. Without certainty that they are gone the table is
// asked before they are used again.
func (f *exceptions) dropBranches(x *Index, rows changes, certain bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	column := string(schema.BranchQualifier())
	for row := range rows {
		key, _ := schema.ParseBranchRow([]byte(row))
		x.removeBranch(key)
		if certain {
			delete(f.unsure, row+column)
		} else {
			f.unsure[row+column] = true
		}
	}
}

// isEmpty reports whether a branch is there and nothing is below it.
func (g *forgetting) isEmpty(ctx context.Context, row []byte) (bool, error) {
	if g.trusted {
		key, _ := schema.ParseBranchRow(row)
		return g.index.emptyBranch(key), nil
	}
	s := kv.Scan{Table: g.forest.o.TreeTable, Family: schema.FamilyData, Start: row, Stop: behindAll(row), Limit: 2}
	rows := 0
	for found, err := range g.forest.db.Scan(ctx, s) {
		if err != nil {
			return false, err
		}
		if rows++; rows > 1 || len(found.Key) > len(row) || len(found.Cells) > 1 || !bytes.Equal(found.Cells[0].Qualifier, schema.BranchQualifier()) {
			return false, nil
		}
	}
	return true, nil
}

// behindAll is the first row key after a branch and all below it.
func behindAll(row []byte) []byte {
	end := slices.Clone(row)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i]++; end[i] != 0 {
			return end[:i+1]
		}
	}
	return nil
}

// Forgotten takes series out of the index that another process has taken out of the trees. It asks
// the table, and what that still has of them stays.
func (f *Forest) Forgotten(ctx context.Context, series []NewSeries) error {
	if len(series) == 0 || f.o.Exclusive {
		return nil
	}
	if err := f.LoadTrees(ctx); err != nil {
		return err
	}
	for batch := range slices.Chunk(series, forgetBatch) {
		if err := f.dropForgotten(ctx, batch); err != nil {
			return fmt.Errorf("follow the deletion of leaves: %w", err)
		}
	}
	return nil
}

// dropForgotten is Forgotten of one batch.
func (f *Forest) dropForgotten(ctx context.Context, series []NewSeries) error {
	g, release, err := f.beginForgetting(ctx, series)
	if err != nil {
		return err
	}
	defer release()
	if err := g.keepAbsent(ctx); err != nil {
		return err
	}
	if err := g.settle(true); err != nil {
		return err
	}
	return g.addCollided()
}

// addCollided adds the collided leaves that the table has.
func (g *forgetting) addCollided() error {
	for _, s := range g.collided {
		if _, err := g.index.addCollided(s); err != nil {
			return err
		}
	}
	return nil
}

// keepAbsent leaves those cells that the table does not have, and the series that lost theirs.
func (g *forgetting) keepAbsent(ctx context.Context) error {
	held, others := make([]bool, len(g.cells)), make([]*schema.Leaf, len(g.cells))
	err := g.each(ctx, len(g.cells), func(ctx context.Context, i int) error {
		c := &g.cells[i]
		leaf, err := g.forest.cell(ctx, c.row(), c.leaf())
		if err != nil {
			return err
		}
		if leaf != nil {
			holder, err := schema.ParseLeaf(leaf.Value)
			if held[i] = err == nil && bytes.Equal(holder.TSUID, c.tsuid); err == nil && !held[i] {
				others[i] = &holder
			}
		}
		if !held[i] {
			beside, err := g.forest.cell(ctx, c.row(), c.also(c.tsuid))
			held[i] = beside != nil
			return err
		}
		return nil
	})
	if err != nil {
		return err
	}
	absent := g.cells[:0]
	for i, c := range g.cells {
		if held[i] {
			delete(g.leaving.gone, string(c.tsuid))
			continue
		}
		absent = append(absent, c)
		if others[i] != nil { // it has inherited the leaf
			g.others = append(g.others, holding{c, *others[i]})
		}
	}
	g.cells = absent
	return g.keepCollided(ctx)
}

// keepCollided spares the series that have collided leaves in the table. The index may lack these
// as long as it shows the series where they were before.
func (g *forgetting) keepCollided(ctx context.Context) error {
	for _, tree := range g.trees {
		if there, err := g.hasFailures(ctx, schema.CollisionRow(tree)); err != nil {
			return err
		} else if !there {
			continue
		}
		for i := range g.series {
			if err := g.keepCollidedLeaf(ctx, tree, g.series[i].TSUID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *forgetting) keepCollidedLeaf(ctx context.Context, tree uint16, tsuid []byte) error {
	row := schema.CollisionRow(tree)
	cell, err := g.forest.cell(ctx, row, append([]byte(collidedPrefix), tsuid...))
	if err != nil || cell == nil {
		return err
	}
	delete(g.leaving.gone, string(tsuid))
	leaves, _ := collidedLeaves(kv.Row{Key: row, Cells: []kv.Cell{*cell}})
	g.collided = append(g.collided, leaves...)
	return nil
}
