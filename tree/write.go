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

// put writes a cell if there is none. Who has a leaf that could not be written is read from it; the answer to the check-and-put
// may have been lost, so that is perhaps the series that asked.
func (f *Forest) put(ctx context.Context, c *claimed) error {
	column := kv.Column{Table: f.o.TreeTable, Family: schema.FamilyData, Row: c.Row, Qualifier: c.Qualifier}
	written, err := f.db.CheckAndPut(ctx, column, nil, c.Value)
	if err != nil || written || c.Leaf == nil {
		return err
	}
	c.holder, err = f.holder(ctx, column)
	return err
}

// errGone is about a leaf that was deleted while a series was looking at it.
var errGone = errors.New("the leaf is gone again")

// holder reads the leaf of a column. One that cannot be read stays, as it does for a TSD.
func (f *Forest) holder(ctx context.Context, c kv.Column) (*schema.Leaf, error) {
	s := kv.Scan{Table: c.Table, Family: c.Family, Start: c.Row, Stop: append(slices.Clone(c.Row), 0), Qualifier: c.Qualifier, Limit: 1}
	for row, err := range f.db.Scan(ctx, s) {
		if err != nil {
			return nil, err
		}
		leaf, _ := schema.ParseLeaf(row.Cells[0].Value)
		return &leaf, nil
	}
	return nil, fmt.Errorf("row %X: %w", c.Row, errGone)
}
