// Package kv is the ordered table that everything is kept in: the few operations of HBase that the
// OpenTSDB schema needs, defined so that HBase, a local engine and plain memory can all implement
// them. It knows rows, families, qualifiers and the shape of a row key's tag part; it never knows
// what they mean.
//
// Every engine implements KV, and in addition one of two contracts:
//
//	            for tables that          stamps of puts and deletes     engines
//	Local       one process writes to    puts keep theirs; the order    Mem, pebble.Engine
//	                                     of the writes decides
//	Versioned   several processes        the stamps decide              Shared, hbase.Engine
//	            write to
//
// Both tell what reading costs and cut scans for several workers. Only Local shows rows where they
// lie, writes without waiting for the disk, and deletes ranges at once: on HBase each row of a
// range is a deletion of its own, and expiry is the table's TTL.
package kv

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
)

// Errors that every engine wraps where they apply. Any other error means that the engine could not
// do it now: try again later. A cancelled context gives the context's error.
var (
	// ErrNoTable means that the table, or the family in it, does not exist.
	ErrNoTable = errors.New("no such table")
	// ErrInvalid means that the request itself can never work (an empty row key, a qualifier both
	// put and deleted).
	ErrInvalid = errors.New("invalid request")
	// ErrMixed is an ErrDamaged of files that are whole, and do not belong together.
	ErrMixed = errors.New("files of different stores or times")
)

// A Cell is one value of a row. Its slices belong to the caller of the operation that returned it.
type Cell struct {
	Qualifier []byte
	Value     []byte
	// Time is the stamp of the cell, in milliseconds since 1970: the Time of its Put or, without
	// one, when the engine wrote it by its own clock. Of two cells of one row stamped by the
	// engine, the one with the greater Time was written later; equal Times tell nothing.
	Time int64
}

// A Row is a row key with its cells of one family, in ascending order of the qualifier's bytes.
// A row without cells does not exist.
type Row struct {
	Key   []byte
	Cells []Cell
}

// A Column names one cell.
type Column struct {
	Table, Family  string
	Row, Qualifier []byte
}

// A Put is one cell to write.
type Put struct {
	Qualifier, Value []byte
	// Time is the stamp of the cell, in milliseconds since 1970; 0 is the engine's clock. On a
	// Versioned engine it decides which put is read; elsewhere the last put is read and Time only
	// recorded.
	Time int64
}

// A Delete removes one cell.
type Delete struct {
	Qualifier []byte
	// Time is the stamp of the deletion, in milliseconds since 1970; 0 is the engine's clock. It
	// has an effect only on a Versioned engine.
	Time int64
}

// A Mutation changes one row of one family: its deletes and puts happen together or not at all. A
// qualifier must not be in both. Deleting what is not there is no error. Local and Versioned tell
// what the stamps do.
type Mutation struct {
	Key     []byte
	Puts    []Put
	Deletes []Delete
	// DeleteRow removes every cell of the family; Puts and Deletes must then be empty.
	DeleteRow bool
	// RowTime is the stamp of DeleteRow, as in Delete.
	RowTime int64
}

// A Scan reads rows in ascending order of their keys.
type Scan struct {
	Table, Family string
	// Start is the first key, Stop the first key no longer wanted; an empty Stop is the end of the
	// table.
	Start, Stop []byte
	// Match, when set, selects rows by the tag part of their keys.
	Match *Match
	// Qualifier, when set, selects one column: other cells are left out, and rows without it.
	Qualifier []byte
	// KeysOnly asks for keys. Cells may then be missing, incomplete, and without values.
	KeysOnly bool
	// Since, when above 0, leaves out cells with an earlier Time, and rows that have no other. A
	// cell that was put with a Time of its own may be new and have an earlier one.
	Since int64
	// Limit, when above 0, ends the scan after so many rows.
	Limit int
	// RowsRead, when set, grows by the rows that the engine reads for the scan, whether they match
	// or not. An engine that cannot tell leaves it.
	RowsRead *atomic.Int64
}

// KV is the table contract. All methods are safe for concurrent use, return only after the engine
// has answered, and honour the context. What Apply, Increment and CheckAndPut wrote is seen by
// every operation that starts after they returned.
type KV interface {
	// Get reads rows of a family by key, one answer per key and in their order; a missing row has
	// no cells.
	Get(ctx context.Context, table, family string, keys [][]byte) ([]Row, error)
	// Scan reads a range. An error ends it and is never followed by a row: a scan that ended
	// without an error was complete. Leaving the loop early releases what the scan holds.
	Scan(ctx context.Context, s Scan) iter.Seq2[Row, error]
	// Apply makes the mutations, in no particular order, each atomically, and returns when all of
	// them are durable. After an error any of them may have happened; applying all of them again is
	// safe. A key must not occur twice.
	Apply(ctx context.Context, table, family string, rows []Mutation) error
	// Increment adds delta to an 8-byte big-endian counter (absent: 0) and returns the sum. No two
	// calls ever return the same sum; after an error, or a lost answer, some sums may have been
	// skipped. It need not be durable before the next Apply is: an Apply that returns later carries
	// it.
	Increment(ctx context.Context, c Column, delta int64) (int64, error)
	// CheckAndPut writes value if the cell now holds expected, and reports whether it did; expected
	// nil means that the cell must be absent. After an error the cell may have been written, and an
	// engine that lost its first answer may return false although it wrote. Read the cell to be
	// certain. It is durable like Increment.
	CheckAndPut(ctx context.Context, c Column, expected, value []byte) (bool, error)
}
