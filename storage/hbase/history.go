package hbase

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// copyHistory copies the cells of a raw answer, which are in HBase's order: qualifiers ascending,
// times descending; of one time deletions first. It passes by what is neither put nor deletion, and
// spoils cells.
func copyHistory(key []byte, cells []cell) kv.History {
	deletes := copyTombstones(cells)
	puts := slices.DeleteFunc(cells, func(c cell) bool { return c.kind != typePut })
	return kv.NewHistory(key, copyCells(puts), deletes)
}

// copyTombstones returns the deletions among cells, those of the whole row first: HBase's order
// does not separate these from deletions of the cell with the empty qualifier.
func copyTombstones(cells []cell) []kv.Tombstone {
	n, size := 0, 0
	for i := range cells {
		if cells[i].kind != typePut {
			n++
			size += len(cells[i].qualifier)
		}
	}
	if n == 0 {
		return nil
	}
	deletes, names := make([]kv.Tombstone, 0, n), make([]byte, 0, size)
	for i := range cells {
		if c := &cells[i]; c.kind == typeDeleteFamily || c.kind == typeDeleteFamilyVersion {
			deletes = append(deletes, kv.Tombstone{Time: c.time, Exact: c.kind == typeDeleteFamilyVersion})
		}
	}
	for i := range cells {
		if c := &cells[i]; c.kind == typeDeleteColumn || c.kind == typeDelete {
			at := len(names)
			names = append(names, c.qualifier...)
			deletes = append(deletes, kv.Tombstone{Qualifier: names[at:len(names):len(names)], Time: c.time, Exact: c.kind == typeDelete})
		}
	}
	return deletes
}
