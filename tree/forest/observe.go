package forest

import (
	"context"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// NewSeries is a series that is about to be used for the first time, or that a sync visits.
type NewSeries = storage.NewSeries

var _ storage.Observer = (*Forest)(nil)

// Observe appends series to every tree that is enabled, and plain ones to the default tree. It
// returns when their rows are in the table: as durable as a check-and-put is, which the next Apply
// makes them on every engine. Series that a tree has no place for are kept in its rows of failures
// if the tree wants that; this is not an error. After an error some rows may be there; observing
// all again is safe.
//
// It may be called before Load: it then reads the definitions first, and asks the table about each
// cell.
func (f *Forest) Observe(ctx context.Context, series []NewSeries) error {
	if len(series) == 0 {
		return nil
	}
	release, err := f.holdShared(ctx)
	if err != nil {
		return err
	}
	defer release()
	return f.observe(ctx, series, true)
}

// observe appends series. fresh is true for series that are being registered: the index may lag
// behind the table, so what it knows of them may be from before they were forgotten. The caller
// holds holdShared.
func (f *Forest) observe(ctx context.Context, series []NewSeries, fresh bool) error {
	if err := f.needTrees(ctx); err != nil {
		return err
	}
	p := observation{forest: f, fresh: fresh, todo: make([]insertion, 0, len(series))}
	if fresh {
		p.doubted = f.register(series)
	}
	if err := p.plain(ctx, series); err != nil {
		return err
	}
	if err := p.enabled(ctx, series); err != nil {
		return err
	}
	if err := p.run(ctx); err != nil {
		return fmt.Errorf("write branches and leaves: %w", err)
	}
	return nil
}

// register takes series that are being registered. doubted is true where the index may have rows of
// them that the table does not have: another process may have forgotten them.
func (f *exceptions) register(series []NewSeries) (doubted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.forgotten) > 0 {
		for i := range series {
			delete(f.forgotten, string(series[i].TSUID))
		}
	}
	return !f.o.Exclusive || !f.complete
}

// needTrees reads the definitions unless they were read.
func (f *planted) needTrees(ctx context.Context) error {
	f.mu.RLock()
	known := f.defined
	f.mu.RUnlock()
	if known {
		return nil
	}
	return f.LoadTrees(ctx)
}

// enabled runs the series through the rules of the trees.
func (p *observation) enabled(ctx context.Context, series []NewSeries) error {
	trees := p.forest.enabled()
	if len(trees) == 0 {
		return nil
	}
	names := make([]storage.Series, len(series))
	for i := range series {
		names[i] = series[i].Series
	}
	custom, err := readCustoms(ctx, p.forest.db, p.forest.o.UIDTable, trees, names)
	if err != nil {
		return err
	}
	for _, t := range trees {
		for i := range series {
			if t.plain && p.forest.isPlain(series[i].Series) {
				continue // it is there already
			}
			p.add(t, tree.Subject{TSUID: series[i].TSUID, Series: series[i].Series, Custom: custom.of, Rest: p.forest.o.Rest})
		}
	}
	return nil
}

func (f *planted) enabled() []*Tree {
	var trees []*Tree
	for _, t := range f.Trees() {
		if t.IsActive() {
			trees = append(trees, t)
		}
	}
	return trees
}

// observation is one call of Observe. In each round it takes the cells that are missing, so that of
// several calls only one writes a cell, and it waits for the calls that took other cells first.
type observation struct {
	forest   *Forest
	fresh    bool // the series are being registered
	todo     []insertion
	failures map[string]*kv.Mutation // by row
	collided []insertion
	also     []insertion // of which another series has the path
	// doubted is true when the index is not believed about what it has of these series
	doubted bool
}

// An insertion is a series in one tree.
type insertion struct {
	tree   *Tree
	tsuid  []byte
	series storage.Series
	route  tree.Route
	tries  int
}

// hasLeaf reports whether the series gets a leaf. One of a single name does in the default tree
// only: a TSD keeps none on the root, but shows them.
func (p *insertion) hasLeaf() bool {
	return p.route.Outcome == tree.Stored || p.route.Outcome == tree.OnRoot && p.tree.plain
}

// names are those of the path, the leaf as the last one.
func (p *insertion) names() []string {
	return append(slices.Clip(p.route.Branches), p.route.Leaf)
}

func (p *observation) add(t *Tree, s tree.Subject) {
	route := t.Route(s)
	if m, ok := t.Refusal(s.TSUID, route); ok {
		p.fail(m)
	}
	p.todo = append(p.todo, insertion{tree: t, tsuid: s.TSUID, series: s.Series, route: route})
}

// fail notes a change of a row of failures. A row is changed once in an Apply, a cell of it too.
func (p *observation) fail(m kv.Mutation) {
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

func (p *observation) run(ctx context.Context) error {
	for len(p.todo) > 0 {
		c := p.forest.beginRound(p)
		err := c.write(ctx)
		c.settle(p, err)
		if err != nil {
			return err
		}
		if err := wait(ctx, c.others); err != nil {
			return err
		}
	}
	if err := p.forest.keep(ctx, p.collided, p.also); err != nil || len(p.failures) == 0 {
		return err
	}
	rows := make([]kv.Mutation, 0, len(p.failures))
	for _, m := range p.failures {
		rows = append(rows, *m)
	}
	p.forest.noteFailing(rows)
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

// customs are the custom fields of UIDMeta documents, read from tsdb-uid for the series of one
// call: they may change at any time, and hardly any tree asks for them.
type customs struct {
	db     kv.KV
	table  string
	fields [3]map[string]map[string]string // by kind: name -> fields
}

// readCustoms reads the fields that the rules of the trees ask of the series.
func readCustoms(ctx context.Context, db kv.KV, table string, trees []*Tree, series []storage.Series) (*customs, error) {
	c := &customs{db: db, table: table}
	for kind := range c.fields {
		c.fields[kind] = map[string]map[string]string{}
	}
	for _, t := range trees {
		t.EachCustom(series, func(kind storage.NameKind, name string) { c.fields[kind][name] = nil })
	}
	for kind, names := range c.fields {
		if err := c.read(ctx, storage.NameKind(kind), names); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// read fills in the fields of names: their UIDs, then the documents of those.
func (c *customs) read(ctx context.Context, kind storage.NameKind, names map[string]map[string]string) error {
	var wanted []string
	var rows [][]byte
	for name := range names {
		if row, err := schema.EncodeName(name); err == nil {
			wanted, rows = append(wanted, name), append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	forward, err := c.db.Get(ctx, c.table, schema.FamilyID, rows)
	if err != nil {
		return fmt.Errorf("read the UIDs of %d %s names: %w", len(rows), kind, err)
	}
	known, uids := wanted[:0], rows[:0]
	for i, row := range forward {
		if uid := cellOf(row, schema.UIDQualifier(kind)); uid != nil {
			known, uids = append(known, wanted[i]), append(uids, uid)
		}
	}
	if len(uids) == 0 {
		return nil
	}
	documents, err := c.db.Get(ctx, c.table, schema.FamilyName, uids)
	if err != nil {
		return fmt.Errorf("read UIDMeta of %d %s names: %w", len(uids), kind, err)
	}
	for i, row := range documents {
		if raw := cellOf(row, schema.UIDMetaQualifier(kind)); raw != nil {
			// a TSD cannot read a broken one either
			if m, err := schema.ParseUIDMeta(raw); err == nil {
				names[known[i]] = m.Custom.Map()
			}
		}
	}
	return nil
}

func (c *customs) of(kind storage.NameKind, name string) map[string]string {
	return c.fields[kind][name]
}
