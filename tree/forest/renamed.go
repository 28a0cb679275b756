package forest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Renamed moves series whose names have changed: what trees have of them under the old names goes, as
// by Forget, and what Observe writes for the new names is there. Both lists have the same series in
// the same order. Leaves of other names that the index has of a series go too, so old names that are
// not known may be the new ones.
//
// The new leaves come first, so that a series is always found under one of its names, unless its
// leaf shares its hashes with others. After an error, or a crash, calling it again
// finishes. The series must be neither observed nor forgotten at the same time.
func (f *Forest) Renamed(ctx context.Context, old, renamed []NewSeries) error {
	if len(old) != len(renamed) {
		return fmt.Errorf("%d old names of %d series", len(old), len(renamed))
	}
	if len(renamed) == 0 {
		return nil
	}
	if err := f.currentTrees(ctx); err != nil {
		return err
	}
	for len(renamed) > 0 {
		n := min(len(renamed), forgetBatch)
		if err := f.move(ctx, old[:n], renamed[:n]); err != nil {
			return fmt.Errorf("move renamed series in trees: %w", err)
		}
		old, renamed = old[n:], renamed[n:]
	}
	return nil
}

// move is Renamed of one batch.
func (f *Forest) move(ctx context.Context, old, renamed []NewSeries) error {
	p := places{cells: map[string]string{}, staying: map[string][]string{}}
	err := f.eachRoute(ctx, renamed, func(t *Tree, s *NewSeries, r tree.Route) {
		enabled := t.IsActive()
		one := insertion{tree: t, route: r}
		if (enabled || t.plain && f.isPlain(s.Series)) && one.hasLeaf() {
			p.add(newLeafCell(t, s.TSUID, r), r)
		}
	})
	if err != nil {
		return err
	}
	alike := map[string]bool{}
	err = f.eachRoute(ctx, old, func(t *Tree, s *NewSeries, r tree.Route) {
		c := newLeafCell(t, s.TSUID, r)
		if path, ok := p.cells[c.id()]; ok && path != pathOf(r) {
			alike[string(s.TSUID)] = true
		}
	})
	if err != nil {
		return err
	}
	if err := f.addCollidedOf(ctx, old, alike); err != nil {
		return err
	}
	if len(alike) > 0 {
		isAlike := func(s NewSeries) bool { return !alike[string(s.TSUID)] }
		if err := f.forget(ctx, slices.DeleteFunc(slices.Clone(old), isAlike)); err != nil {
			return err
		}
	}
	if err := f.Observe(ctx, renamed); err != nil {
		return err
	}
	if moves, err := f.forgetExcept(ctx, old, &p); err != nil || !moves {
		return err
	}
	return f.Observe(ctx, renamed) // the rows of failures have lost what is said of the new names
}

// addCollidedOf adds the series that have collided leaves in a tree, which has one of each at most.
func (f *Forest) addCollidedOf(ctx context.Context, series []NewSeries, to map[string]bool) error {
	asks := forgetting{forest: f}
	for _, t := range f.Trees() {
		row := schema.CollisionRow(t.ID())
		f.Index().addCollidedOf(t.ID(), series, to)
		if there, err := asks.hasFailures(ctx, row); err != nil {
			return err
		} else if !there {
			continue
		}
		found := make([]*kv.Cell, len(series))
		err := asks.each(ctx, len(series), func(ctx context.Context, i int) (err error) {
			found[i], err = f.cell(ctx, row, append([]byte(collidedPrefix), series[i].TSUID...))
			return err
		})
		if err != nil {
			return err
		}
		for i := range series {
			if found[i] != nil {
				to[string(series[i].TSUID)] = true
			}
		}
	}
	return nil
}

// addCollidedOf adds the series of which the index has collided leaves.
func (x *leafIndex) addCollidedOf(tree uint16, series []NewSeries, to map[string]bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for i := range series {
		if _, ok := x.collided[collidedID(tree, series[i].TSUID)]; ok {
			to[string(series[i].TSUID)] = true
		}
	}
}

// places are the cells that series have under their new names.
type places struct {
	cells   map[string]string   // the path of each, by id
	staying map[string][]string // TSUIDs by column
}

func (p *places) add(c leafCell, r tree.Route) {
	p.cells[c.id()] = pathOf(r)
	p.staying[c.column()] = append(p.staying[c.column()], string(c.tsuid))
}

// pathOf tells paths apart whose names have equal hashes.
func pathOf(r tree.Route) string { return strings.Join(r.Branches, "\x00") + "\x00" + r.Leaf }

// writing returns the trees that Observe writes to. The others keep what they have.
func (f *planted) writing() map[uint16]bool {
	trees := map[uint16]bool{}
	for _, t := range f.enabled() {
		trees[t.ID()] = true
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	if t := f.plainTree.tree; t != nil {
		trees[t.ID()] = true
	}
	return trees
}

// forgetExcept is forget that spares the cells of some places, and trees that are not written to. moves
// is false if that leaves nothing.
func (f *Forest) forgetExcept(ctx context.Context, series []NewSeries, p *places) (moves bool, err error) {
	g, release, err := f.beginForgetting(ctx, series)
	if err != nil {
		return false, err
	}
	defer release()
	g.leaving.staying = p.staying
	written := f.writing()
	g.cells = slices.DeleteFunc(g.cells, func(c leafCell) bool {
		_, stays := p.cells[c.id()]
		return stays || !written[c.key.Tree]
	})
	if len(g.cells) == 0 {
		return false, nil
	}
	f.noteMoved(series)
	return true, g.run(ctx)
}

// noteMoved tells syncs that are running not to append series under the names that they read.
func (f *exceptions) noteMoved(series []NewSeries) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.syncs == 0 {
		return
	}
	for i := range series {
		f.moved[string(series[i].TSUID)] = true
	}
}
