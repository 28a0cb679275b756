package forest

import (
	"bytes"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// remove takes an entry out of the order of names, and forgets its name. The caller holds mu.
func (x *entryList) remove(id uint32) {
	e := x.entries[id]
	x.byName.remove(item{e.parent, id}, x.before(e.parent, x.at(e.name), e.tsuid == 0, id))
	x.entries[id] = entry{}
	x.removed++
	x.gone++
}

// worn reports whether most of the index is of entries that were removed.
func (x *entryList) worn() bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.removed > leastWorn && x.removed > len(x.entries)/2
}

// leastWorn is up to how many removed entries an index is not worth loading anew.
const leastWorn = 1 << 16

// removeLeaf removes a series from the leaf of a column, and from those that share it.
func (x *Index) removeLeaf(c leafCell) {
	x.mu.Lock()
	defer x.mu.Unlock()
	branch, ok := x.branchOf(c.key)
	if !ok {
		return
	}
	at := cellID{branch, c.hash}
	if id, ok := x.leaves[at]; ok && bytes.Equal(x.at(x.entries[id].tsuid), c.tsuid) {
		x.removeHolder(at, id)
	}
	x.removeAlso(c.key.Tree, at, c.tsuid)
}

// removeColumn removes the leaf of a column, whichever series has it.
func (x *Index) removeColumn(key schema.BranchKey, hash uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if branch, ok := x.branchOf(key); ok {
		at := cellID{branch, hash}
		if id, ok := x.leaves[at]; ok {
			x.removeHolder(at, id)
		}
	}
}

// removeSharer removes a series that shares the leaf of a column.
func (x *leafIndex) removeSharer(key schema.BranchKey, hash uint32, tsuid []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if branch, ok := x.branchOf(key); ok {
		x.removeAlso(key.Tree, cellID{branch, hash}, tsuid)
	}
}

// removeHolder removes the leaf of a column. The caller holds mu.
func (x *Index) removeHolder(at cellID, id uint32) {
	if x.hidden[id] {
		delete(x.hidden, id)
	} else {
		x.leafCount--
	}
	delete(x.leaves, at)
	x.remove(id)
}

// removeAlso removes a series that shares the leaf of a column. The caller holds mu.
func (x *leafIndex) removeAlso(tree uint16, at cellID, tsuid []byte) {
	id := newAlsoID(at, tsuid)
	if !x.hasAlso(id, tsuid) {
		return
	}
	s := x.shared[tree]
	if s.Series--; s.Path == x.pathOfEntry(x.also[id]) {
		s.Path = ""
	}
	x.shared[tree] = s
	x.remove(x.also[id])
	delete(x.also, id)
	x.leafCount--
}

// pathOfEntry is the path of an entry. The caller holds mu.
func (x *entryList) pathOfEntry(id uint32) string {
	e := x.entries[id]
	path := string(x.at(e.name))
	for e.parent != noBranch {
		if e = x.entries[e.parent]; e.parent != noBranch {
			path = string(x.at(e.name)) + "." + path
		}
	}
	return path
}

// inherit gives the leaf of a column, which has none, to a series that shared it.
func (x *Index) inherit(c leafCell, heir schema.Leaf) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	branch, ok := x.branchOf(c.key)
	if !ok {
		return nil
	}
	at := cellID{branch, c.hash}
	x.removeAlso(c.key.Tree, at, heir.TSUID)
	heir.DisplayName = x.shown(heir.DisplayName)
	return x.addLeaf(c.key.Tree, at, heir)
}

// removeCollided removes the collided leaf of a series, and the branches that nothing else needs.
func (x *Index) removeCollided(tree uint16, tsuid []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	key := collidedID(tree, tsuid)
	id, ok := x.collided[key]
	if !ok {
		return
	}
	delete(x.collided, key)
	x.leafCount--
	parent := x.entries[id].parent
	x.remove(id)
	x.removeRowless(parent)
}

// removeRowless removes a branch without a row if nothing is below it, and those above it. The
// caller holds mu.
func (x *Index) removeRowless(branch uint32) {
	for x.rowless[branch] && !x.hasChild(branch) {
		parent := x.entries[branch].parent
		delete(x.rowless, branch)
		x.remove(branch)
		branch = parent
	}
}

// hasChild reports whether anything is below a branch. The caller holds mu.
func (x *entryList) hasChild(branch uint32) (has bool) {
	x.byName.ascend(x.before(branch, nil, false, 0), func(it item) bool {
		has = it.parent == branch
		return false
	})
	return has
}

// emptyBranch reports whether the index has the branch of a row, and nothing below it.
func (x *branchIndex) emptyBranch(key schema.BranchKey) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	branch, ok := x.branchOf(key)
	return ok && !x.hasChild(branch)
}

// removeBranch removes the branch of a row that is gone. If collided leaves are below it, it stays
// under its name.
func (x *Index) removeBranch(key schema.BranchKey) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok := x.parent(key)
	if !ok {
		return
	}
	branch, ok := x.branches[at]
	if !ok {
		return
	}
	delete(x.branches, at)
	if at.parent == noBranch {
		place, _ := slices.BinarySearch(x.trees, key.Tree)
		x.trees = slices.Delete(x.trees, place, place+1)
		x.entries[branch] = entry{parent: noBranch}
		x.removed++
		return
	}
	x.rowless[branch] = true
	x.removeRowless(branch)
}

// living reports whether a leaf that is shown is somewhere below a branch. The caller holds mu.
func (x *Index) living(branch uint32) (found bool) {
	x.byName.ascend(x.before(branch, nil, false, 0), func(it item) bool {
		if it.parent != branch {
			return false
		}
		leaf := x.entries[it.entry].tsuid != 0
		found = leaf && !x.hidden[it.entry] || !leaf && x.living(it.entry)
		return !found
	})
	return found
}

// leafName returns the name under which the leaf of a column is shown, that of the cell without
// a leaf.
func (x *Index) leafName(c leafCell) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if branch, ok := x.branchOf(c.key); ok {
		if id, ok := x.leaves[cellID{branch, c.hash}]; ok {
			return string(x.at(x.entries[id].name))
		}
	}
	return x.shown(c.name)
}

// heir returns the series that inherits the leaf of a name: the first that shares it and is not in
// gone. nil without one.
func (x *leafIndex) heir(c leafCell, name string, gone map[string]bool) (tsuid []byte) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	branch, ok := x.branchOf(c.key)
	if !ok {
		return nil
	}
	at := cellID{branch, c.hash}
	x.named(branch, name, false, func(id uint32) bool {
		other := x.at(x.entries[id].tsuid)
		if have, also := x.also[newAlsoID(at, other)]; also && have == id && !gone[string(other)] {
			tsuid = other
		}
		return tsuid == nil
	})
	return tsuid
}

// holds reports whether a series has the leaf of a column, and whether it shares it. taken is true
// when another series has the leaf.
func (x *Index) holds(c leafCell) (leaf, also, taken bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	branch, ok := x.branchOf(c.key)
	if !ok {
		return false, false, false
	}
	at := cellID{branch, c.hash}
	if id, ok := x.leaves[at]; ok {
		leaf = bytes.Equal(x.at(x.entries[id].tsuid), c.tsuid)
		taken = !leaf
	}
	return leaf, x.hasAlso(newAlsoID(at, c.tsuid), c.tsuid), taken
}

// A strayFinder finds the leaves of series that are not where the rules place them: the rules were
// others when they were written.
type strayFinder struct {
	*Index
	branchHashes, leafHashes map[uint32]uint32 // of names that are not shown as they are stored
}

// strays returns the cells of a series that seen does not have. A cell's name is not known. The
// caller holds mu.
func (s *strayFinder) strays(tsuid []byte, seen map[string]bool) (cells []leafCell) {
	s.eachOfTSUID(tsuid, func(id uint32) {
		key, ok := s.keyOf(s.entries[id].parent)
		if !ok {
			return // a collided leaf
		}
		for _, hash := range s.leafHash(id) {
			if c := (leafCell{key: key, hash: hash, tsuid: tsuid}); !seen[c.id()] {
				cells = append(cells, c)
			}
		}
	})
	return cells
}

// keyOf is the key of a branch's row; ok is false if it has none.
func (s *strayFinder) keyOf(branch uint32) (key schema.BranchKey, ok bool) {
	e := s.entries[branch]
	if e.parent == noBranch {
		return s.rootKey(branch)
	}
	hash, ok := s.hashOf(s.branches, &s.branchHashes, branch)
	if !ok {
		return key, false
	}
	if key, ok = s.keyOf(e.parent); ok {
		key.Hashes = append(key.Hashes, hash)
	}
	return key, ok
}

func (s *strayFinder) rootKey(branch uint32) (key schema.BranchKey, ok bool) {
	for _, tree := range s.trees {
		if s.branches[cellID{noBranch, uint32(tree)}] == branch {
			return schema.BranchKey{Tree: tree}, true
		}
	}
	return key, false
}

// hashOf is the hash under which an entry is in a map.
func (s *strayFinder) hashOf(m map[cellID]uint32, odd *map[uint32]uint32, id uint32) (hash uint32, ok bool) {
	e := s.entries[id]
	hash = schema.NameHash(string(s.at(e.name)))
	if have, ok := m[cellID{e.parent, hash}]; ok && have == id {
		return hash, true
	}
	if *odd == nil {
		*odd = map[uint32]uint32{}
		for at, id := range m {
			if at.parent != noBranch && schema.NameHash(string(s.at(s.entries[id].name))) != at.hash {
				(*odd)[id] = at.hash
			}
		}
	}
	hash, ok = (*odd)[id]
	return hash, ok
}

// leafHash is the hash of the column of a leaf, or of the leaf that it shares.
func (s *strayFinder) leafHash(id uint32) []uint32 {
	if hash, ok := s.hashOf(s.leaves, &s.leafHashes, id); ok {
		return []uint32{hash}
	}
	e := s.entries[id]
	hash := schema.NameHash(string(s.at(e.name)))
	if have, ok := s.also[newAlsoID(cellID{e.parent, hash}, s.at(e.tsuid))]; ok && have == id {
		return []uint32{hash}
	}
	for at, have := range s.also {
		if have == id {
			return []uint32{at.leaf.hash}
		}
	}
	return nil
}

// noteFailing notes that a row of failures has cells.
func (x *leafIndex) noteFailing(row []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.failing[string(row)] = true
}
