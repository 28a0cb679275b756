package tree

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// write puts the cells where there are none: all at once those that the table is known not to have, the others by check-and-puts, branches
// from the root downwards and then leaves, as a TSD does.
func (c *claims) write(ctx context.Context) error {
	slices.SortStableFunc(c.cells, func(a, b claimed) int { return a.rank() - b.rank() })
	for begin := 0; begin < len(c.cells); {
		end := begin + 1
		for end < len(c.cells) && c.cells[end].rank() == c.cells[begin].rank() {
			end++
		}
		if err := c.forest.putAll(ctx, c.cells[begin:end]); err != nil {
			return err
		}
		begin = end
	}
	return nil
}

// rank orders cells: those that are put at once, then the others by depth.
func (c *claimed) rank() int {
	if c.absent {
		return 0
	}
	return c.depth()
}

// putAll writes cells of one rank.
func (f *Forest) putAll(ctx context.Context, cells []claimed) error {
	if cells[0].absent {
		return f.db.Apply(ctx, f.o.TreeTable, schema.FamilyData, mutations(cells))
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(f.o.Concurrency, 1))
	for i := range cells {
		g.Go(func() error { return f.put(ctx, &cells[i]) })
	}
	return g.Wait()
}

// put writes a cell if there is none. What stands there is read: who has a leaf (the answer to the check-and-put may have been
// lost, so that is perhaps the series that asked), and whether a branch bears another name of the same hash.
func (f *Forest) put(ctx context.Context, c *claimed) error {
	column := kv.Column{Table: f.o.TreeTable, Family: schema.FamilyData, Row: c.Row, Qualifier: c.Qualifier}
	written, err := f.db.CheckAndPut(ctx, column, nil, c.Value)
	switch {
	case err != nil || written || c.name == schema.RootName && len(c.Row) == len(schema.TreeRow(1)) && c.Leaf == nil:
		return err
	case c.Leaf != nil:
		c.holder, err = f.holder(ctx, column)
	default:
		c.name, err = f.branchName(ctx, column, c.name)
	}
	return err
}

// branchName reads the name of a branch. One that cannot be read stays, and counts as ours.
func (f *Forest) branchName(ctx context.Context, c kv.Column, ours string) (string, error) {
	value, err := f.stands(ctx, c)
	if err != nil {
		return "", err
	}
	if b, err := schema.ParseBranch(value); err == nil {
		return b.DisplayName, nil
	}
	return ours, nil
}

// errGone is about a cell that was deleted while somebody was looking at it.
var errGone = errors.New("the cell is gone again")

// holder reads the leaf of a column. One that cannot be read stays, as it does for a TSD.
func (f *Forest) holder(ctx context.Context, c kv.Column) (*schema.Leaf, error) {
	value, err := f.stands(ctx, c)
	if err != nil {
		return nil, err
	}
	leaf, _ := schema.ParseLeaf(value)
	return &leaf, nil
}

// stands reads a cell that is there.
func (f *Forest) stands(ctx context.Context, c kv.Column) ([]byte, error) {
	s := kv.Scan{Table: c.Table, Family: c.Family, Start: c.Row, Stop: append(slices.Clone(c.Row), 0), Qualifier: c.Qualifier, Limit: 1}
	for row, err := range f.db.Scan(ctx, s) {
		if err != nil {
			return nil, err
		}
		return slices.Clone(row.Cells[0].Value), nil
	}
	return nil, fmt.Errorf("row %X: %w", c.Row, errGone)
}
