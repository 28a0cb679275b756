package kv

import (
	"context"
	"errors"
)

// Local is the contract of an engine that keeps its tables on this machine: no other process
// changes them. It is what a store may use in addition to KV. kvtest.RunLocal tests every sentence.
//
// A local engine has one version of each cell. The order of the writes decides, not their stamps:
//
//   - A put replaces the cell, even one with a greater stamp. Put.Time becomes the Time of the cell;
//     with 0 it is the engine's clock, which never goes back.
//   - A delete (of a cell, of a row or of ranges of rows) removes what is there. It leaves nothing
//     that could hide a later put. Delete.Time and Mutation.RowTime have no effect.
type Local interface {
	KV
	RowViewer
	UnloggedWriter
	RangeDeleter
	Splitter
	Coster
	LogKeeper
	Disk
}

// A RowViewer shows rows in the memory and the form of the engine, without a copy of each cell.
type RowViewer interface {
	// GetStored calls visit for each key that has a row; i is the key's index. Keys ascend
	// strictly. near means that few rows lie between them, on average. An error of visit ends
	// the call and is returned. The cells are valid until visit returns.
	GetStored(ctx context.Context, table, family string, keys [][]byte, near bool, visit func(i int, cells []StoredCell) error) error
	// ScanStored calls visit for the rows of a scan, in order. Qualifier, KeysOnly, Since and Limit
	// of the scan must not be set. The key and the cells are valid until visit returns.
	ScanStored(ctx context.Context, s Scan, visit func(key []byte, cells []StoredCell) error) error
}

// An UnloggedWriter makes changes durable later, for callers that can repeat them until then.
type UnloggedWriter interface {
	// ApplyUnlogged is Apply without the wait for the disk. Its changes are seen at once and are
	// durable when a Flush, or an Apply, returns that began later. The changes have one order:
	// after a crash, a change is there only with all changes that were made before it.
	ApplyUnlogged(ctx context.Context, table, family string, rows []Mutation) error
	// Flush returns when all changes made before are durable.
	Flush(ctx context.Context) error
}

// A RangeDeleter deletes ranges of rows at a cost that does not grow with the number of the rows.
type RangeDeleter interface {
	// DeleteRange deletes the rows of the ranges in all families of a table: all of them or, after
	// an error, perhaps none. It returns when that is durable. held is the number of the ranges
	// that had rows, counted for each family. It may delete rows that are written while it runs,
	// and never rows that are written later. An empty range is an ErrInvalid.
	DeleteRange(ctx context.Context, table string, ranges ...KeyRange) (held int, err error)
}

// A Splitter cuts a scan into parts for several workers.
type Splitter interface {
	// Split returns at most n scans whose rows, part after part, are those of s: each row once, in
	// the order of the keys. The parts are about equally large as far as the engine knows without
	// reading rows; it returns fewer parts where it knows no place to cut. A scan with a Limit is
	// one part. The parts may run at the same time; each sees the table as it is when that part
	// begins.
	Split(ctx context.Context, s Scan, n int) ([]Scan, error)
}

// A Coster knows what reading costs.
type Coster interface {
	// Costs returns constants.
	Costs() Costs
}

// A Disk is where a local engine keeps its files.
type Disk interface {
	// DiskSpace returns ErrFull while the engine refuses writes for lack of disk space, else nil. A
	// caller that keeps data elsewhere on the same disk asks before it accepts more.
	DiskSpace() error
	// Damaged lists the files in which damage was met since the start.
	Damaged() []string
	// DiskBytes returns the size of all files, 0 without files.
	DiskBytes() uint64
	// Compact brings back the space of what was deleted from a table. It returns when that is done.
	Compact(ctx context.Context, table string) error
	// Checkpoint copies the tables, as they are at one moment, into a folder that must not exist.
	// Without files it is ErrNoFiles.
	Checkpoint(ctx context.Context, dir string) error
}

// ErrNoFiles is returned for a copy of an engine that keeps its tables in memory alone.
var ErrNoFiles = errors.New("the engine keeps no files")

// A LogEnd is a position in a log that belongs to an engine but is not part of it; there are
// records before it. The zero LogEnd means that there are none.
type LogEnd struct {
	Segment uint64
	Offset  int64
}

// A LogKeeper remembers where such a log ends, so that a start notices a log that is lost as a
// whole.
type LogKeeper interface {
	// LogEnd returns what was noted last.
	LogEnd() LogEnd
	// NoteLog is durable when it returns. If it need not be, it survives the process. It costs no
	// more than a small write.
	NoteLog(end LogEnd, durable bool) error
	// LogState returns what was recorded last. A store has a name from its first start on.
	LogState() LogState
	// RecordLog records a state in the tables. That is durable when it returns, with all changes that
	// were made before.
	RecordLog(state LogState) error
}
