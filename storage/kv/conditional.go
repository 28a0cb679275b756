package kv

import (
	"bytes"
	"fmt"
	"slices"
)

// A Conditional is a mutation of a row that is made only while the row is as it was read.
type Conditional struct {
	Mutation
	// Read are all cells of the row's family that Get, Scan or History returned. There is at least
	// one, unless Cell is set.
	Read []Cell
	// Cell, if it is set, is what is compared in place of Read: one cell, whatever its stamp.
	Cell *Expected
}

// Expected is a cell of the mutation's family with its value. No bytes mean that there is no such
// cell, or one with an empty value.
type Expected struct{ Qualifier, Value []byte }

// holds reports whether a row with these cells has the cell.
func (e *Expected) holds(cells []Cell) bool {
	at := slices.IndexFunc(cells, func(c Cell) bool { return bytes.Equal(c.Qualifier, e.Qualifier) })
	if at < 0 {
		return len(e.Value) == 0
	}
	return bytes.Equal(cells[at].Value, e.Value)
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
	if c.Cell != nil {
		return c.Cell.holds(cells)
	}
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
		if len(rows[i].Read) == 0 && rows[i].Cell == nil {
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
