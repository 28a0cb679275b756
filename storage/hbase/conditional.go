package hbase

import (
	"context"
	"fmt"
	"math"

	"github.com/tsuna/gohbase/filter"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// ApplyUnchanged implements kv.Versioned. A condition without a Cell looks at all families of the
// table.
func (e *Engine) ApplyUnchanged(ctx context.Context, table, family string, rows []kv.Conditional) ([]bool, error) {
	if err := kv.CheckConditionals(rows); err != nil {
		return nil, e.explain(ctx, opApply, table, err, 0)
	}
	mutations, made := kv.Mutations(rows), make([]bool, len(rows))
	order, byClock := sendOrder(mutations)
	b := batch{
		e: e, client: e.writer, operation: opApply, table: table, tokens: e.writes, gate: e.writeGate,
		family: family, proofs: e.proofs,
		size:   func(i int) int { return mutationSize(family, &mutations[i]) + conditionSize(&rows[i]) },
		encode: func(chosen []int) []action { return encodeConditionals(family, rows, mutations, chosen) },
		done: func(a *action, _ []cell) int {
			if made[a.row] = a.made; !a.made {
				return 0
			}
			return a.puts + a.deletes
		},
		count: e.metrics.cellsWritten,
	}
	if err := b.run(ctx, order); err != nil {
		return nil, err
	}
	if byClock {
		return made, e.outliveTombstones(ctx, table)
	}
	return made, nil
}

// A Condition, by the numbers of Client.proto of HBase 2.4 and later: 1 row, 7 Filter. It is true
// if the filter leaves anything of the row. One without a filter compares a cell.
const (
	conditionRow    = 1
	conditionFilter = 7
	conditionOf     = 4 // the Condition in a RegionAction
)

// conditionField is the condition that a row is as it was read, as a field of a RegionAction.
func conditionField(family string, c *kv.Conditional) []byte {
	if c.Cell != nil {
		return cellCondition(family, c)
	}
	body := protowire.AppendTag(nil, conditionRow, protowire.BytesType)
	body = protowire.AppendBytes(body, c.Key)
	body = protowire.AppendTag(body, conditionFilter, protowire.BytesType)
	body = protowire.AppendBytes(body, unchangedFilter(c))
	b := protowire.AppendTag(nil, conditionOf, protowire.BytesType)
	return protowire.AppendBytes(b, body)
}

// cellCondition is the condition that a cell has a value. HBase takes no bytes for an absent cell.
func cellCondition(family string, c *kv.Conditional) []byte {
	comparator, err := filter.NewBinaryComparator(filter.NewByteArrayComparable(c.Cell.Value)).ConstructPBComparator()
	if err != nil {
		panic(fmt.Sprintf("a comparison of bytes does not marshal: %v", err))
	}
	body, err := proto.Marshal(&pb.Condition{
		Row: c.Key, Family: []byte(family), Qualifier: c.Cell.Qualifier, CompareType: pb.CompareType_EQUAL.Enum(), Comparator: comparator,
	})
	if err != nil {
		panic(fmt.Sprintf("a condition does not marshal: %v", err))
	}
	return protowire.AppendBytes(protowire.AppendTag(nil, conditionOf, protowire.BytesType), body)
}

// conditionSize is about the size of conditionField.
func conditionSize(c *kv.Conditional) int {
	if c.Cell != nil {
		return 200 + len(c.Key) + len(c.Cell.Value)
	}
	return 400 + len(c.Key) + 7*len(c.Read)
}

// unchangedFilter passes no cell of a row that has a cell with a new stamp: one that none of the
// cells read had. Of another row it passes the cells from the last one that was read on: none if
// the row has fewer cells.
func unchangedFilter(c *kv.Conditional) []byte {
	const all = math.MaxInt32 / 2 // cells after the first; HBase adds the two numbers
	last := int32(len(c.Read) - 1)
	f, err := filter.NewList(filter.MustPassAll,
		filter.NewSkipFilter(filter.NewTimestampsFilter(c.Stamps())),
		filter.NewColumnPaginationFilter(all, last, nil),
	).ConstructPBFilter()
	if err == nil {
		var b []byte
		if b, err = proto.Marshal(f); err == nil {
			return b
		}
	}
	panic(fmt.Sprintf("a filter of numbers does not marshal: %v", err))
}
