package forest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// clearRows and clearCells are how many rows and cells are deleted while the forest is held.
const (
	clearRows  = 512
	clearCells = 8192
)

// Clear deletes the branches and leaves of a tree and its rows of failures. The definition stays. If
// series are appended to the tree, the existing ones are appended again later, by its present rules.
// It works in batches, and may be repeated after an error or a crash; series may be observed at any
// time. First the leaves are deleted, then the branches, the deepest first.
func (f *Forest) Clear(ctx context.Context, id uint16) error {
	if err := f.noteCleared(ctx, id); err != nil { // an interruption must not leave a tree in part
		return err
	}
	if err := f.clear(ctx, id); err != nil {
		return err
	}
	// A pass over the series that began in between took leaves for present.
	return f.noteCleared(ctx, id)
}

// Remove deletes a tree: all that Clear deletes, and then its definition and rules. Until then the
// tree is there and not enabled, so that it may be repeated.
func (f *Forest) Remove(ctx context.Context, id uint16) error {
	d := NewDefinitions(f.db, f.o.TreeTable)
	err := d.Edit(ctx, id, func(t *schema.Tree) { t.Enabled = false })
	if err != nil && !errors.Is(err, storage.ErrUnreadable) { // by an unreadable definition nobody adds leaves
		return err
	}
	// Calls of Observe that know the tree as enabled end before the first batch begins.
	if err := f.LoadTrees(ctx); err != nil {
		return err
	}
	if err := f.clear(ctx, id); err != nil {
		return err
	}
	if err := d.remove(ctx, id); err != nil {
		return err
	}
	return f.LoadTrees(ctx)
}

// remove deletes a definition and its rules, in one step.
func (d *Definitions) remove(ctx context.Context, id uint16) error {
	row, err := d.row(ctx, id)
	if err != nil {
		return err
	}
	m := kv.Mutation{Key: schema.TreeRow(id)}
	for _, c := range row.Cells {
		if _, _, isRule := schema.ParseRuleQualifier(c.Qualifier); isRule || isNote(c.Qualifier) || bytes.Equal(c.Qualifier, schema.TreeQualifier()) {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
		}
	}
	if len(m.Deletes) == 0 {
		return nil
	}
	if err := d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{m}); err != nil {
		return fmt.Errorf("delete tree %d: %w", id, err)
	}
	return nil
}

// clear deletes everything of a tree but its definition.
func (f *Forest) clear(ctx context.Context, id uint16) error {
	c := clearing{forest: f, id: id}
	if err := c.clearLeaves(ctx); err != nil {
		return err
	}
	return c.clearBranches(ctx)
}

// A clearing goes over the rows of a tree: once for the leaves, and once for the branches of each
// depth.
type clearing struct {
	forest  *Forest
	id      uint16
	orphan  bool // the tree has no definition: only what no TSD deletes
	leaves  bool // else branches of depth
	depth   int
	deepest int

	next   []byte // the row to go on from, nil at the end
	cells  []clearedCell
	branch *clearedCell // the branch of the row before, of which it is not known whether it is empty
}

// A clearedCell is a cell to delete.
type clearedCell struct {
	row []byte
	kv.Cell
}

func (c *clearing) clearLeaves(ctx context.Context) error {
	c.leaves = true
	return c.all(ctx)
}

// clearBranches deletes the branches that have become empty.
func (c *clearing) clearBranches(ctx context.Context) error {
	c.leaves = false
	for c.depth = c.deepest; c.depth >= 0; c.depth-- {
		if err := c.all(ctx); err != nil {
			return err
		}
	}
	return nil
}

// all goes over the rows.
func (c *clearing) all(ctx context.Context) error {
	for c.next = schema.TreeRow(c.id); c.next != nil; {
		if err := c.batch(ctx); err != nil {
			return fmt.Errorf("clear tree %d: %w", c.id, err)
		}
	}
	return nil
}

// batch deletes the cells of some rows. The index follows before anything else is appended.
func (c *clearing) batch(ctx context.Context) error {
	release, err := c.forest.holdAlone(ctx)
	if err != nil {
		return err
	}
	defer release()
	if c.orphan {
		if defined, err := c.defined(ctx); err != nil || defined {
			c.next = nil
			return err
		}
	}
	if err := c.collect(ctx); err != nil {
		return err
	}
	err = c.write(ctx)
	f := c.forest
	f.mu.Lock()
	defer f.mu.Unlock()
	f.complete = f.complete && err == nil // some may be there still
	for i := range c.cells {
		c.drop(f.index, &c.cells[i])
	}
	return err
}

// collect reads rows until there are enough cells for a batch.
func (c *clearing) collect(ctx context.Context) error {
	c.cells, c.branch = c.cells[:0], nil
	s := kv.Scan{Table: c.forest.o.TreeTable, Family: schema.FamilyData, Start: c.next, Limit: c.forest.clearRows + 1}
	if c.id < schema.MaxTreeID {
		s.Stop = schema.TreeRow(c.id + 1)
	}
	c.next = nil
	rows := 0
	for row, err := range c.forest.db.Scan(ctx, s) {
		if err != nil {
			return err
		}
		if rows++; rows > c.forest.clearRows || len(c.cells) > clearCells {
			c.next = row.Key
			c.meet(row.Key)
			break
		}
		if c.leaves {
			c.takeLeaves(row)
		} else {
			c.takeBranch(row)
		}
	}
	c.endBranch()
	return nil
}

// takeLeaves takes all cells of series in a row.
func (c *clearing) takeLeaves(row kv.Row) {
	if key, ok := schema.ParseBranchRow(row.Key); ok {
		c.deepest = max(c.deepest, len(key.Hashes))
	}
	for _, cell := range row.Cells {
		if c.orphan && isOurs(cell.Qualifier) || !c.orphan && isLeafCell(cell.Qualifier) {
			c.cells = append(c.cells, clearedCell{row.Key, cell})
		}
	}
}

// isLeafCell reports whether a cell is about a series.
func isLeafCell(qualifier []byte) bool {
	if _, ok := schema.ParseLeafQualifier(qualifier); ok {
		return true
	}
	if _, ok := parseAlso(qualifier); ok {
		return true
	}
	_, ok := schema.ParseFailureQualifier(qualifier)
	return ok || bytes.HasPrefix(qualifier, []byte(collidedPrefix))
}

// takeBranch takes the branch of a row of the depth if nothing is in the row and below it: series
// may have been appended since their leaves were deleted.
func (c *clearing) takeBranch(row kv.Row) {
	key, ok := schema.ParseBranchRow(row.Key)
	if !ok {
		return
	}
	c.meet(row.Key)
	c.endBranch()
	if len(key.Hashes) != c.depth {
		return
	}
	for _, cell := range row.Cells {
		switch {
		case isLeafCell(cell.Qualifier):
			c.branch = nil
			return
		case bytes.Equal(cell.Qualifier, schema.BranchQualifier()):
			c.branch = &clearedCell{row.Key, cell}
		}
	}
}

// meet notes the row of a branch that comes after the one before.
func (c *clearing) meet(row []byte) {
	if c.branch != nil && bytes.HasPrefix(row, c.branch.row) {
		c.branch = nil
	}
}

// endBranch takes a branch that is known to be empty.
func (c *clearing) endBranch() {
	if c.branch != nil {
		c.cells, c.branch = append(c.cells, *c.branch), nil
	}
}

// write deletes the cells; where other processes write too, each with its own stamp: what they put
// meanwhile stays. Rows may be wide, so it goes in steps.
func (c *clearing) write(ctx context.Context) error {
	f := c.forest
	for cells := range slices.Chunk(c.cells, clearCells) {
		gone := changes{}
		for i := range cells {
			gone.remove(cells[i].row, cells[i].Qualifier, cells[i].Time)
		}
		if !f.o.Exclusive {
			first := gone.row(cells[0].row)
			first.Deletes = append(first.Deletes, kv.Delete{Qualifier: []byte(noColumn)})
		}
		if err := f.db.Apply(ctx, f.o.TreeTable, schema.FamilyData, gone.all()); err != nil {
			return err
		}
	}
	return nil
}

// drop removes a cell from an index.
func (c *clearing) drop(x *Index, cell *clearedCell) {
	if tsuid, ok := bytes.CutPrefix(cell.Qualifier, []byte(collidedPrefix)); ok {
		x.removeCollided(c.id, tsuid)
		return
	}
	key, ok := schema.ParseBranchRow(cell.row)
	if !ok {
		return
	}
	if bytes.Equal(cell.Qualifier, schema.BranchQualifier()) {
		x.removeBranch(key)
	} else if hash, ok := schema.ParseLeafQualifier(cell.Qualifier); ok {
		x.removeColumn(key, hash)
	} else if hash, ok := parseAlso(cell.Qualifier); ok {
		x.removeSharer(key, hash, cell.Qualifier[len(alsoPrefix)+schema.ChildWidth:])
	}
}
