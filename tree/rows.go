package tree

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree/glob"
)

// Rows finds paths in tsdb-tree itself, without an index in memory. A branch is one read and one
// scan of its children's rows.
type Rows struct {
	db    kv.KV
	table string
	shown func(stored string) string
}

// NewRows returns a search over a table of db. shown returns a stored name as people see it; nil:
// as it is.
func NewRows(db kv.KV, table string, shown func(stored string) string) *Rows {
	if shown == nil {
		shown = asStored
	}
	return &Rows{db: db, table: table, shown: shown}
}

// Find lists what a pattern matches in some trees, in the order of the paths' bytes.
func (r *Rows) Find(ctx context.Context, pattern string, o FindOptions) ([]Node, error) {
	g, err := glob.Compile(pattern)
	if err != nil {
		return nil, err
	}
	collided, err := r.collided(ctx, o.Trees)
	if err != nil {
		return nil, err
	}
	hits, err := walkAll(ctx, collided.index, collided.index.roots(o.Trees), g, o)
	if err != nil {
		return nil, err
	}
	var roots []root[[]byte]
	for _, id := range o.Trees {
		roots = append(roots, root[[]byte]{id, schema.TreeRow(id)})
	}
	more, err := walkAll(ctx, rowsSource{r, collided}, roots, g, o)
	if err != nil {
		return nil, err
	}
	nodes := nodesOf(append(hits, more...))
	if o.Limit > 0 && len(nodes) > o.Limit {
		return nil, tooMany(o.Limit)
	}
	return nodes, nil
}

// A collidedIndex is the collided leaves of some trees, in an index of their own.
type collidedIndex struct {
	index *Index
	ids   map[string]bool // collidedID
	rows  map[string]bool // of branches on which or below which their leaves may be
}

func (r *Rows) collided(ctx context.Context, trees []uint16) (collidedIndex, error) {
	all := collidedIndex{NewIndex(r.shown), map[string]bool{}, map[string]bool{}}
	keys := make([][]byte, 0, len(trees))
	for _, id := range trees {
		keys = append(keys, schema.CollisionRow(id))
	}
	rows, err := r.db.Get(ctx, r.table, schema.FamilyData, keys)
	if err != nil {
		return all, fmt.Errorf("read the collided leaves of %d trees: %w", len(trees), err)
	}
	for _, row := range rows {
		collided, _ := collidedLeaves(row)
		for _, s := range collided {
			if _, err := all.index.AddBranch(schema.BranchKey{Tree: s.tree}, schema.RootName); err != nil {
				return all, err
			}
			if _, err := all.index.addCollided(s); err != nil {
				return all, err
			}
			all.ids[collidedID(s.tree, s.tsuid)] = true
			for depth := range s.names {
				all.rows[string(schema.BranchRow(s.tree, s.names[:depth]...))] = true
			}
		}
	}
	return all, nil
}

// rowsSource is the rows without the leaves of collided series.
type rowsSource struct {
	*Rows
	collided collidedIndex
}

// list implements source. It visits every leaf and branch and ignores the ranges: rows are ordered
// by hashes.
func (r rowsSource) list(ctx context.Context, row []byte, _ []glob.Range, visit func(child[[]byte]) error) error {
	rows, err := r.db.Get(ctx, r.table, schema.FamilyData, [][]byte{row})
	if err != nil {
		return fmt.Errorf("read branch %X: %w", row, err)
	}
	for _, c := range rows[0].Cells {
		_, isLeaf := schema.ParseLeafQualifier(c.Qualifier)
		if _, isAlso := parseAlso(c.Qualifier); !isLeaf && !isAlso {
			continue
		}
		leaf, err := schema.ParseLeaf(c.Value)
		if err != nil {
			continue // a TSD leaves broken leaves out too
		}
		if r.collided.ids[collidedID(binary.BigEndian.Uint16(row), leaf.TSUID)] {
			continue
		}
		if err := visit(child[[]byte]{name: []byte(r.shown(leaf.DisplayName)), tsuid: leaf.TSUID}); err != nil {
			return err
		}
	}
	return r.branches(ctx, row, visit)
}

// errOccupied ends a listing early.
var errOccupied = errors.New("the branch is not empty")

// empty implements source. It is worth reads only where the leaves of a branch may all be hidden:
// branches whose series were forgotten on shared tables are shown.
func (r rowsSource) empty(ctx context.Context, row []byte) bool {
	if !r.collided.rows[string(row)] {
		return false
	}
	return r.list(ctx, row, nil, func(c child[[]byte]) error {
		if c.tsuid == nil && r.empty(ctx, c.branch) {
			return nil
		}
		return errOccupied
	}) == nil
}

// deeperRows is how many rows below one child are skipped before the scan begins again after them.
const deeperRows = 32

// branches lists the branches of a branch.
func (r *Rows) branches(ctx context.Context, row []byte, visit func(child[[]byte]) error) error {
	return r.eachBranch(ctx, row, func(found []listedBranch) error {
		// Visiting descends into the children, so the scan has ended.
		for _, b := range found {
			if err := visit(child[[]byte]{name: []byte(r.shown(b.DisplayName)), branch: b.Row}); err != nil {
				return err
			}
		}
		return nil
	})
}

// listedBranch is a branch that was found below another one.
type listedBranch struct {
	Row []byte
	schema.Branch
}

// eachBranch calls visit with the branches of a branch, some at a time. Their rows are the next
// longer ones; the rows below each of them come in between.
func (r *Rows) eachBranch(ctx context.Context, row []byte, visit func([]listedBranch) error) error {
	next := append(append([]byte{}, row...), 0, 0, 0, 0)
	for next != nil {
		var found []listedBranch
		var err error
		if found, next, err = r.scan(ctx, row, next); err != nil {
			return err
		}
		if err := visit(found); err != nil {
			return err
		}
	}
	return nil
}

// branchesPerScan bounds the branches that are in memory at a time.
const branchesPerScan = 10_000

// scan lists branches of a branch from a row key on. It returns where to continue; nil at the end.
func (r *Rows) scan(ctx context.Context, row, from []byte) (children []listedBranch, next []byte, err error) {
	deeper, width := 0, len(row)+schema.ChildWidth
	// The last child that a scan can find has the greatest hash: the rows below it come after it.
	stop := append(append([]byte{}, row...), 0xFF, 0xFF, 0xFF, 0xFF, 0)
	s := kv.Scan{Table: r.table, Family: schema.FamilyData, Start: from, Stop: stop, Qualifier: schema.BranchQualifier()}
	for found, err := range r.db.Scan(ctx, s) {
		if err != nil {
			return nil, nil, fmt.Errorf("list the branches of %X: %w", row, err)
		}
		if len(children) == branchesPerScan {
			return children, found.Key, nil
		}
		if len(found.Key) != width {
			if deeper++; deeper > deeperRows && len(found.Key) > width {
				return children, nextSibling(found.Key[:width]), nil
			}
			continue
		}
		deeper = 0
		if b, err := schema.ParseBranch(found.Cells[0].Value); err == nil {
			children = append(children, listedBranch{found.Key, b})
		}
	}
	return children, nil, nil
}

// nextSibling returns the row key of the next sibling, nil after the last one.
func nextSibling(row []byte) []byte {
	at := len(row) - schema.ChildWidth
	hash := binary.BigEndian.Uint32(row[at:])
	if hash == math.MaxUint32 {
		return nil
	}
	return binary.BigEndian.AppendUint32(append([]byte{}, row[:at]...), hash+1)
}
