package tree

import (
	"bytes"
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

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
