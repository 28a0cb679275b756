package tree

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Loaded is what was read into an index.
type Loaded struct {
	Branches, Leaves int
	// CollidedLeaves are series whose path is in no cells but a column of their own.
	CollidedLeaves int
	// Skipped are cells that cannot be browsed to (the row above is missing) or read.
	Skipped int
	// Latest is the greatest time of a cell, milliseconds of the engine's clock.
	Latest int64
}

// Load adds the branches and leaves that were written since a time (milliseconds of the engine's
// clock; 0: all). Rows come sorted, so a branch comes before its children. To see what others
// wrote, call it with a time somewhat before the Latest of the last call.
func (x *Index) Load(ctx context.Context, db kv.KV, table string, since int64) (Loaded, error) {
	l := loading{index: x}
	s := kv.Scan{Table: table, Family: schema.FamilyData, Start: schema.TreeRow(1), Since: since}
	for row, err := range db.Scan(ctx, s) {
		if err == nil {
			err = l.row(row)
		}
		if err != nil {
			return l.Loaded, fmt.Errorf("load trees: %w", err)
		}
	}
	for _, s := range l.collided {
		ok, err := x.addCollided(s)
		if err != nil {
			return l.Loaded, fmt.Errorf("load trees: %w", err)
		}
		l.count(ok, &l.CollidedLeaves)
	}
	return l.Loaded, nil
}

// loading is one run of Load.
type loading struct {
	Loaded
	index    *Index
	collided []collidedLeaf // added last, when their branches are there
}

func (l *loading) row(row kv.Row) error {
	key, ok := schema.ParseBranchRow(row.Key)
	if !ok {
		l.failures(row)
		return nil
	}
	if raw := cellOf(row, schema.BranchQualifier()); raw != nil {
		if err := l.branch(key, raw); err != nil {
			return err
		}
	}
	branch, known := l.index.branch(key)
	addLeaf := func(key schema.BranchKey, hash uint32, leaf schema.Leaf) (bool, error) {
		if !known {
			return false, nil
		}
		return true, l.index.addLeafTo(key.Tree, branch, hash, leaf)
	}
	for _, c := range row.Cells {
		l.Latest = max(l.Latest, c.Time)
		var err error
		if hash, ok := schema.ParseLeafQualifier(c.Qualifier); ok {
			err = l.leaf(addLeaf, key, hash, c.Value)
		} else if hash, ok := parseAlso(c.Qualifier); ok {
			err = l.leaf(l.index.AddAlso, key, hash, c.Value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// failures adds the collided leaves of a row of collisions.
func (l *loading) failures(row kv.Row) {
	l.index.noteFailing(row.Key)
	collided, broken := collidedLeaves(row)
	l.collided = append(l.collided, collided...)
	l.Skipped += broken
	for _, c := range row.Cells {
		l.Latest = max(l.Latest, c.Time)
	}
}

func (l *loading) branch(key schema.BranchKey, raw []byte) error {
	b, broken := schema.ParseBranch(raw)
	if broken != nil {
		l.Skipped++
		return nil
	}
	ok, err := l.index.AddBranch(key, b.DisplayName)
	l.count(ok, &l.Branches)
	return err
}

// An adder takes the leaf of a row's column into an index.
type adder func(key schema.BranchKey, hash uint32, leaf schema.Leaf) (ok bool, err error)

func (l *loading) leaf(add adder, key schema.BranchKey, hash uint32, raw []byte) error {
	leaf, broken := schema.ParseLeaf(raw)
	if broken != nil {
		l.Skipped++
		return nil
	}
	ok, err := add(key, hash, leaf)
	l.count(ok, &l.Leaves)
	return err
}

func (l *loading) count(ok bool, what *int) {
	if !ok {
		what = &l.Skipped
	}
	*what++
}
