package tree

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
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

// Create stores a new tree under the next free id.
func (d *Definitions) Create(ctx context.Context, t schema.Tree) (id uint16, err error) {
	if t.Name == "" {
		return 0, errors.New("create tree: the name is missing")
	}
	for range editAttempts {
		all, err := d.all(ctx)
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
	return d.edit(ctx, id, schema.TreeQualifier(), func(stored []byte) ([]byte, error) {
		if stored == nil {
			return nil, fmt.Errorf("there is no tree %d", id)
		}
		t, err := schema.ParseTree(stored)
		if err != nil {
			return nil, err
		}
		change(&t)
		return schema.EditTree(stored, t)
	})
}

// PutRule stores a rule in place of the one at its level and order, if there is one.
func (d *Definitions) PutRule(ctx context.Context, id uint16, r schema.TreeRule) error {
	r.TreeID = int(id)
	if _, err := compileRule(id, r); err != nil {
		return fmt.Errorf("tree %d: rule %d:%d: %w", id, r.Level, r.Order, err)
	}
	return d.edit(ctx, id, schema.RuleQualifier(r.Level, r.Order), func(stored []byte) ([]byte, error) {
		if stored == nil {
			return r.AppendTo(nil), nil
		}
		return schema.EditTreeRule(stored, r)
	})
}

// DeleteRule deletes a rule.
func (d *Definitions) DeleteRule(ctx context.Context, id uint16, level, order int) error {
	m := kv.Mutation{Key: schema.TreeRow(id), Deletes: []kv.Delete{{Qualifier: schema.RuleQualifier(level, order)}}}
	if err := d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{m}); err != nil {
		return fmt.Errorf("delete rule %d:%d of tree %d: %w", level, order, id, err)
	}
	return nil
}

// edit replaces a document by what change makes of it; nil is one that is not there.
func (d *Definitions) edit(ctx context.Context, id uint16, column []byte, change func(stored []byte) ([]byte, error)) error {
	for range editAttempts {
		row, err := d.row(ctx, id)
		if err != nil {
			return err
		}
		stored := cellOf(row, column)
		edited, err := change(stored)
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

// unmark removes the mark of a deleted tree of the same id, which records how far series were
// appended to it.
func (d *Definitions) unmark(ctx context.Context, id uint16) error {
	m := kv.Mutation{Key: schema.TreeRow(id), Deletes: []kv.Delete{{Qualifier: []byte(markColumn)}}}
	return d.db.Apply(ctx, d.table, schema.FamilyData, []kv.Mutation{m})
}

// ensure gives the id of the first tree of a name, which is stored under the next free id if there
// is none. The id is taken from the very reading that did not find the name, so that of two
// processes only one makes the tree.
func (d *Definitions) ensure(ctx context.Context, t schema.Tree) (id uint16, err error) {
	for range editAttempts {
		all, err := d.all(ctx)
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

// all reads the definitions by id, also those that cannot be used.
func (d *Definitions) all(ctx context.Context) ([]Definition, error) {
	trees, broken, err := LoadTrees(ctx, d.db, d.table)
	if err != nil {
		return nil, err
	}
	var all []Definition
	for _, t := range trees {
		all = append(all, Definition{ID: t.id, Tree: t.def})
	}
	for _, b := range broken {
		all = append(all, b.Definition)
	}
	slices.SortFunc(all, func(a, b Definition) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}

// nextID returns the greatest id of a tree and one more, as OpenTSDB 2.4 Tree.createNewTree takes
// it.
func nextID(all []Definition) (uint16, error) {
	if len(all) == 0 {
		return 1, nil
	}
	last := all[len(all)-1].ID
	if last == schema.MaxTreeID {
		return 0, errors.New("all ids of trees are taken")
	}
	return last + 1, nil
}
