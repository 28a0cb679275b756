package forest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Row keys and columns of tsdb-tree identify a name by a hash of 32 bits, and two names may share a
// hash, as Aa and BB do. The second name then has no cell of its own: a TSD loses its leaf, and
// shows what is below its branch under the name of the other branch. Here such a series is a
// collided leaf: a column of its own in the row of collisions, which no TSD reads, contains its
// path. It is found under that path and nowhere else. Series that the rules give the very same path
// are not collided leaves, see also.go.

// collidedPrefix begins the column of a collided leaf. The TSUID follows. The value is a branch's
// document whose last name is that of the leaf.
const collidedPrefix = "tsdbridge_leaf:"

// A collidedLeaf is a series whose path is in no cells but its own column.
type collidedLeaf struct {
	tree  uint16
	names []string // branches, and the leaf as the last one
	tsuid []byte
}

func (s collidedLeaf) mutation() kv.Mutation {
	put := kv.Put{Qualifier: append([]byte(collidedPrefix), s.tsuid...), Value: schema.NewBranch(s.names...).AppendTo(nil)}
	return kv.Mutation{Key: schema.CollisionRow(s.tree), Puts: []kv.Put{put}}
}

// collidedLeaves reads the row of collisions of a tree. Rows of other kinds have none. It counts
// what cannot be read.
func collidedLeaves(row kv.Row) (collided []collidedLeaf, broken int) {
	if len(row.Key) < 2 || !bytes.Equal(row.Key, schema.CollisionRow(binary.BigEndian.Uint16(row.Key))) {
		return nil, 0
	}
	for _, c := range row.Cells {
		tsuid, ok := strings.CutPrefix(string(c.Qualifier), collidedPrefix)
		if !ok {
			continue
		}
		b, err := schema.ParseBranch(c.Value)
		if err != nil || len(b.Path) < 2 || tsuid == "" {
			broken++
			continue
		}
		collided = append(collided, collidedLeaf{binary.BigEndian.Uint16(row.Key), b.Path[1:], []byte(tsuid)})
	}
	return collided, broken
}

// collidedID identifies a series in a tree.
func collidedID(tree uint16, tsuid []byte) string {
	return string(append(schema.TreeRow(tree), tsuid...))
}

// addCollided adds a series under its names, unless it is there, and hides the leaf that it has in
// its tree under other names. ok is false when the tree has no root.
func (x *Index) addCollided(s collidedLeaf) (ok bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok := x.branches[cellID{noBranch, uint32(s.tree)}]
	if !ok {
		return false, nil
	}
	if x.lookup(at, s.names, s.tsuid) {
		return true, nil
	}
	last := len(s.names) - 1
	for _, name := range s.names[:last] {
		if at, err = x.addNamed(at, x.shown(name)); err != nil {
			return true, err
		}
	}
	id, err := x.add(at, x.shown(s.names[last]), s.tsuid)
	if err != nil {
		return true, err
	}
	x.collided[collidedID(s.tree, s.tsuid)] = id
	x.leafCount++
	branch, known := x.locate(s.tree, s.names[:last])
	if own, there := x.leaves[cellID{branch, schema.NameHash(s.names[last])}]; there && known > last {
		x.hide(s.tree, own)
	}
	return true, nil
}

// addNamed returns the branch of a name, and adds it if there is none.
func (x *Index) addNamed(parent uint32, name string) (branch uint32, err error) {
	found := false
	x.named(parent, name, true, func(entry uint32) bool {
		branch, found = entry, true
		return false
	})
	if found {
		return branch, nil
	}
	if branch, err = x.add(parent, name, nil); err == nil {
		x.rowless[branch] = true
	}
	return branch, err
}

// hide leaves out the leaf of a column if its series is a collided leaf. The caller holds mu.
func (x *Index) hide(tree uint16, id uint32) {
	if len(x.collided) == 0 || x.hidden[id] {
		return
	}
	if own, ok := x.collided[collidedID(tree, x.at(x.entries[id].tsuid))]; ok && own != id {
		x.hidden[id] = true
		x.gone++
		x.leafCount--
	}
}

// named calls visit for the leaves, or the branches, of a branch that are shown under a name, until
// visit returns false. The caller holds mu.
func (x *entryList) named(parent uint32, name string, branch bool, visit func(entry uint32) bool) {
	x.byName.ascend(x.before(parent, []byte(name), branch, 0), func(it item) bool {
		e := x.entries[it.entry]
		if it.parent != parent || string(x.at(e.name)) != name || (e.tsuid == 0) != branch {
			return false
		}
		return visit(it.entry)
	})
}

// A place is where an index has a series of a path.
type place int

const (
	unknown   place = iota // nowhere: rows of the path are missing
	placed                 // under its path
	shared                 // nowhere, another series has the leaf of its path
	hashTaken              // under another path or nowhere, since names share hashes
)

// place returns where the index has a series whose names in a tree these are, the leaf as the last
// one. The caller holds mu.
func (x *Index) place(tree uint16, names []string, tsuid []byte) place {
	root, ok := x.branches[cellID{noBranch, uint32(tree)}]
	if !ok {
		return unknown
	}
	last := len(names) - 1
	branch, known := x.locate(tree, names[:last])
	column := cellID{branch, schema.NameHash(names[last])}
	leaf, ok := x.leaves[column]
	ok = ok && known > last
	named := ok && x.namesMatch(tree, names, leaf)
	switch {
	case named && bytes.Equal(x.at(x.entries[leaf].tsuid), tsuid), named && x.hasAlso(newAlsoID(column, tsuid), tsuid):
		return placed
	case len(x.collided) > 0 && x.lookup(root, names, tsuid):
		return placed
	case named:
		return shared
	case ok:
		return hashTaken
	}
	return unknown
}

// again returns how a series that is placed must be written again, so that the table has it too:
// placed if it has its leaf. The caller holds mu.
func (x *Index) again(one insertion) place {
	branch, known := x.locate(one.tree.ID(), one.route.Branches)
	at := cellID{branch, schema.NameHash(one.route.Leaf)}
	leaf, ok := x.leaves[at]
	switch {
	case x.collided[collidedID(one.tree.ID(), one.tsuid)] > 0:
		return hashTaken
	case ok && known > len(one.route.Branches) && bytes.Equal(x.at(x.entries[leaf].tsuid), one.tsuid):
		return placed
	}
	return shared
}

// namesMatch reports whether the rows of a path, which all exist, and the leaf have the names of the
// path.
func (x *Index) namesMatch(tree uint16, names []string, leaf uint32) bool {
	last := len(names) - 1
	return x.branchNamesMatch(tree, names[:last]) && string(x.at(x.entries[leaf].name)) == x.shown(names[last])
}

// branchNamesMatch reports whether branches, which all exist, have these names.
func (x *branchIndex) branchNamesMatch(tree uint16, names []string) bool {
	at := x.branches[cellID{noBranch, uint32(tree)}]
	for _, name := range names {
		at = x.branches[cellID{at, schema.NameHash(name)}]
		if string(x.at(x.entries[at].name)) != x.shown(name) {
			return false
		}
	}
	return true
}

// lookup reports whether a series is found below a branch by names alone.
func (x *Index) lookup(at uint32, names []string, tsuid []byte) (found bool) {
	x.named(at, x.shown(names[0]), len(names) > 1, func(entry uint32) bool {
		switch {
		case len(names) > 1:
			found = x.lookup(entry, names[1:], tsuid)
		case !x.hidden[entry]:
			found = bytes.Equal(x.at(x.entries[entry].tsuid), tsuid)
		}
		return !found
	})
	return found
}

// keep writes collided leaves, and series that share the leaf of another series, and adds both to
// the index. A Load that is under way reads them again.
func (f *Forest) keep(ctx context.Context, collisions, also []insertion) error {
	if len(collisions)+len(also) == 0 {
		return nil
	}
	collided := make([]collidedLeaf, 0, len(collisions))
	for _, one := range collisions {
		collided = append(collided, collidedLeaf{one.tree.ID(), one.names(), one.tsuid})
	}
	f.mu.Lock()
	f.writes++
	// no row begins so: ids of trees begin at 1
	key, done := fmt.Sprintf("\x00\x00kept %d", f.writes), make(chan struct{})
	f.inflight[key] = claim{done: done}
	f.mu.Unlock()
	rows := collidedRows(collided)
	f.noteFailing(rows)
	err := f.db.Apply(ctx, f.o.TreeTable, schema.FamilyData, append(rows, alsoRows(also)...))
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.inflight, key)
	close(done)
	f.setUnsure(err != nil, collisions, also)
	if err != nil {
		return err
	}
	for _, s := range collided {
		ok, err := f.index.addCollided(s)
		f.missed = f.missed || !ok
		f.complete = f.complete && ok && err == nil
	}
	f.indexAlso(also)
	return nil
}

// setUnsure notes whether the index may lack the columns of series that were kept. The caller holds
// the forest's lock.
func (f *exceptions) setUnsure(unsure bool, kept ...[]insertion) {
	if !unsure && len(f.unsure) == 0 {
		return
	}
	for _, one := range slices.Concat(kept...) {
		cell := string(schema.BranchRow(one.tree.ID(), one.route.Branches...)) + string(alsoQualifier(one.route.Leaf, one.tsuid))
		if unsure {
			f.unsure[cell] = true
		} else {
			delete(f.unsure, cell)
		}
	}
	f.complete = f.complete && len(f.unsure) < maxUnsure
}

// collidedRows makes one mutation of each row.
func collidedRows(collided []collidedLeaf) []kv.Mutation {
	var rows []kv.Mutation
	seen := map[string]bool{}
	for _, s := range collided {
		id := collidedID(s.tree, s.tsuid)
		if seen[id] {
			continue
		}
		seen[id] = true
		m := s.mutation()
		at := slices.IndexFunc(rows, func(have kv.Mutation) bool { return bytes.Equal(have.Key, m.Key) })
		if at < 0 {
			rows = append(rows, m)
			continue
		}
		rows[at].Puts = append(rows[at].Puts, m.Puts...)
	}
	return rows
}
