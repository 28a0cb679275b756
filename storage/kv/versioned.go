package kv

import (
	"bytes"
	"context"
	"slices"
)

// Versioned is the contract of an engine whose tables several processes write to, like HBase. It is
// what a store may use in addition to KV. The engine keeps versions of a cell, and the stamps
// decide:
//
//   - Of the puts of one qualifier the one with the greatest Time is read, whichever came last; of
//     equal Times the last put.
//   - A put is not read if its cell or its row was deleted with a Time that is not below its own,
//     before the put or after it. Only the engine's own clock is spared: a put with Time 0 that begins
//     after a deletion with Time 0 returned is read.
//   - That holds for as long as the engine remembers the deletion. When it has dropped it (HBase: at a
//     major compaction), a put with an older Time is read.
//
// A row that is read, merged and written again by such an engine needs its History: Get does not
// tell what is missing because another process deleted it.
type Versioned interface {
	KV
	RowViewer
	Splitter
	Coster
	// History reads rows like Get, with what the engine still has of their past.
	History(ctx context.Context, table, family string, keys [][]byte) ([]History, error)
	// ApplyUnchanged makes each mutation if its row is as it was read, and reports for each whether
	// it was made. The check and the mutation of a row are atomic. A row is as it was read if it
	// has at least as many cells, and none with a stamp that no cell had when it was read. A cell
	// that was put since then with the stamp of another is not noticed. A mutation with a Cell is made
	// if that cell has the value, whatever the rest of the row has. All mutations that were
	// made are durable when it returns. After an error any of the mutations may have been made. A
	// mutation whose first answer was lost may be reported as not made although it was: read the
	// row to be certain.
	ApplyUnchanged(ctx context.Context, table, family string, rows []Conditional) (made []bool, err error)
	// Supported returns an ErrUnsupported if a server that has a part of the table is known not to
	// keep this contract. It puts nothing that is read.
	Supported(ctx context.Context, table, family string) error
}

// A History is a row with its past. What the engine has dropped is missing; the latest state is
// always there. An engine may bound the number of Hidden cells of a qualifier; then the latest are
// there.
type History struct {
	Row           // what Get would return
	Hidden []Cell // older and deleted versions that the engine has not dropped yet, in any order
	// Deletes are deletions that the engine has not dropped yet, in any order. One that others
	// cover may be missing.
	Deletes []Tombstone
}

// Untouched reports whether nothing is known of the row: neither cells nor a past.
func (h *History) Untouched() bool {
	return len(h.Cells) == 0 && len(h.Hidden) == 0 && len(h.Deletes) == 0
}

// A Tombstone is a deletion that the engine remembers.
type Tombstone struct {
	// Qualifier names the cell; nil (not only empty) is the whole family of the row.
	Qualifier []byte
	// Time is the stamp: versions up to it, and with it, are hidden.
	Time int64
	// Exact hides the versions of this very Time only.
	Exact bool
}

// Hides reports whether the deletion hides a version of a cell.
func (t *Tombstone) Hides(c *Cell) bool {
	if t.Qualifier != nil && !bytes.Equal(t.Qualifier, c.Qualifier) {
		return false
	}
	return c.Time == t.Time || c.Time < t.Time && !t.Exact
}

// NewHistory separates the cells that are read from those that are hidden, as HBase does in a
// family with one version. Both versions and deletes are in ascending order of their qualifiers
// (nil before empty), the versions of one qualifier in descending order of their Times, which
// differ. It keeps the slices and what they point to.
func NewHistory(key []byte, versions []Cell, deletes []Tombstone) History {
	h := History{Row: Row{Key: key, Cells: versions}, Deletes: deletes}
	if len(deletes) == 0 && !repeats(versions) {
		return h
	}
	family := deletes[:prefixOf(deletes, func(t *Tombstone) bool { return t.Qualifier == nil })]
	deletes = deletes[len(family):]
	h.Cells = nil
	for len(versions) > 0 {
		q := versions[0].Qualifier
		n := prefixOf(versions, func(c *Cell) bool { return bytes.Equal(c.Qualifier, q) })
		deletes = deletes[prefixOf(deletes, func(t *Tombstone) bool { return bytes.Compare(t.Qualifier, q) < 0 }):]
		own := deletes[:prefixOf(deletes, func(t *Tombstone) bool { return bytes.Equal(t.Qualifier, q) })]
		h.tell(versions[:n], family, own)
		versions = versions[n:]
	}
	return h
}

// tell finds the version of a qualifier that is read.
func (h *History) tell(versions []Cell, family, own []Tombstone) {
	read := slices.IndexFunc(versions, func(c Cell) bool { return !hidden(family, &c) && !hidden(own, &c) })
	for i := range versions {
		if i == read {
			h.Cells = append(h.Cells, versions[i])
		} else {
			h.Hidden = append(h.Hidden, versions[i])
		}
	}
}

func hidden(by []Tombstone, c *Cell) bool {
	return slices.ContainsFunc(by, func(t Tombstone) bool { return t.Hides(c) })
}

// repeats reports whether a qualifier has more than one version.
func repeats(versions []Cell) bool {
	for i := 1; i < len(versions); i++ {
		if bytes.Equal(versions[i-1].Qualifier, versions[i].Qualifier) {
			return true
		}
	}
	return false
}

// prefixOf returns the number of elements at the beginning that are so.
func prefixOf[T any](s []T, so func(*T) bool) int {
	for i := range s {
		if !so(&s[i]) {
			return i
		}
	}
	return len(s)
}
