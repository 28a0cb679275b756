package tree

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// NewSeries is a series that is about to be used for the first time, or that a sync comes by.
type NewSeries struct {
	TSUID []byte
	storage.Series
}

// Observe hangs series on every tree that is enabled and returns when their rows are in the table: as durable as a check-and-put is,
// which the next Apply makes them on every engine. Series that a tree has no place for are kept in its rows of failures where it wants that; they
// are no error. After an error some rows may be there; observing all again is safe.
func (f *Forest) Observe(ctx context.Context, series []NewSeries) error {
	trees := f.enabled()
	if len(trees) == 0 || len(series) == 0 {
		return nil
	}
	names := make([]storage.Series, len(series))
	for i := range series {
		names[i] = series[i].Series
	}
	custom, err := readCustoms(ctx, f.db, f.o.UIDTable, trees, names)
	if err != nil {
		return err
	}
	p := planting{forest: f}
	for _, t := range trees {
		for i := range series {
			p.add(t, Subject{TSUID: series[i].TSUID, Series: series[i].Series, Custom: custom.of})
		}
	}
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("write branches and leaves to %s: %w", f.o.TreeTable, err)
	}
	return nil
}

func (f *Forest) enabled() []*Tree {
	var trees []*Tree
	for _, t := range f.Trees() {
		if t.def.Enabled && len(t.levels) > 0 {
			trees = append(trees, t)
		}
	}
	return trees
}

// planting is one call of Observe. Each round claims the cells that are missing, so that of several calls one writes them, and waits
// for the calls that were first at others.
type planting struct {
	forest   *Forest
	todo     []plant
	failures map[string]*kv.Mutation // by row
}

// A plant is a series in one tree.
type plant struct {
	tree  *Tree
	tsuid []byte
	route Route
}

func (p *planting) add(t *Tree, s Subject) {
	route := t.Route(s)
	if m, ok := t.Refusal(s.TSUID, route); ok {
		p.fail(m)
	}
	p.todo = append(p.todo, plant{t, s.TSUID, route})
}

// fail notes a change of a row of failures. A row is changed once in an Apply, a cell of it too.
func (p *planting) fail(m kv.Mutation) {
	if p.failures == nil {
		p.failures = map[string]*kv.Mutation{}
	}
	row, ok := p.failures[string(m.Key)]
	if !ok {
		p.failures[string(m.Key)] = &m
		return
	}
	for _, put := range row.Puts {
		if string(put.Qualifier) == string(m.Puts[0].Qualifier) {
			return
		}
	}
	row.Puts = append(row.Puts, m.Puts...)
}

func (p *planting) run(ctx context.Context) error {
	for len(p.todo) > 0 {
		c := p.forest.claim(p)
		err := c.write(ctx)
		c.settle(p, err)
		if err != nil {
			return err
		}
		if err := wait(ctx, c.others); err != nil {
			return err
		}
	}
	if len(p.failures) == 0 {
		return nil
	}
	rows := make([]kv.Mutation, 0, len(p.failures))
	for _, m := range p.failures {
		rows = append(rows, *m)
	}
	return p.forest.db.Apply(ctx, p.forest.o.TreeTable, schema.FamilyData, rows)
}

func wait(ctx context.Context, done []chan struct{}) error {
	for _, d := range done {
		select {
		case <-d:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
