package forest

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// entryList is the branches and leaves of an index by number, and in the order of their names.
type entryList struct {
	shown   func(stored string) string
	mu      sync.RWMutex // guards all below
	entries []entry
	byName  btree       // of (parent, name, leaves first, entry)
	text    text        // names as they are shown and TSUIDs
	removed int         // entries that are no longer used
	gone    int         // see Edition
	byTSUID *tsuidTable // nil before the first series is forgotten
}

// branchIndex finds branches by their rows.
type branchIndex struct {
	entryList
	branches map[cellID]uint32
	trees    []uint16 // that have a root, ascending
}

// leafIndex has the series that share leaves, or have none.
type leafIndex struct {
	branchIndex
	leafCount int
	collided  map[string]uint32 // leaves that no column holds, by tree and TSUID
	also      map[alsoID]uint32 // series that share leaves of columns
	shared    map[uint16]Sharing
	failing   map[string]bool // rows of failures that have cells
}

// An Index holds the branches and leaves of trees in memory as tsdb-tree has them: a branch is a
// row, a leaf is a column of it, and both are known by the hashes of their names. Of names that
// share a hash the first one stays. Collided leaves are kept in addition, by their names. The
// numbers of entries are never used again, so that a search that is under way never meets another
// entry under the number of a removed one; a new Index is loaded when many were removed, or when
// other processes may have deleted rows. A leaf takes about 75 bytes. It is safe for concurrent
// use.
type Index struct {
	leafIndex
	leaves  map[cellID]uint32
	hidden  map[uint32]bool // leaves of columns whose series are collided
	rowless map[uint32]bool // branches that only collided leaves need
}

// cellID is a branch and the hash of the name of a cell below it. It is exact: row keys and columns
// contain nothing else. Those of branches and of leaves are apart, as rows and columns are.
type cellID struct{ parent, hash uint32 }

// An entry is a branch or a leaf.
type entry struct {
	name   uint32 // place in text; 0 for an entry that was removed
	tsuid  uint32 // place in text; 0 for a branch
	parent uint32
}

// noBranch is the parent of the roots. Their hash is the id of the tree.
const noBranch = math.MaxUint32

// errFull means that the index cannot hold more: places in it have 32 bits.
var errFull = errors.New("tree index is full")

// NewIndex returns an empty index. shown returns a stored name as people see it; nil: as it is.
func NewIndex(shown func(stored string) string) *Index {
	if shown == nil {
		shown = asStored
	}
	x := &Index{}
	x.shown = shown
	x.branches = map[cellID]uint32{}
	x.leaves = map[cellID]uint32{}
	x.collided = map[string]uint32{}
	x.hidden = map[uint32]bool{}
	x.also = map[alsoID]uint32{}
	x.shared = map[uint16]Sharing{}
	x.rowless = map[uint32]bool{}
	x.failing = map[string]bool{}
	return x
}

func asStored(name string) string { return name }

// Leaves returns the number of leaves.
func (x *leafIndex) Leaves() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.leafCount
}

// Branches returns the number of branches, roots among them.
func (x *branchIndex) Branches() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.branches)
}

// CollidedLeaves returns how many leaves no column holds.
func (x *leafIndex) CollidedLeaves() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return len(x.collided)
}

// AddBranch adds the branch of a row. ok is false when the row's parent is not there: browsing
// never reaches it.
func (x *branchIndex) AddBranch(key schema.BranchKey, name string) (ok bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	parent, ok := x.parent(key)
	if !ok {
		return false, nil
	}
	return true, x.addBranch(parent, x.shown(name))
}

// parent returns the parent branch of a row, and the hash of the row's cell in it.
func (x *branchIndex) parent(key schema.BranchKey) (cellID, bool) {
	at := cellID{noBranch, uint32(key.Tree)}
	for _, hash := range key.Hashes {
		branch, ok := x.branches[at]
		if !ok {
			return cellID{}, false
		}
		at = cellID{branch, hash}
	}
	return at, true
}

func (x *branchIndex) addBranch(at cellID, name string) error {
	if _, ok := x.branches[at]; ok {
		return nil
	}
	id, err := x.add(at.parent, name, nil)
	if err != nil {
		return err
	}
	x.branches[at] = id
	if at.parent == noBranch {
		place, _ := slices.BinarySearch(x.trees, uint16(at.hash))
		x.trees = slices.Insert(x.trees, place, uint16(at.hash))
	}
	return nil
}

// locate goes down the branches of a tree as far as they are there: known counts them, the root
// included, branch is the last one. The caller holds mu.
func (x *branchIndex) locate(tree uint16, names []string) (branch uint32, known int) {
	branch, ok := x.branches[cellID{noBranch, uint32(tree)}]
	if !ok {
		return 0, 0
	}
	for known = 1; known <= len(names); known++ {
		next, ok := x.branches[cellID{branch, schema.NameHash(names[known-1])}]
		if !ok {
			break
		}
		branch = next
	}
	return branch, known
}

// holder returns the TSUID of the leaf that has a name, or one of the same hash; nil without one.
// The caller holds mu.
func (x *Index) holder(branch uint32, name string) []byte {
	id, ok := x.leaves[cellID{branch, schema.NameHash(name)}]
	if !ok {
		return nil
	}
	return x.at(x.entries[id].tsuid)
}

// AddLeaf adds the leaf of a row's column; ok is false when the row is not there.
func (x *Index) AddLeaf(key schema.BranchKey, hash uint32, leaf schema.Leaf) (ok bool, err error) {
	x.mu.RLock()
	branch, ok := x.branchOf(key)
	x.mu.RUnlock()
	if !ok {
		return false, nil
	}
	return true, x.addLeafTo(key.Tree, branch, hash, leaf)
}

// branchOf is branch. The caller holds mu.
func (x *branchIndex) branchOf(key schema.BranchKey) (branch uint32, ok bool) {
	at, ok := x.parent(key)
	if !ok {
		return 0, false
	}
	branch, ok = x.branches[at]
	return branch, ok
}

// addLeafTo adds the leaf of a column to a branch, which stays for ever.
func (x *Index) addLeafTo(tree uint16, branch, hash uint32, leaf schema.Leaf) error {
	leaf.DisplayName = x.shown(leaf.DisplayName)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.addLeaf(tree, cellID{branch, hash}, leaf)
}

func (x *Index) addLeaf(tree uint16, at cellID, leaf schema.Leaf) error {
	if id, ok := x.leaves[at]; ok {
		if string(x.at(x.entries[id].name)) == leaf.DisplayName {
			return x.replaceLeaf(tree, id, leaf.TSUID)
		}
		x.removeHolder(at, id)
	}
	id, err := x.add(at.parent, leaf.DisplayName, leaf.TSUID)
	if err != nil {
		return err
	}
	x.leaves[at] = id
	x.leafCount++
	x.hide(tree, id)
	return nil
}

// replaceLeaf gives a leaf that was written again under its name its series.
func (x *Index) replaceLeaf(tree uint16, id uint32, tsuid []byte) error {
	if bytes.Equal(x.at(x.entries[id].tsuid), tsuid) {
		return nil
	}
	place, err := x.store(tsuid)
	if err != nil {
		return err
	}
	x.entries[id].tsuid = place
	x.gone++
	x.noteTSUID(id)
	if x.hidden[id] {
		delete(x.hidden, id)
		x.leafCount++
	}
	x.hide(tree, id)
	return nil
}

// add makes an entry and orders it by its name, unless it is a root.
func (x *entryList) add(parent uint32, name string, tsuid []byte) (id uint32, err error) {
	if len(x.entries) >= noBranch {
		return 0, errFull
	}
	e := entry{parent: parent}
	if e.name, err = x.store([]byte(name)); err != nil {
		return 0, err
	}
	if tsuid != nil {
		if e.tsuid, err = x.store(tsuid); err != nil {
			return 0, err
		}
	}
	id = uint32(len(x.entries))
	x.entries = append(x.entries, e)
	x.noteTSUID(id)
	if parent != noBranch {
		x.byName.insert(item{parent, id}, x.before(parent, []byte(name), e.tsuid == 0, id))
	}
	return id, nil
}

// before returns which items come before an entry: leaves of a name come before branches of it,
// those that are equal in the order in which they came. Names that differ in the table may be shown
// alike.
func (x *entryList) before(parent uint32, name []byte, branch bool, entry uint32) func(item) bool {
	return func(it item) bool {
		if it.parent != parent {
			return it.parent < parent
		}
		e := x.entries[it.entry]
		if c := bytes.Compare(x.at(e.name), name); c != 0 {
			return c < 0
		}
		if is := e.tsuid == 0; is != branch {
			return branch
		}
		return it.entry < entry
	}
}

// store keeps bytes and returns their place.
func (x *entryList) store(b []byte) (place uint32, err error) { return x.text.add(b) }

// at returns what is kept at a place. It never changes, so it may be used after the lock is given
// up.
func (x *entryList) at(place uint32) []byte { return x.text.at(place) }

// An Edition says which leaves an index has lost. While it stays the same, a leaf that was found once is still
// where it was found; others may have come.
type Edition struct {
	index int // indexes that were in use before
	gone  int // leaves of it that were removed, were hidden or belong to another series now
}

// Edition returns the edition of the index in use. ok is always true.
func (f *indexed) Edition() (e Edition, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return Edition{index: f.indexes, gone: f.index.lost()}, true
}

// Edition returns the edition of the index. ok is false while paths are looked up in the table.
func (s *Service) Edition() (e Edition, ok bool) {
	if !s.forest.Loaded() {
		return Edition{}, false
	}
	return s.forest.Edition()
}

func (x *entryList) lost() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.gone
}
