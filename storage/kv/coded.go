package kv

import (
	"context"
	"fmt"
)

// A CodedRow is a cell that is put into a row in the form in which the engine keeps it: what
// StoredCell.Coded shows. Its time is the engine's clock.
type CodedRow struct{ Key, Cell []byte }

// An EncodedWriter is a Local engine that takes cells as it keeps them, so that nobody makes a cell of
// points which the engine takes apart again.
type EncodedWriter interface {
	// ApplyCoded is ApplyUnlogged of rows that gain one coded cell each. It replaces a cell that has
	// the same qualifier. The engine does not check the cells: whoever codes them knows its form. It
	// keeps none of the slices.
	ApplyCoded(ctx context.Context, table, family string, rows []CodedRow) error
}

// CheckCoded returns an error when an ApplyCoded breaks the contract. Engines call it before they
// write anything.
func CheckCoded(rows []CodedRow) error {
	for i := range rows {
		if err := CheckKey(rows[i].Key); err != nil {
			return err
		}
		if len(rows[i].Cell) == 0 {
			return fmt.Errorf("%w: row %x has an empty coded cell", ErrInvalid, rows[i].Key)
		}
	}
	key := func(i int) []byte { return rows[i].Key }
	if twice := firstTwice(len(rows), key); twice != nil {
		return fmt.Errorf("%w: row key %x twice", ErrInvalid, twice)
	}
	return nil
}
