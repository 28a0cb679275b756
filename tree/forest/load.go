package forest

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Broken is a tree that cannot be used, and why.
type Broken struct {
	tree.Definition // what could be read of it
	cleared         string
	Err             error
}

// LoadTrees reads the definitions of all trees, by id. Trees that cannot be used are listed
// separately and do not affect the others.
func LoadTrees(ctx context.Context, db kv.KV, table string) (trees []*Tree, broken []Broken, err error) {
	trees, broken, _, err = loadTrees(ctx, db, table)
	return trees, broken, err
}

// loadTrees is LoadTrees. orphans are trees that were deleted and of which columns of ours are left.
func loadTrees(ctx context.Context, db kv.KV, table string) (trees []*Tree, broken []Broken, orphans []uint16, err error) {
	err = eachTree(ctx, db, table, func(row kv.Row) {
		d, err := parseDefinition(row)
		if cellOf(row, schema.TreeQualifier()) == nil {
			if slices.ContainsFunc(row.Cells, func(c kv.Cell) bool { return isNote(c.Qualifier) }) {
				orphans = append(orphans, d.ID)
			}
			return
		}
		var t *Tree
		if err == nil {
			t, err = compile(d)
		}
		if err != nil {
			broken = append(broken, Broken{d.Definition, d.cleared, err})
			return
		}
		trees = append(trees, t)
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return trees, broken, orphans, nil
}

// eachTree calls visit with the row of each tree, by id, also if it has no definition.
func eachTree(ctx context.Context, db kv.KV, table string, visit func(kv.Row)) error {
	for id := 1; id <= schema.MaxTreeID; id++ {
		row, err := nextTree(ctx, db, table, uint16(id))
		if err != nil || row.Key == nil {
			return err
		}
		if len(row.Key) < 2 { // of another writer, before the trees whose rows begin so
			id = int(row.Key[0])<<8 - 1
			continue
		}
		id = int(binary.BigEndian.Uint16(row.Key))
		if len(row.Key) == 2 {
			visit(row)
		}
	}
	return nil
}

// nextTree reads the first row that belongs to a tree of this id or a greater one, which is that of
// its definition if it has one. One row at a time: millions of branches may stand between two
// definitions.
func nextTree(ctx context.Context, db kv.KV, table string, id uint16) (kv.Row, error) {
	for row, err := range db.Scan(ctx, kv.Scan{Table: table, Family: schema.FamilyData, Start: schema.TreeRow(id), Limit: 1}) {
		if err != nil {
			return kv.Row{}, fmt.Errorf("read tree %d or the next: %w", id, err)
		}
		return row, nil
	}
	return kv.Row{}, nil
}

// ParseDefinition reads the row of a tree. What is broken is named, all of it.
func ParseDefinition(row kv.Row) (tree.Definition, error) {
	d, err := parseDefinition(row)
	return d.Definition, err
}

// parseDefinition is ParseDefinition with what no TSD reads.
func parseDefinition(row kv.Row) (treeDefinition, error) {
	key, ok := schema.ParseBranchRow(row.Key)
	if !ok || len(key.Hashes) > 0 {
		return treeDefinition{}, fmt.Errorf("row %X is not one of a tree", row.Key)
	}
	d := treeDefinition{Definition: tree.Definition{ID: key.Tree}}
	var errs []error
	for _, c := range row.Cells {
		if level, order, ok := schema.ParseRuleQualifier(c.Qualifier); ok {
			rule, err := schema.ParseTreeRule(c.Value) // it contains its own place, as for a TSD
			if err != nil {
				errs = append(errs, fmt.Errorf("tree %d: rule %d:%d: %w", d.ID, level, order, err))
				rule = schema.TreeRule{Level: level, Order: order}
			}
			d.Rules = append(d.Rules, rule)
		}
	}
	d.mark = parseMark(cellOf(row, []byte(markColumn)))
	d.cleared = string(cellOf(row, []byte(clearedColumn)))
	d.Sum = sums(cellOf(row, []byte(severalColumn)))
	if raw := cellOf(row, schema.TreeQualifier()); raw != nil {
		var err error
		if d.Tree, err = schema.ParseTree(raw); err != nil {
			errs = append(errs, fmt.Errorf("tree %d: %w", d.ID, err))
		}
	}
	return d, errors.Join(errs...)
}

// cellOf returns the value of a column, nil without it.
func cellOf(row kv.Row, qualifier []byte) []byte {
	for _, c := range row.Cells {
		if string(c.Qualifier) == string(qualifier) {
			return append([]byte{}, c.Value...)
		}
	}
	return nil
}

// severalColumn is a column in the row of a definition, which no TSD reads: what render returns for
// several series of a path.
const severalColumn, severalSum = "tsdbridge_several", "sum"

// sums reports whether a row of a definition wants sums.
func sums(cell []byte) bool { return string(cell) == severalSum }

// Counts are how many cells of each kind a tree has.
//
// Shared are the series that share a leaf: each has the path of another series.
type Counts struct{ Branches, Leaves, Shared, Collisions, NotMatched int }

// Count counts the cells in the table, including those that cannot be reached by browsing. It reads
// all rows of the tree and keeps none.
func Count(ctx context.Context, db kv.KV, table string, id uint16) (Counts, error) {
	var n Counts
	s := kv.Scan{Table: table, Family: schema.FamilyData, Start: schema.TreeRow(id)}
	if id < schema.MaxTreeID {
		s.Stop = schema.TreeRow(id + 1)
	}
	for row, err := range db.Scan(ctx, s) {
		if err != nil {
			return n, fmt.Errorf("count branches and leaves of tree %d: %w", id, err)
		}
		for _, c := range row.Cells {
			n.add(id, row.Key, c.Qualifier)
		}
	}
	return n, nil
}

func (n *Counts) add(id uint16, row, qualifier []byte) {
	if _, failure := schema.ParseFailureQualifier(qualifier); failure {
		if string(row) == string(schema.CollisionRow(id)) {
			n.Collisions++
		} else {
			n.NotMatched++
		}
		return
	}
	if _, leaf := schema.ParseLeafQualifier(qualifier); leaf {
		n.Leaves++
	} else if _, also := parseAlso(qualifier); also {
		n.Shared++
	} else if bytes.Equal(qualifier, schema.BranchQualifier()) {
		n.Branches++
	}
}
