package schema

import (
	"fmt"
	"time"
)

// RowFault returns the error of a row of points that cannot be read: table and key, which series and hour it is of, why, and
// what mends it.
func RowFault(l Layout, table string, key []byte, why error) error {
	of := ""
	if k, err := l.ParseRowKey(key); err == nil {
		of = fmt.Sprintf(" (TSUID %s at %s)", FormatTSUID(k.AppendTSUID(nil)), time.Unix(int64(k.Base), 0).UTC().Format(time.RFC3339))
	}
	return fmt.Errorf("row %x of %s%s cannot be read: %w; tsdbridge fsck finds it, and its --fix mends or deletes it", key, table, of, why)
}
