package forest

import (
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Display returns what the paths of a tree show; ok is false when there is no such tree.
func (f *planted) Display(id uint16) (d tree.Display, ok bool) {
	for _, t := range f.Trees() {
		if t.ID() == id {
			return t.Display(), true
		}
	}
	return tree.Display{}, false
}

// inverseTree is a tree of a forest with its inverse, or why it has none.
type inverseTree struct {
	tree    *Tree
	inverse *tree.Inverse
	err     error
}

func inversesOf(trees []*Tree) []inverseTree {
	all := make([]inverseTree, 0, len(trees))
	for _, t := range trees {
		inverse, err := t.Inverse()
		all = append(all, inverseTree{t, inverse, err})
	}
	return all
}

// Inverse turns a dotted path of shown names into metric and tags as people write them, keys as the
// rules have them: by the first tree, in the order of their ids, whose rules give exactly this path
// to the series that would be stored. Elements are not empty. A path that no tree takes is only a
// name. The answer depends on the definitions alone, which Inverse does not read: before they are
// read, no tree takes anything.
func (f *planted) Inverse(path string) (shown storage.Series, t *tree.Tree, ok bool) {
	f.mu.RLock()
	trees := f.inverse
	f.mu.RUnlock()
	for _, one := range trees {
		if one.err != nil || !f.o.Inverse(one.tree.Tree) {
			continue
		}
		if shown, ok = one.inverse.Series(path); ok && f.gives(one.tree, f.o.Stored(shown), path) {
			return shown, one.tree.Tree, true
		}
	}
	return storage.Series{}, nil, false
}

// gives reports whether a tree gives a stored series this path.
func (f *planted) gives(t *Tree, stored storage.Series, path string) bool {
	r := t.Route(tree.Subject{Series: stored})
	return r.Outcome == tree.Stored && r.Path(f.o.Shown) == path
}
