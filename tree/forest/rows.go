package forest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage"
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

// A Listing is a branch as a TSD shows it: what the cells of the table say about it and about what is
// directly below it. Collided leaves, and series that share a leaf, are not in it.
type Listing struct {
	Row []byte
	schema.Branch
	Branches []Listing // without what is below them
	Leaves   []schema.Leaf
}

// List returns the branch of a row, its branches and leaves by their names, ignoring case; false if
// there is no such branch. More than a number of branches and leaves is storage.ErrLimit.
func (e *Editor) List(ctx context.Context, row []byte, most int) (l Listing, ok bool, err error) {
	if err := e.ready(); err != nil || len(row) < len(schema.TreeRow(1)) || len(row) > kv.MaxKeyLength-2*schema.ChildWidth {
		return l, false, err
	}
	if l, ok, err = e.service.rows.branch(ctx, row); err != nil || !ok {
		return l, false, err
	}
	tooMany := fmt.Errorf("%w: branch %X has more than %d branches and leaves", storage.ErrLimit, row, most)
	if len(l.Leaves) > most {
		return l, false, tooMany
	}
	err = e.service.rows.eachBranch(ctx, row, func(found []listedBranch) error {
		for _, b := range found {
			l.Branches = append(l.Branches, Listing{Row: b.Row, Branch: b.Branch})
		}
		if len(l.Branches)+len(l.Leaves) > most {
			return tooMany
		}
		return nil
	})
	slices.SortFunc(l.Branches, func(a, b Listing) int { return compareNames(a.DisplayName, b.DisplayName) })
	slices.SortFunc(l.Leaves, func(a, b schema.Leaf) int { return compareNames(a.DisplayName, b.DisplayName) })
	return l, err == nil, err
}

// branch reads the row of a branch.
func (r *Rows) branch(ctx context.Context, row []byte) (l Listing, ok bool, err error) {
	if _, ok := schema.ParseBranchRow(row); !ok {
		return l, false, nil
	}
	rows, err := r.db.Get(ctx, r.table, schema.FamilyData, [][]byte{row})
	if err != nil {
		return l, false, fmt.Errorf("read branch %X: %w", row, err)
	}
	l.Row = row
	for _, c := range rows[0].Cells {
		if _, isLeaf := schema.ParseLeafQualifier(c.Qualifier); isLeaf {
			if leaf, err := schema.ParseLeaf(c.Value); err == nil {
				l.Leaves = append(l.Leaves, leaf)
			}
		} else if bytes.Equal(c.Qualifier, schema.BranchQualifier()) {
			l.Branch, err = schema.ParseBranch(c.Value)
			ok = err == nil
		}
	}
	return l, ok, nil
}

// compareNames orders names as Java's String.compareToIgnoreCase does, nearly, and then by their
// bytes.
func compareNames(a, b string) int {
	return cmp.Or(cmp.Compare(folded(a), folded(b)), cmp.Compare(a, b))
}

// folded returns a name in small letters, by way of capital ones.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }
