package kv

import (
	"fmt"
	"slices"
)

// A Conditional is a mutation of a row that is made only while the row is as it was read.
type Conditional struct {
	Mutation
	// Read are all cells of the row's family that Get, Scan or History returned. There is at least
	// one.
	Read []Cell
}

// DeletesOf appends the deletions of the very versions that were read: each has the stamp of its
// cell. A deletion also hides older versions of the cell, which HBase would read again otherwise.
// It hides no put that comes later, as one with the stamp of the engine's clock would.
func DeletesOf(dst []Delete, read []Cell) []Delete {
	dst = slices.Grow(dst, len(read))
	for i := range read {
		dst = append(dst, Delete{Qualifier: read[i].Qualifier, Time: read[i].Time})
	}
	return dst
}

// Stamps returns the stamps of the cells that were read, ascending, each once.
func (c *Conditional) Stamps() []int64 {
	stamps := make([]int64, len(c.Read))
	for i := range c.Read {
		stamps[i] = c.Read[i].Time
	}
	slices.Sort(stamps)
	return slices.Compact(stamps)
}

// unchanged reports whether a row with these cells counts as it was read.
func (c *Conditional) unchanged(cells []Cell) bool {
	stamps := c.Stamps()
	return len(cells) >= len(c.Read) && !slices.ContainsFunc(cells, func(held Cell) bool {
		_, read := slices.BinarySearch(stamps, held.Time)
		return !read
	})
}

// CheckConditionals returns an error when an ApplyUnchanged breaks the contract. Engines call it
// before they write anything.
func CheckConditionals(rows []Conditional) error {
	if err := CheckMutations(Mutations(rows)); err != nil {
		return err
	}
	for i := range rows {
		if len(rows[i].Read) == 0 {
			return fmt.Errorf("%w: row %x is compared with no cells", ErrInvalid, rows[i].Key)
		}
	}
	return nil
}

// Mutations are those of some conditionals.
func Mutations(rows []Conditional) []Mutation {
	all := make([]Mutation, len(rows))
	for i := range rows {
		all[i] = rows[i].Mutation
	}
	return all
}
