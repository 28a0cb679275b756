package forest

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Declare makes trees of a table equal to definitions, each by its name. Other trees stay.
func Declare(ctx context.Context, db kv.KV, table string, all []tree.Definition) error {
	d := NewDefinitions(db, table)
	for _, t := range all {
		if _, err := d.Declare(ctx, t); err != nil {
			return fmt.Errorf("declare tree %s: %w", t.Name, err)
		}
	}
	return nil
}

// Declare makes a tree of the table equal to a definition, by its name, and returns its id. The
// tree is created if no tree has that name, its rules are put, and rules that are not declared are
// deleted. Cells that already equal the declaration are not written. Branches and leaves of the
// tree stay as they are.
func (d *Definitions) Declare(ctx context.Context, want tree.Definition) (id uint16, err error) {
	want.ID = max(want.ID, 1)
	if err := tree.Check(want); err != nil {
		return 0, err
	}
	have, err := d.byName(ctx, want.Name)
	if err != nil {
		return 0, err
	}
	if have.ID == 0 {
		enabled := want.Tree
		enabled.Enabled = false // until its rules are there
		if have.ID, err = d.Create(ctx, enabled); err != nil {
			return 0, err
		}
	}
	declared := map[[2]int]bool{}
	for _, r := range want.Rules {
		declared[[2]int{r.Level, r.Order}] = true
		if err := d.PutRule(ctx, have.ID, r); err != nil {
			return 0, err
		}
	}
	for _, r := range have.Rules {
		if !declared[[2]int{r.Level, r.Order}] {
			if err := d.DeleteRule(ctx, have.ID, r.Level, r.Order); err != nil {
				return 0, err
			}
		}
	}
	if err := d.setSum(ctx, have, want.Sum); err != nil {
		return 0, err
	}
	return have.ID, d.Edit(ctx, have.ID, func(t *schema.Tree) {
		created := t.Created
		*t = want.Tree
		t.Created = created
	})
}

// setSum stores whether render returns several series of a path as their sum.
func (d *Definitions) setSum(ctx context.Context, have tree.Definition, sum bool) error {
	if have.Sum == sum {
		return nil
	}
	m := kv.Mutation{Key: schema.TreeRow(have.ID)}
	if sum {
		m.Puts = []kv.Put{{Qualifier: []byte(severalColumn), Value: []byte(severalSum)}}
	} else {
		m.Deletes = []kv.Delete{{Qualifier: []byte(severalColumn)}}
	}
	if err := d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{m}); err != nil {
		return fmt.Errorf("write %s of tree %d: %w", severalColumn, have.ID, err)
	}
	return nil
}

// byName finds a tree that has a name, the first of several; no id without one.
func (d *Definitions) byName(ctx context.Context, name string) (tree.Definition, error) {
	all, err := d.All(ctx)
	if err != nil {
		return tree.Definition{}, err
	}
	for _, t := range all { // one that cannot be used is perhaps mended by what is declared
		if t.Name == name {
			return t, nil
		}
	}
	return tree.Definition{}, nil
}
