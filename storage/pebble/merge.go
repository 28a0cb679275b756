package pebble

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2"

	"github.com/tsdbridge/tsdbridge/storage/columns"
)

// mergerName is written into every file of a store; another name is another store.
const mergerName = "tsdbridge.cells.v1"

// newMerger returns the operator that folds changes into rows: of a qualifier the newest change
// stays, a deletion stays until the oldest change to the row is part of the fold. So Apply only
// ever adds a change, without reading.
func newMerger() *pebble.Merger {
	pool := &sync.Pool{New: func() any { return new(fold) }}
	return &pebble.Merger{
		Name: mergerName,
		Merge: func(_, value []byte) (pebble.ValueMerger, error) {
			f := pool.Get().(*fold)
			f.pool = pool
			return f, f.MergeNewer(value)
		},
	}
}

// fold is one fold under way. It implements pebble.ValueMerger and, to be used again, io.Closer.
//
// It does not implement pebble.DeletableValueMerger, though a row may lose all its cells: a
// compaction would then drop the entry together with what it hides, and an older version of the row
// on a lower level would come back. Such a row stays as one without records; readers leave it out.
type fold struct {
	pool        *sync.Pool
	arena       []byte // the operands, one after the other
	ends        []int
	newestFirst bool
	records     []record
	out         []byte
	columns     columns.Decoder
	qualifiers  []byte // of coded cells; what records hold of it stays when it grows
	unused      []byte
}

// maxPooled is the greatest memory in bytes that a fold is kept with.
const maxPooled = 1 << 20

// MergeNewer implements pebble.ValueMerger.
func (f *fold) MergeNewer(value []byte) error {
	f.arena = append(f.arena, value...)
	f.ends = append(f.ends, len(f.arena))
	return nil
}

// MergeOlder implements pebble.ValueMerger. Pebble uses one of the two in a fold.
func (f *fold) MergeOlder(value []byte) error {
	f.newestFirst = true
	return f.MergeNewer(value)
}

// Finish implements pebble.ValueMerger.
func (f *fold) Finish(includesBase bool) ([]byte, io.Closer, error) {
	if len(f.ends) == 1 && len(f.arena) > 0 && (!includesBase || isAtRest(f.arena)) {
		return f.arena, f, nil
	}
	last, err := f.gather()
	if err != nil {
		return nil, nil, err
	}
	f.out = appendRow(f.out, newest(f.records, includesBase), last)
	return f.out, f, nil
}

// Close makes the fold ready for another row.
func (f *fold) Close() error {
	if cap(f.arena)+cap(f.out)+cap(f.qualifiers) > maxPooled {
		return nil
	}
	clear(f.records)
	f.arena, f.ends, f.records, f.out = f.arena[:0], f.ends[:0], f.records[:0], f.out[:0]
	f.qualifiers, f.newestFirst = f.qualifiers[:0], false
	f.pool.Put(f)
	return nil
}

// gather reads the records of all operands, oldest operand first.
func (f *fold) gather() (last int64, err error) {
	for i := range f.ends {
		if f.newestFirst {
			i = len(f.ends) - 1 - i
		}
		start := 0
		if i > 0 {
			start = f.ends[i-1]
		}
		row, err := parseRow(f.arena[start:f.ends[i]])
		if err != nil {
			return 0, err
		}
		last = max(last, row.last)
		for {
			var r record
			more, err := row.next(&r)
			if err != nil {
				return 0, err
			}
			if !more {
				break
			}
			if err := f.qualify(&r); err != nil {
				return 0, err
			}
			f.records = append(f.records, r)
		}
	}
	return last, nil
}

// qualify finds the qualifier of a coded cell, which identifies it. The cell stays coded.
func (f *fold) qualify(r *record) (err error) {
	if r.coded == nil {
		return nil
	}
	at := len(f.qualifiers)
	f.qualifiers, f.unused, err = f.columns.AppendCell(f.qualifiers, f.unused[:0], r.coded)
	if err != nil {
		return fmt.Errorf("%w: %w", errCorrupt, err)
	}
	r.qualifier = f.qualifiers[at:len(f.qualifiers):len(f.qualifiers)]
	return nil
}

// newest sorts records by qualifier and keeps the last given of each; atBase leaves out deletions.
func newest(records []record, atBase bool) []record {
	byQualifier := func(a, b record) int { return bytes.Compare(a.qualifier, b.qualifier) }
	if !slices.IsSortedFunc(records, byQualifier) {
		slices.SortStableFunc(records, byQualifier)
	}
	kept := records[:0]
	for i, r := range records {
		if i+1 < len(records) && bytes.Equal(r.qualifier, records[i+1].qualifier) || atBase && r.deleted {
			continue
		}
		kept = append(kept, r)
	}
	return kept
}
