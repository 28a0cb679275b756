package forest

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
	// Skipped are cells that cannot be browsed to (the row above is missing) or read. Unreadable are
	// the latter, and Example is one of them.
	Skipped, Unreadable int
	Example             string
	// Latest is the greatest time of a cell, milliseconds of the engine's clock.
	Latest int64
}

// Load adds the branches and leaves that were written since a time (milliseconds of the engine's
// clock; 0: all). Rows come sorted, so a branch comes before its children. To see what others
// wrote, call it with a time somewhat before the Latest of the last call.
func (x *Index) Load(ctx context.Context, db kv.KV, table string, since int64) (Loaded, error) {
	l := loading{index: x, way: way{index: x}}
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
	way      way // to the branch of the row before
	column   []byte
	collided []collidedLeaf // added last, when their branches are there
}

func (l *loading) row(row kv.Row) error {
	if !schema.IsBranchRow(row.Key) {
		l.failures(row)
		return nil
	}
	for _, c := range row.Cells {
		if string(c.Qualifier) == string(l.branchColumn()) {
			if err := l.branch(row.Key, c.Value); err != nil {
				return err
			}
		}
	}
	tree := schema.TreeOf(row.Key)
	branch, known := l.way.to(row.Key)
	addLeaf := func(hash uint32, leaf schema.Leaf) (bool, error) {
		if !known {
			return false, nil
		}
		return true, l.index.addLeafTo(tree, branch, hash, leaf)
	}
	addAlso := func(hash uint32, leaf schema.Leaf) (bool, error) {
		key, _ := schema.ParseBranchRow(row.Key)
		return l.index.AddAlso(key, hash, leaf)
	}
	for _, c := range row.Cells {
		l.Latest = max(l.Latest, c.Time)
		var err error
		if hash, ok := schema.ParseLeafQualifier(c.Qualifier); ok {
			err = l.leaf(addLeaf, hash, row.Key, c)
		} else if hash, ok := parseAlso(c.Qualifier); ok {
			err = l.leaf(addAlso, hash, row.Key, c)
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
	if l.Unreadable += broken; broken > 0 && l.Example == "" {
		l.Example = fmt.Sprintf("row %X", row.Key)
	}
	for _, c := range row.Cells {
		l.Latest = max(l.Latest, c.Time)
	}
}

// branchColumn is the column of a branch.
func (l *loading) branchColumn() []byte {
	if l.column == nil {
		l.column = schema.BranchQualifier()
	}
	return l.column
}

// branch adds the branch of a row. Its name alone is read of the usual document, which has the names
// of all branches above: of deep ones it is long.
func (l *loading) branch(row, raw []byte) error {
	name, ok := schema.NameOfBranch(row, raw)
	if !ok {
		b, broken := schema.ParseBranch(raw)
		if broken != nil {
			l.unreadable(row, l.branchColumn(), broken)
			return nil
		}
		name = b.DisplayName
	}
	ok, err := l.way.add(row, name)
	l.count(ok, &l.Branches)
	return err
}

// An adder takes the leaf of a row's column into an index.
type adder func(hash uint32, leaf schema.Leaf) (ok bool, err error)

func (l *loading) leaf(add adder, hash uint32, row []byte, c kv.Cell) error {
	leaf, broken := schema.ParseLeaf(c.Value)
	if broken != nil {
		l.unreadable(row, c.Qualifier, broken)
		return nil
	}
	ok, err := add(hash, leaf)
	l.count(ok, &l.Leaves)
	return err
}

// unreadable counts a cell that cannot be read. A TSD leaves it out too, and so does a tree here: one
// bad cell must not take all others away.
func (l *loading) unreadable(row, qualifier []byte, why error) {
	l.Skipped++
	if l.Unreadable++; l.Example == "" {
		l.Example = fmt.Sprintf("row %X, cell %.60q: %v", row, qualifier, why)
	}
}

func (l *loading) count(ok bool, what *int) {
	if !ok {
		what = &l.Skipped
	}
	*what++
}

// A way is the branches of an index that lead to a row: rows come in the order of their keys, so a row
// mostly has the way of the one before it but for its end. Branches that were found stay for ever.
type way struct {
	index    *Index
	row      []byte   // the key of the row that it leads to
	branches []uint32 // from the root to that row, as far as they are there
}

// to returns the branch of a row; ok is false when the row is not there.
func (w *way) to(row []byte) (branch uint32, ok bool) {
	w.index.mu.RLock()
	defer w.index.mu.RUnlock()
	return w.find(row)
}

// find is to. The caller holds the index' mu.
func (w *way) find(row []byte) (branch uint32, ok bool) {
	w.branches = w.branches[:min(len(w.branches), schema.SharedDepth(w.row, row))]
	w.row = append(w.row[:0], row...)
	for depth := len(w.branches); depth <= schema.Depth(row); depth++ {
		at := cellID{noBranch, uint32(schema.TreeOf(row))}
		if depth > 0 {
			at = cellID{w.branches[depth-1], schema.HashAt(row, depth)}
		}
		next, there := w.index.branches[at]
		if !there {
			return 0, false
		}
		w.branches = append(w.branches, next)
	}
	return w.branches[len(w.branches)-1], true
}

// add adds the branch of a row. ok is false when the row's parent is not there: browsing never
// reaches it.
func (w *way) add(row []byte, name string) (ok bool, err error) {
	shown := w.index.shown(name)
	w.index.mu.Lock()
	defer w.index.mu.Unlock()
	depth := schema.Depth(row)
	at := cellID{noBranch, uint32(schema.TreeOf(row))}
	if depth > 0 {
		parent, ok := w.find(row[:len(row)-schema.ChildWidth])
		if !ok {
			return false, nil
		}
		at = cellID{parent, schema.HashAt(row, depth)}
	}
	return true, w.index.addBranch(at, shown)
}
