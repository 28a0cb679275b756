package tree

import (
	"bytes"
	"context"
	"fmt"
	"slices"

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
	return g.settle(true)
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

// keepCollided spares the series that have collided leaves in the table.
func (g *forgetting) keepCollided(ctx context.Context) error {
	for _, tree := range g.trees {
		for tsuid := range g.gone {
			if !g.index.hasCollided(tree, []byte(tsuid)) {
				continue
			}
			cell, err := g.forest.cell(ctx, schema.CollisionRow(tree), []byte(collidedPrefix+tsuid))
			if err != nil {
				return err
			}
			if cell != nil {
				delete(g.gone, tsuid)
			}
		}
	}
	return nil
}
