package schema

import (
	"errors"
	"fmt"
	"time"
)

// A CellError is the error of a cell that cannot be decoded.
type CellError struct {
	Qualifier []byte
	Err       error
}

// Error names the cell.
func (e CellError) Error() string { return fmt.Sprintf("cell %x: %v", e.Qualifier, e.Err) }

// Unwrap returns the error.
func (e CellError) Unwrap() error { return e.Err }

// RowFault returns the error of a row of points that cannot be read: table and key, which series and
// hour it is of, why, and what mends it.
func RowFault(l Layout, table string, key []byte, why error) error {
	return rowFault(l, table, key, why, remedy(why))
}

// RollupFault is RowFault for a table of rolled up values, which no check looks at.
func RollupFault(l Layout, table string, key []byte, why error) error {
	return rowFault(l, table, key, why,
		"tsdbridge fsck does not look at this table; the same value sent again replaces the cell, and "+deletion)
}

func rowFault(l Layout, table string, key []byte, why error, remedy string) error {
	of := ""
	if k, err := l.ParseRowKey(key); err == nil {
		of = fmt.Sprintf(" (TSUID %s at %s)", FormatTSUID(k.AppendTSUID(nil)), time.Unix(int64(k.Base), 0).UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("row %x of %s%s cannot be read: %w; %s", key, table, of, why, remedy)
}

// deletion is the remedy that is always there.
const deletion = "a deletion of the whole hour of the series (delete_series) takes the row away"

// remedy tells what mends a row. The kinds are those of package fsck.
func remedy(why error) string {
	cell, ok := errors.AsType[CellError](why)
	if !ok {
		return "tsdbridge fsck finds it"
	}
	kind := ""
	switch ClassifyCell(cell.Qualifier) {
	case CellData:
		if kind = "bad-compacted"; IsSingle(cell.Qualifier) {
			kind = "bad-value"
		}
	case CellAges:
		kind = "bad-ages"
	case CellAppend:
		return "tsdbridge fsck finds it as bad-append and does not mend it, since it may hold good points; " + deletion
	case CellObject:
		return "tsdbridge fsck finds it as bad-object and does not mend it, since it may hold good points; " + deletion
	case CellAnnotation, CellHistogram, CellUnknown:
		return "tsdbridge fsck finds it"
	}
	return "tsdbridge fsck finds it, and --fix=" + kind + " deletes the cell"
}
