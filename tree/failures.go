package tree

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Failures returns the series in a tree's row of collisions, each with the series that has its leaf,
// or in that of the series without a match, each with the rules; of all series, or of those that are
// asked for. TSUIDs are in hexadecimal. More than a number is storage.ErrLimit.
func (e *Editor) Failures(ctx context.Context, id uint16, collisions bool, tsuids [][]byte, most int) (map[string]string, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	if len(tsuids) > 0 {
		return e.failuresOf(ctx, id, collisions, tsuids)
	}
	row, _ := failureCell(id, collisions, nil)
	rows, err := e.service.db.Get(ctx, e.service.o.Forest.TreeTable, schema.FamilyData, [][]byte{row})
	if err != nil {
		return nil, fmt.Errorf("read the failures of tree %d: %w", id, err)
	}
	found := map[string]string{}
	for _, c := range rows[0].Cells {
		if tsuid, ok := schema.ParseFailureQualifier(c.Qualifier); ok {
			found[schema.FormatTSUID(tsuid)] = string(c.Value)
		}
	}
	if len(found) > most {
		return nil, fmt.Errorf("%w: tree %d has %d of these series, which is more than %d: ask for some of them", storage.ErrLimit, id, len(found), most)
	}
	return found, nil
}

// failureCell returns where a series without a place in a tree is.
func failureCell(id uint16, collisions bool, tsuid []byte) (row, qualifier []byte) {
	if collisions {
		return schema.CollisionRow(id), schema.CollisionQualifier(tsuid)
	}
	return schema.NotMatchedRow(id), schema.NotMatchedQualifier(tsuid)
}

func (e *Editor) failuresOf(ctx context.Context, id uint16, collisions bool, tsuids [][]byte) (map[string]string, error) {
	found := map[string]string{}
	for _, tsuid := range tsuids {
		row, qualifier := failureCell(id, collisions, tsuid)
		cell, err := e.service.forest.cell(ctx, row, qualifier)
		if err != nil {
			return nil, fmt.Errorf("read a failure of tree %d: %w", id, err)
		}
		if cell != nil {
			found[schema.FormatTSUID(tsuid)] = string(cell.Value)
		}
	}
	return found, nil
}
