package forest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// Rules may give several series one path: those that differ in a tag which no rule shows. A TSD
// keeps the first and drops the others. Here each of the others has a column of its own in the row
// of the branch, which no TSD reads. All are found under the path.

// alsoPrefix begins such a column; the hash of the leaf's name, four bytes, and the TSUID follow.
// The value is the leaf's document.
const alsoPrefix = "tsdbridge_also:"

func alsoQualifier(name string, tsuid []byte) []byte {
	return alsoColumn(schema.NameHash(name), tsuid)
}

func alsoColumn(hash uint32, tsuid []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte(alsoPrefix), hash), tsuid...)
}

// parseAlso reads the column of a series that shares a leaf. ok is false for other columns.
func parseAlso(qualifier []byte) (hash uint32, ok bool) {
	rest, ok := bytes.CutPrefix(qualifier, []byte(alsoPrefix))
	if !ok || len(rest) <= 4 {
		return 0, false
	}
	return binary.BigEndian.Uint32(rest), true
}

// alsoID is a series that shares the leaf of a column. Sums that are equal by chance are told apart
// by the TSUIDs.
type alsoID struct {
	leaf cellID
	sum  uint64
}

func newAlsoID(leaf cellID, tsuid []byte) alsoID {
	h := fnv.New64a()
	_, _ = h.Write(tsuid) // never fails
	return alsoID{leaf, h.Sum64()}
}

// A Sharing is how many series of a tree came to a path that another series had first.
type Sharing struct {
	Series int
	Path   string // of one of them, "" when there is none
}

// AddAlso adds a series that shares the leaf of a row's column. ok is false when the row is not
// there.
func (x *leafIndex) AddAlso(key schema.BranchKey, hash uint32, leaf schema.Leaf) (ok bool, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok := x.parent(key)
	if !ok {
		return false, nil
	}
	branch, ok := x.branches[at]
	if !ok {
		return false, nil
	}
	id := newAlsoID(cellID{branch, hash}, leaf.TSUID)
	if x.hasAlso(id, leaf.TSUID) {
		return true, nil
	}
	entry, err := x.add(branch, x.shown(leaf.DisplayName), leaf.TSUID)
	if err != nil {
		return true, err
	}
	x.also[id] = entry
	x.leafCount++
	s := x.shared[key.Tree]
	if s.Series++; s.Path == "" {
		s.Path = x.pathOf(key, x.shown(leaf.DisplayName))
	}
	x.shared[key.Tree] = s
	return true, nil
}

// hasAlso reports whether a series shares a leaf already. The caller holds mu.
func (x *leafIndex) hasAlso(id alsoID, tsuid []byte) bool {
	entry, ok := x.also[id]
	return ok && bytes.Equal(x.at(x.entries[entry].tsuid), tsuid)
}

// pathOf returns the path of a name below a row, which is there. The caller holds mu.
func (x *branchIndex) pathOf(key schema.BranchKey, name string) string {
	var b strings.Builder
	at := x.branches[cellID{noBranch, uint32(key.Tree)}]
	for _, hash := range key.Hashes {
		at = x.branches[cellID{at, hash}]
		b.Write(x.at(x.entries[at].name))
		b.WriteByte('.')
	}
	b.WriteString(name)
	return b.String()
}

// Shared returns how many series of a tree have a path together with others.
func (x *leafIndex) Shared(tree uint16) Sharing {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.shared[tree]
}

// alsoRows makes one change of each row.
func alsoRows(insertions []insertion) []kv.Mutation {
	var rows []kv.Mutation
	at, seen := map[string]int{}, map[string]bool{}
	for _, one := range insertions {
		key := schema.BranchRow(one.tree.ID(), one.route.Branches...)
		put := kv.Put{Qualifier: alsoQualifier(one.route.Leaf, one.tsuid), Value: leafValue(one.route.Leaf, one.tsuid)}
		cell := string(key) + string(put.Qualifier)
		if seen[cell] {
			continue
		}
		seen[cell] = true
		n, ok := at[string(key)]
		if !ok {
			n = len(rows)
			at[string(key)] = n
			rows = append(rows, kv.Mutation{Key: key})
		}
		rows[n].Puts = append(rows[n].Puts, put)
	}
	return rows
}

// indexAlso adds series that were written as sharers of leaves to the index. The caller holds the
// forest's lock.
func (f *Forest) indexAlso(insertions []insertion) {
	for _, one := range insertions {
		key, _ := schema.ParseBranchRow(schema.BranchRow(one.tree.ID(), one.route.Branches...))
		ok, err := f.index.AddAlso(key, schema.NameHash(one.route.Leaf), schema.Leaf{DisplayName: one.route.Leaf, TSUID: one.tsuid})
		f.missed = f.missed || !ok
		f.complete = f.complete && ok && err == nil
	}
}

// OnPath returns the series that have the path of a route in a tree, the first of them that which a
// TSD finds there: from memory if the trees are loaded, else from the row of the branch, which may
// be a wide one.
func (f *indexed) OnPath(ctx context.Context, id uint16, r tree.Route) ([][]byte, error) {
	if r.Outcome != tree.Stored && r.Outcome != tree.OnRoot {
		return nil, nil
	}
	if f.Loaded() {
		return f.Index().onPath(id, r), nil
	}
	rows, err := f.db.Get(ctx, f.o.TreeTable, schema.FamilyData, [][]byte{schema.BranchRow(id, r.Branches...)})
	if err != nil {
		return nil, fmt.Errorf("read who has the leaf %s: %w", r.Leaf, err)
	}
	var tsuids [][]byte
	hash := schema.NameHash(r.Leaf)
	for _, c := range rows[0].Cells {
		own, isLeaf := schema.ParseLeafQualifier(c.Qualifier)
		shared, isAlso := parseAlso(c.Qualifier)
		if (!isLeaf || own != hash) && (!isAlso || shared != hash) {
			continue
		}
		if leaf, err := schema.ParseLeaf(c.Value); err == nil && leaf.DisplayName == r.Leaf {
			tsuids = append(tsuids, leaf.TSUID)
		}
	}
	return tsuids, nil
}

// onPath returns the series of a path, the one of the column first.
func (x *Index) onPath(tree uint16, r tree.Route) (tsuids [][]byte) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	branch, known := x.locate(tree, r.Branches)
	if known <= len(r.Branches) {
		return nil
	}
	if holder := x.holder(branch, r.Leaf); holder != nil {
		tsuids = append(tsuids, holder)
	}
	x.named(branch, x.shown(r.Leaf), false, func(entry uint32) bool {
		if tsuid := x.at(x.entries[entry].tsuid); len(tsuids) == 0 || !bytes.Equal(tsuids[0], tsuid) {
			tsuids = append(tsuids, tsuid)
		}
		return true
	})
	return tsuids
}
