package schema

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// MaxTreeID is the greatest id of a tree; they begin at 1 (OpenTSDB 2.4 Tree.TREE_ID_WIDTH is 2
// bytes).
const MaxTreeID = 1<<16 - 1

// RootName is what OpenTSDB calls the root of every tree. It is in no row key.
const RootName = "ROOT"

// The widths in bytes of the parts of a row key of tsdb-tree.
const (
	treeWidth   = 2
	branchWidth = 4
)

// The last byte of the rows of failures (OpenTSDB 2.4 Tree.COLLISION_ROW_SUFFIX,
// NOT_MATCHED_ROW_SUFFIX).
const (
	collisionRow  = 1
	notMatchedRow = 2
)

// The columns of tsdb-tree, or what they begin with.
const (
	treeColumn       = "tree"
	branchColumn     = "branch"
	rulePrefix       = "tree_rule:"
	leafPrefix       = "leaf:"
	collisionPrefix  = "tree_collision:"
	notMatchedPrefix = "tree_not_matched:"
)

// NameHash is Java's String.hashCode: h = 31h + unit over UTF-16 units, wrapping at 32 bits.
// Different names may share it; so Aa and BB do.
func NameHash(name string) uint32 {
	var h uint32
	for i := range len(name) {
		if name[i] >= 0x80 {
			return wideHash(name)
		}
		h = 31*h + uint32(name[i])
	}
	return h
}

func wideHash(name string) uint32 {
	var h uint32
	for _, r := range name {
		if high, low := utf16.EncodeRune(r); high != '\uFFFD' {
			h = 31*(31*h+uint32(high)) + uint32(low)
			continue
		}
		h = 31*h + uint32(r)
	}
	return h
}

// TreeRow returns the row of a tree: its definition, its rules, and its root with the leaves of the
// root.
func TreeRow(id uint16) []byte { return binary.BigEndian.AppendUint16(nil, id) }

// CollisionRow returns the row of the series whose leaf was taken.
func CollisionRow(id uint16) []byte { return append(TreeRow(id), collisionRow) }

// NotMatchedRow returns the row of the series that a strict tree has no place for.
func NotMatchedRow(id uint16) []byte { return append(TreeRow(id), notMatchedRow) }

// BranchRow returns the row of the branch under these names, the root being the branch without
// names.
func BranchRow(id uint16, names ...string) []byte {
	key := make([]byte, 0, treeWidth+branchWidth*len(names))
	key = binary.BigEndian.AppendUint16(key, id)
	for _, name := range names {
		key = AppendBranch(key, name)
	}
	return key
}

// AppendBranch makes the row of a branch that of its child.
func AppendBranch(row []byte, name string) []byte {
	return binary.BigEndian.AppendUint32(row, NameHash(name))
}

// A BranchKey is the content of a row key of tsdb-tree: the tree and the hashes of the names below
// the root.
type BranchKey struct {
	Tree   uint16
	Hashes []uint32
}

// ParseBranchRow reads the key of a branch row; ok is false for rows of failures and for all other
// rows that are no branch.
func ParseBranchRow(key []byte) (k BranchKey, ok bool) {
	if len(key) < treeWidth || (len(key)-treeWidth)%branchWidth != 0 {
		return BranchKey{}, false
	}
	k.Tree = binary.BigEndian.Uint16(key)
	for rest := key[treeWidth:]; len(rest) > 0; rest = rest[branchWidth:] {
		k.Hashes = append(k.Hashes, binary.BigEndian.Uint32(rest))
	}
	return k, k.Tree != 0
}

// IsBranchRow reports whether ParseBranchRow reads a key.
func IsBranchRow(key []byte) bool {
	return len(key) >= treeWidth && (len(key)-treeWidth)%branchWidth == 0 && TreeOf(key) != 0
}

// TreeOf returns the tree of the key of a branch row.
func TreeOf(row []byte) uint16 { return binary.BigEndian.Uint16(row) }

// HashAt returns the hash of the name that is so many branches below the root in the key of a branch
// row, from 1 on.
func HashAt(row []byte, depth int) uint32 {
	return binary.BigEndian.Uint32(row[treeWidth+branchWidth*(depth-1):])
}

// SharedDepth returns how many branches the ways to two branch rows have in common, the root
// included.
func SharedDepth(a, b []byte) int {
	if len(a) < treeWidth || len(b) < treeWidth || TreeOf(a) != TreeOf(b) {
		return 0
	}
	n := treeWidth
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return 1 + (n-treeWidth)/branchWidth
}

// Depth returns the number of names below the root in the key of a branch row.
func Depth(row []byte) int { return (len(row) - treeWidth) / branchWidth }

// ChildWidth is how much longer the row key of a branch is than its parent's, in bytes.
const ChildWidth = branchWidth

// TreeQualifier returns the column of a tree's definition.
func TreeQualifier() []byte { return []byte(treeColumn) }

// BranchQualifier returns the column of a branch.
func BranchQualifier() []byte { return []byte(branchColumn) }

// RuleQualifier returns the column of a rule.
func RuleQualifier(level, order int) []byte {
	return fmt.Appendf(nil, "%s%d:%d", rulePrefix, level, order)
}

// ParseRuleQualifier is the inverse of RuleQualifier.
func ParseRuleQualifier(q []byte) (level, order int, ok bool) {
	rest, ok := strings.CutPrefix(string(q), rulePrefix)
	if !ok {
		return 0, 0, false
	}
	first, second, _ := strings.Cut(rest, ":")
	level, errLevel := strconv.Atoi(first)
	order, errOrder := strconv.Atoi(second)
	ok = errLevel == nil && errOrder == nil && bytes.Equal(RuleQualifier(level, order), q)
	return level, order, ok
}

// LeafQualifier returns the column of a leaf in the row of its branch. It contains the hash of the
// name, not the TSUID as the manual states.
func LeafQualifier(name string) []byte {
	return AppendLeafQualifier(make([]byte, 0, LeafQualifierSize), name)
}

// LeafQualifierSize is the length of the column of a leaf, in bytes.
const LeafQualifierSize = len(leafPrefix) + branchWidth

// AppendLeafQualifier appends LeafQualifier(name).
func AppendLeafQualifier(dst []byte, name string) []byte {
	return binary.BigEndian.AppendUint32(append(dst, leafPrefix...), NameHash(name))
}

// ParseLeafQualifier gives the hash in the column of a leaf.
func ParseLeafQualifier(q []byte) (hash uint32, ok bool) {
	if len(q) != len(leafPrefix)+branchWidth || string(q[:len(leafPrefix)]) != leafPrefix {
		return 0, false
	}
	return binary.BigEndian.Uint32(q[len(leafPrefix):]), true
}

// CollisionQualifier returns the column of a series in CollisionRow. Its value is the text of the
// TSUID that has the leaf.
func CollisionQualifier(tsuid []byte) []byte { return append([]byte(collisionPrefix), tsuid...) }

// NotMatchedQualifier returns the column of a series in NotMatchedRow. Its value names the rules
// that did not match.
func NotMatchedQualifier(tsuid []byte) []byte { return append([]byte(notMatchedPrefix), tsuid...) }

// ParseFailureQualifier gives the TSUID in a column of CollisionRow or NotMatchedRow.
func ParseFailureQualifier(q []byte) (tsuid []byte, ok bool) {
	for _, prefix := range []string{collisionPrefix, notMatchedPrefix} {
		if rest, found := bytes.CutPrefix(q, []byte(prefix)); found {
			return rest, len(rest) > 0
		}
	}
	return nil, false
}
