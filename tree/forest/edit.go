package forest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Definitions edits the trees of a table as a TSD's API does: by comparing and putting bytes, so
// that documents in any order can be edited and unknown fields survive.
type Definitions struct {
	db    kv.KV
	table string
}

// NewDefinitions returns the definitions of a table of db.
func NewDefinitions(db kv.KV, table string) *Definitions { return &Definitions{db: db, table: table} }

// editAttempts is how often an edit is tried against others who edit the same document.
const editAttempts = 5

// errContended means that other writers were always faster.
var errContended = errors.New("edited by others again and again")

// ErrNoTree means that there is no tree of an id.
var ErrNoTree = errors.New("there is no such tree")

// Get returns a tree as its row has it, whether it can be used or not; ErrNoTree without one. A rule
// that cannot be read has a place and no type.
func (d *Definitions) Get(ctx context.Context, id uint16) (tree.Definition, error) {
	row, err := d.row(ctx, id)
	if err != nil {
		return tree.Definition{}, err
	}
	if cellOf(row, schema.TreeQualifier()) == nil {
		return tree.Definition{}, fmt.Errorf("tree %d: %w", id, ErrNoTree)
	}
	return definitionOf(row), nil
}

// All returns all trees as their rows have them, by id, as Get does.
func (d *Definitions) All(ctx context.Context) (all []tree.Definition, err error) {
	err = eachTree(ctx, d.db, d.table, func(row kv.Row) {
		if cellOf(row, schema.TreeQualifier()) != nil {
			all = append(all, definitionOf(row))
		}
	})
	return all, err
}

// definitionOf reads what can be read of a row.
func definitionOf(row kv.Row) tree.Definition {
	t, _ := ParseDefinition(row)
	slices.SortStableFunc(t.Rules, func(a, b schema.TreeRule) int {
		return cmp.Or(cmp.Compare(a.Level, b.Level), cmp.Compare(a.Order, b.Order))
	})
	return t
}

// Create stores a new tree under the next free id.
func (d *Definitions) Create(ctx context.Context, t schema.Tree) (id uint16, err error) {
	if t.Name == "" {
		return 0, errors.New("create tree: the name is missing")
	}
	for range editAttempts {
		all, err := d.All(ctx)
		if err != nil {
			return 0, err
		}
		next, err := nextID(all)
		if err != nil {
			return 0, err
		}
		done, err := d.swap(ctx, next, schema.TreeQualifier(), nil, t.AppendTo(nil))
		if err != nil || done {
			return next, errors.Join(err, d.unmark(ctx, next))
		}
	}
	return 0, fmt.Errorf("create tree %s: %w", t.Name, errContended)
}

// Edit changes the definition of a tree.
func (d *Definitions) Edit(ctx context.Context, id uint16, change func(*schema.Tree)) error {
	return d.edit(ctx, id, schema.TreeQualifier(), func(_ kv.Row, stored []byte) ([]byte, error) {
		if stored == nil {
			return nil, ErrNoTree
		}
		t, err := schema.ParseTree(stored)
		if err != nil {
			return nil, storage.RowError{Err: fmt.Errorf("row %X of %s: the definition of the tree cannot be read: %w; tsdbridge fsck finds it, "+
				"and DELETE /api/tree?treeid=%d&definition=true deletes the tree", schema.TreeRow(id), d.table, err, id)}
		}
		change(&t)
		return schema.EditTree(stored, t)
	})
}

// PutRule stores a rule in place of the one at its level and order, if there is one.
func (d *Definitions) PutRule(ctx context.Context, id uint16, r schema.TreeRule) error {
	return d.EditRule(ctx, id, r.Level, r.Order, func(schema.TreeRule, bool) (schema.TreeRule, error) { return r, nil })
}

// EditRule changes the rule of a level and an order. there is false when there is none yet, or none
// that can be read.
func (d *Definitions) EditRule(
	ctx context.Context, id uint16, level, order int, change func(have schema.TreeRule, there bool) (schema.TreeRule, error),
) error {
	return d.edit(ctx, id, schema.RuleQualifier(level, order), func(row kv.Row, stored []byte) ([]byte, error) {
		have, err := schema.ParseTreeRule(stored)
		there := err == nil
		r, err := change(have, there)
		if err != nil {
			return nil, err
		}
		r.Level, r.Order, r.TreeID = level, order, int(id)
		if err := checkRule(id, r); err != nil {
			return nil, err
		}
		if !there {
			return r.LikeSibling(anyRule(row)), nil
		}
		return schema.EditTreeRule(stored, r)
	})
}

// anyRule returns the document of a rule of a tree, nil without one. A new rule has its fields in the
// same order: the TSD that wrote it can edit that one too.
func anyRule(row kv.Row) []byte {
	for _, c := range row.Cells {
		if _, _, ok := schema.ParseRuleQualifier(c.Qualifier); ok {
			return c.Value
		}
	}
	return nil
}

// checkRule refuses a rule that no TSD could load, or that only Java could run.
func checkRule(id uint16, r schema.TreeRule) error {
	if err := tree.CheckLoadable(r); err != nil {
		return fmt.Errorf("%w: tree %d: rule %d:%d: %w", storage.ErrInvalid, id, r.Level, r.Order, err)
	}
	return nil
}

// ReplaceRules stores rules in place of all that a tree has, in one step.
func (d *Definitions) ReplaceRules(ctx context.Context, id uint16, rules []schema.TreeRule) error {
	row, err := d.row(ctx, id)
	if err != nil {
		return err
	}
	m, kept := kv.Mutation{Key: schema.TreeRow(id)}, map[string]bool{}
	for _, r := range rules {
		r.TreeID = int(id)
		if err := checkRule(id, r); err != nil {
			return err
		}
		column := schema.RuleQualifier(r.Level, r.Order)
		if kept[string(column)] {
			return fmt.Errorf("%w: tree %d: rule %d:%d is given twice", storage.ErrInvalid, id, r.Level, r.Order)
		}
		kept[string(column)] = true
		m.Puts = append(m.Puts, kv.Put{Qualifier: column, Value: r.LikeSibling(anyRule(row))})
	}
	for _, c := range row.Cells {
		if _, _, ok := schema.ParseRuleQualifier(c.Qualifier); ok && !kept[string(c.Qualifier)] {
			m.Deletes = append(m.Deletes, kv.Delete{Qualifier: c.Qualifier})
		}
	}
	if len(m.Puts)+len(m.Deletes) == 0 {
		return nil
	}
	if err := d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{m}); err != nil {
		return fmt.Errorf("write the rules of tree %d: %w", id, err)
	}
	return nil
}

// DeleteRule deletes a rule.
func (d *Definitions) DeleteRule(ctx context.Context, id uint16, level, order int) error {
	m := kv.Mutation{Key: schema.TreeRow(id), Deletes: []kv.Delete{{Qualifier: schema.RuleQualifier(level, order)}}}
	if err := d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{m}); err != nil {
		return fmt.Errorf("delete rule %d:%d of tree %d: %w", level, order, id, err)
	}
	return nil
}

// edit replaces a document by what change makes of it; nil is one that is not there. row is that of the
// tree.
func (d *Definitions) edit(ctx context.Context, id uint16, column []byte, change func(row kv.Row, stored []byte) ([]byte, error)) error {
	for range editAttempts {
		row, err := d.row(ctx, id)
		if err != nil {
			return err
		}
		stored := cellOf(row, column)
		edited, err := change(row, stored)
		if err != nil {
			return fmt.Errorf("edit %s of tree %d: %w", column, id, err)
		}
		if stored != nil && bytes.Equal(stored, edited) {
			return nil
		}
		if done, err := d.swap(ctx, id, column, stored, edited); err != nil || done {
			return err
		}
	}
	return fmt.Errorf("edit %s of tree %d: %w", column, id, errContended)
}

func (d *Definitions) row(ctx context.Context, id uint16) (kv.Row, error) {
	rows, err := d.db.Get(ctx, d.table, schema.FamilyData, [][]byte{schema.TreeRow(id)})
	if err != nil {
		return kv.Row{}, fmt.Errorf("read tree %d: %w", id, err)
	}
	return rows[0], nil
}

func (d *Definitions) swap(ctx context.Context, id uint16, column, stored, edited []byte) (bool, error) {
	c := kv.Column{Table: d.table, Family: schema.FamilyData, Row: schema.TreeRow(id), Qualifier: column}
	done, err := d.db.CheckAndPut(ctx, c, stored, edited)
	if err != nil {
		return false, fmt.Errorf("write %s of tree %d: %w", column, id, err)
	}
	if !done { // or the answer that it was done was lost
		row, err := d.row(ctx, id)
		if err != nil || !bytes.Equal(cellOf(row, column), edited) {
			return false, err
		}
	}
	return true, d.flush(ctx, id)
}

// flush makes a check-and-put durable, which it need not be before the next Apply. It deletes
// nothing that is there.
func (d *Definitions) flush(ctx context.Context, id uint16) error {
	none := kv.Mutation{Key: schema.TreeRow(id), Deletes: []kv.Delete{{Qualifier: []byte("tsdbridge.flush")}}}
	return d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{none})
}

// unmark removes the columns of a deleted tree of the same id that no TSD deletes.
func (d *Definitions) unmark(ctx context.Context, id uint16) error {
	m := kv.Mutation{Key: schema.TreeRow(id), Deletes: []kv.Delete{
		{Qualifier: []byte(markColumn)}, {Qualifier: []byte(severalColumn)}, {Qualifier: []byte(clearedColumn)},
	}}
	return d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{m})
}

// ensure gives the id of the first tree of a name, which is stored under the next free id if there
// is none. The id is taken from the very reading that did not find the name, so that of two
// processes only one makes the tree.
func (d *Definitions) ensure(ctx context.Context, t schema.Tree) (id uint16, err error) {
	for range editAttempts {
		all, err := d.All(ctx)
		if err != nil {
			return 0, err
		}
		for _, have := range all {
			if have.Name == t.Name {
				return have.ID, nil
			}
		}
		next, err := nextID(all)
		if err != nil {
			return 0, err
		}
		if done, err := d.swap(ctx, next, schema.TreeQualifier(), nil, t.AppendTo(nil)); err != nil || done {
			return next, err
		}
	}
	return 0, fmt.Errorf("create tree %s: %w", t.Name, errContended)
}

// nextID returns the greatest id of a tree and one more, as OpenTSDB 2.4 Tree.createNewTree takes
// it.
func nextID(all []tree.Definition) (uint16, error) {
	if len(all) == 0 {
		return 1, nil
	}
	last := all[len(all)-1].ID
	if last == schema.MaxTreeID {
		return 0, errors.New("all ids of trees are taken")
	}
	return last + 1, nil
}
