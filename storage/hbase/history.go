package hbase

import "github.com/tsdbridge/tsdbridge/storage/kv"

// copyHistory copies the cells of a raw answer, which are in HBase's order: qualifiers ascending, times descending; of one time deletions
// first. What it does not know it passes by, as HBase does.
func copyHistory(key []byte, cells []cell) kv.History {
	puts := cells
	for i := range cells {
		if cells[i].kind != typePut {
			puts = ofKinds(cells, typePut, typePut)
			break
		}
	}
	versions := copyCells(puts)
	if len(puts) == len(cells) {
		return kv.NewHistory(key, versions, nil)
	}
	deletes := appendTombstones(nil, ofKinds(cells, typeDeleteFamily, typeDeleteFamilyVersion), typeDeleteFamilyVersion)
	for i := range deletes {
		deletes[i].Qualifier = nil
	}
	deletes = appendTombstones(deletes, ofKinds(cells, typeDeleteColumn, typeDelete), typeDelete)
	return kv.NewHistory(key, versions, deletes)
}

// ofKinds returns the cells of two types.
func ofKinds(cells []cell, a, b byte) []cell {
	var out []cell
	for i := range cells {
		if kind := cells[i].kind; kind == a || kind == b {
			out = append(out, cells[i])
		}
	}
	return out
}

// appendTombstones appends deletions, those of one type being exact.
func appendTombstones(dst []kv.Tombstone, cells []cell, exact byte) []kv.Tombstone {
	for i, c := range copyCells(cells) {
		dst = append(dst, kv.Tombstone{Qualifier: c.Qualifier, Time: c.Time, Exact: cells[i].kind == exact})
	}
	return dst
}
