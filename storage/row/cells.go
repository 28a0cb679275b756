package row

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// AnyMistaken reports whether OpenTSDB's fsck would delete one of the cells of a row, taking it for
// an append cell. A TSD's compaction makes such cells, and tsdbridge made them once. The row is
// then written anew in one change whenever it was read to be written.
func AnyMistaken(cells []kv.Cell) bool {
	return slices.ContainsFunc(cells, func(c kv.Cell) bool { return schema.MistakenForAppend(c.Qualifier) })
}
