package tree

import "github.com/tsdbridge/tsdbridge/storage/schema"

// A way is the branches of an index that lead to a row: rows come in the order of their keys, so a row
// mostly has the way of the one before it but for its end. Branches that were found stay for ever.
type way struct {
	index    *Index
	row      []byte   // the key of the row that it leads to
	branches []uint32 // from the root to that row, as far as they are there
}

// to returns the branch of a row; ok is false when the row is not there.
func (w *way) to(row []byte) (branch uint32, ok bool) {
	w.index.mu.RLock()
	defer w.index.mu.RUnlock()
	return w.find(row)
}

// find is to. The caller holds the index' mu.
func (w *way) find(row []byte) (branch uint32, ok bool) {
	w.branches = w.branches[:min(len(w.branches), schema.SharedDepth(w.row, row))]
	w.row = append(w.row[:0], row...)
	for depth := len(w.branches); depth <= schema.Depth(row); depth++ {
		at := cellID{noBranch, uint32(schema.TreeOf(row))}
		if depth > 0 {
			at = cellID{w.branches[depth-1], schema.HashAt(row, depth)}
		}
		next, there := w.index.branches[at]
		if !there {
			return 0, false
		}
		w.branches = append(w.branches, next)
	}
	return w.branches[len(w.branches)-1], true
}

// add adds the branch of a row. ok is false when the row's parent is not there: browsing never
// reaches it.
func (w *way) add(row []byte, name string) (ok bool, err error) {
	shown := w.index.shown(name)
	w.index.mu.Lock()
	defer w.index.mu.Unlock()
	depth := schema.Depth(row)
	at := cellID{noBranch, uint32(schema.TreeOf(row))}
	if depth > 0 {
		parent, ok := w.find(row[:len(row)-schema.ChildWidth])
		if !ok {
			return false, nil
		}
		at = cellID{parent, schema.HashAt(row, depth)}
	}
	return true, w.index.addBranch(at, shown)
}
