package tree

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

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
			delete(g.gone, string(c.tsuid))
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
	delete(g.gone, string(tsuid))
	leaves, _ := collidedLeaves(kv.Row{Key: row, Cells: []kv.Cell{*cell}})
	g.collided = append(g.collided, leaves...)
	return nil
}
