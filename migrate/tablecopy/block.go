package tablecopy

import (
	"context"

	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// The parts of a store, in the order in which they are copied: trees before series, since a new series is placed in them. A
// part of rolled up values is PartRollups and the name of a rollup.Part.
const (
	PartTrees    = "trees"
	PartNames    = "names"    // UIDs, and their documents
	PartSeries   = "series"   // and their documents
	PartPoints   = "points"   // and objects, and annotations of series
	PartArchives = "archives" // coarse archives of Graphite's series
	PartRollups  = "rollups"
	PartNotes    = "annotations" // global ones, which Graphite's events are
)

// A Block is some of what a range has.
type Block struct {
	Trees  []Tree
	Names  []Name
	Series []Series
	Notes  [][]byte // documents of global annotations
	// Lost is what cannot be read.
	Lost []Loss
	// Rest is what is left of the range after this block; nil: it is not known, or nothing.
	Rest *pipeline.Range
}

// A Tree is a definition of a tree, with its rules.
type Tree struct {
	Tree  schema.Tree
	Rules []schema.TreeRule
}

// A Name has a UID. Document is its UIDMeta; nil: it has none.
type Name struct {
	Kind     storage.NameKind
	Name     string
	Document []byte
}

// A Series is some of what there is of a series.
type Series struct {
	Name     storage.Series
	Document []byte // its TSMeta; nil: it has none, or it is not of this part
	Times    []int64
	Values   []float64
	Integers []storage.Integer // those of the values that are integers, ascending
	Objects  []storage.Object
	Notes    [][]byte // documents of annotations
	Slots    []storage.ArchiveSlots
	Rolled   []Rolled
}

// A Rolled is a rolled up value.
type Rolled struct {
	Interval    string // its name
	Aggregation string
	Group       bool // of a group of series
	Time        int64
	Value       schema.Point
}

// Len returns the number of values of the series.
func (s *Series) Len() (n int) {
	for i := range s.Slots {
		n += len(s.Slots[i].Times)
	}
	return n + len(s.Times) + len(s.Objects) + len(s.Notes) + len(s.Rolled)
}

// Points returns the number of values of the block.
func (b *Block) Points() (n int64) {
	for i := range b.Series {
		n += int64(b.Series[i].Len())
	}
	return n + int64(len(b.Notes))
}

// empty reports whether nothing is in the block.
func (b *Block) empty() bool {
	return len(b.Trees)+len(b.Names)+len(b.Series)+len(b.Notes)+len(b.Lost) == 0
}

// A Loss is something that cannot be read, or that the other store does not take.
type Loss struct {
	What   string `json:"what"`
	Reason string `json:"reason"`
}

// A Source has what is copied. It is safe for concurrent use.
type Source interface {
	// Parts returns the parts that there are, in the order in which they are copied.
	Parts(ctx context.Context) ([]string, error)
	// Ranges returns the next ranges of a part after one, in an order that stays the same while the source changes. None
	// means that the part has no more. A range with the part alone is before all others.
	Ranges(ctx context.Context, after pipeline.Range) ([]pipeline.Range, error)
	// Read gives what a range has, in blocks that are valid until give returns.
	Read(ctx context.Context, r pipeline.Range, give func(*Block) error) error
}

// A Target takes what is copied. It is safe for concurrent use.
type Target interface {
	// Put makes a block durable, and returns what it does not take. After an error the same block may be put again.
	Put(ctx context.Context, b *Block) ([]Loss, error)
}
