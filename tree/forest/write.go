package forest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// write puts the cells that are missing: all at once those that the table is known not to have. A
// process that has the tables alone first asks for the others. Where other processes write too they
// are check-and-puts, branches from the root downwards and then leaves, as a TSD does.
func (c *insertionRound) write(ctx context.Context) error {
	rank := c.forest.rank
	if !c.isRanked() {
		slices.SortStableFunc(c.cells, func(a, b newCell) int { return rank(&a) - rank(&b) })
	}
	for begin := 0; begin < len(c.cells); {
		end := begin + 1
		for end < len(c.cells) && rank(&c.cells[end]) == rank(&c.cells[begin]) {
			end++
		}
		if err := c.forest.putAll(ctx, c.cells[begin:end]); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// isRanked reports whether the cells are in the order of writing.
func (c *insertionRound) isRanked() bool {
	for i := 1; i < len(c.cells); i++ {
		if c.forest.rank(&c.cells[i]) < c.forest.rank(&c.cells[i-1]) {
			return false
		}
	}
	return true
}

// rank orders cells: those that are put at once, then the others, by depth where one is put after
// the other.
func (f *table) rank(c *newCell) int {
	switch {
	case c.absent:
		return 0
	case f.o.Exclusive:
		return 1
	}
	return 2 + c.depth()
}

// putAll writes cells of one rank.
func (f *table) putAll(ctx context.Context, cells []newCell) error {
	switch {
	case cells[0].absent:
		return f.engine.Put(ctx, f.o.TreeTable, schema.FamilyData, mutations(cells))
	case f.o.Exclusive:
		return f.putLacking(ctx, cells)
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(f.o.Concurrency, 1))
	for i := range cells {
		g.Go(func() error { return f.put(ctx, &cells[i]) })
	}
	return g.Wait()
}

// put writes a cell if there is none. If there is one, it reads which series has the leaf, or
// whether a branch has another name of the same hash. The answer to the check-and-put may have been
// lost, so the leaf may be that of the same series.
func (f *table) put(ctx context.Context, c *newCell) error {
	column := kv.Column{Table: f.o.TreeTable, Family: schema.FamilyData, Row: c.Row, Qualifier: c.Qualifier}
	written, err := f.db.CheckAndPut(ctx, column, nil, c.Value)
	if err != nil || written || c.isRoot() {
		return err
	}
	value, err := f.stands(ctx, c.Step)
	if err == nil && value == nil {
		return fmt.Errorf("row %X: %w", c.Row, errGone)
	}
	c.found(value)
	return err
}

// isRoot reports whether it is the cell of the root, which all writers write alike.
func (c *newCell) isRoot() bool {
	return c.name == schema.RootName && len(c.Row) == len(schema.TreeRow(1)) && c.Leaf == nil
}

// found takes what stands in the cell already. What cannot be read stays, as it does for a TSD; a
// branch of it counts as ours.
func (c *newCell) found(value []byte) {
	if c.Leaf != nil {
		leaf, _ := schema.ParseLeaf(value)
		c.holder = &leaf
	} else if b, err := schema.ParseBranch(value); err == nil {
		c.name = b.DisplayName
	}
}

// errGone is about a cell that was deleted while it was looked at.
var errGone = errors.New("the cell is gone again")

// stands reads the cell of a step, nil without one.
func (f *table) stands(ctx context.Context, c Step) ([]byte, error) {
	s := kv.Scan{
		Table: f.o.TreeTable, Family: schema.FamilyData, Start: c.Row, Stop: append(slices.Clone(c.Row), 0), Qualifier: c.Qualifier, Limit: 1,
	}
	for row, err := range f.db.Scan(ctx, s) {
		if err != nil {
			return nil, err
		}
		return slices.Clone(row.Cells[0].Value), nil
	}
	return nil, nil
}

// putLacking puts those cells that are not there. No other process writes, and this process has
// each cell once: reading and putting are two steps, so that a wide row is neither read nor
// rewritten for each of its cells.
func (f *table) putLacking(ctx context.Context, cells []newCell) error {
	values, err := f.standing(ctx, cells)
	if err != nil {
		return err
	}
	var lacking []newCell
	for i := range cells {
		if values[i] == nil {
			lacking = append(lacking, cells[i])
		} else {
			cells[i].found(values[i])
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return f.engine.Put(ctx, f.o.TreeTable, schema.FamilyData, mutations(lacking))
}

// fewCells is up to how many cells of a row are looked for one by one; more are taken from the
// whole row.
const fewCells = 4

// standing reads cells, nil for those that are not there.
func (f *table) standing(ctx context.Context, cells []newCell) ([][]byte, error) {
	values := make([][]byte, len(cells))
	byRow := map[string][]int{}
	for i := range cells {
		byRow[string(cells[i].Row)] = append(byRow[string(cells[i].Row)], i)
	}
	var whole [][]byte
	for key, places := range byRow {
		if len(places) > fewCells {
			whole = append(whole, []byte(key))
			continue
		}
		for _, i := range places {
			var err error
			if values[i], err = f.stands(ctx, cells[i].Step); err != nil {
				return nil, err
			}
		}
	}
	rows, err := f.db.Get(ctx, f.o.TreeTable, schema.FamilyData, whole)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		have := make(map[string][]byte, len(row.Cells))
		for _, c := range row.Cells {
			have[string(c.Qualifier)] = c.Value
		}
		for _, i := range byRow[string(row.Key)] {
			values[i] = have[string(cells[i].Qualifier)]
		}
	}
	return values, nil
}

// A Step is one cell that a series needs in its tree. It is written only where there is none: an
// older branch or leaf stands.
type Step struct {
	Row, Qualifier, Value []byte
	// Leaf is the TSUID whose leaf this is, nil for a branch.
	Leaf []byte
}

// Steps returns the cells of a route in the order of writing: the root, the branches downwards, the
// leaf. A TSD writes the root for every series that it processes, even if the series gets no leaf.
// It writes no leaf for a path of one name; with rootLeaves that leaf is written too, on the root,
// where a TSD reads it.
func (t *Tree) Steps(tsuid []byte, r tree.Route, rootLeaves bool) []Step {
	steps := []Step{branchStep(t.ID(), nil)}
	if r.Outcome != tree.Stored && (r.Outcome != tree.OnRoot || !rootLeaves) {
		return steps
	}
	for depth := range r.Branches {
		steps = append(steps, branchStep(t.ID(), r.Branches[:depth+1]))
	}
	return append(steps, leafStep(steps[len(steps)-1].Row, r.Leaf, tsuid))
}

func branchStep(id uint16, names []string) Step {
	return Step{Row: schema.BranchRow(id, names...), Qualifier: schema.BranchQualifier(), Value: branchValue(names)}
}

func branchValue(names []string) []byte { return schema.NewBranch(names...).AppendTo(nil) }

func leafStep(branch []byte, name string, tsuid []byte) Step {
	return Step{Row: branch, Qualifier: schema.LeafQualifier(name), Value: leafValue(name, tsuid), Leaf: tsuid}
}

func leafValue(name string, tsuid []byte) []byte {
	leaf := schema.Leaf{DisplayName: name, TSUID: tsuid}
	return leaf.AppendTo(make([]byte, 0, leaf.MaxSize()))
}

// Collision returns the change of the row of collisions when another series has the leaf; ok is
// false when the tree does not keep them. A TSD only sometimes gets to write it.
func (t *Tree) Collision(tsuid, holder []byte) (m kv.Mutation, ok bool) {
	put := kv.Put{Qualifier: schema.CollisionQualifier(tsuid), Value: []byte(schema.FormatTSUID(holder))}
	return kv.Mutation{Key: schema.CollisionRow(t.ID()), Puts: []kv.Put{put}}, t.Definition().StoreFailures
}

// Refusal returns the change of the row of series without a match; ok is false when there is none
// to keep. A TSD means to write it and never does.
func (t *Tree) Refusal(tsuid []byte, r tree.Route) (m kv.Mutation, ok bool) {
	put := kv.Put{Qualifier: schema.NotMatchedQualifier(tsuid), Value: []byte(r.Unmatched)}
	return kv.Mutation{Key: schema.NotMatchedRow(t.ID()), Puts: []kv.Put{put}}, t.Definition().StoreFailures && r.Outcome == tree.Refused
}
