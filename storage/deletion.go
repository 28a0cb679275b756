package storage

import (
	"errors"

	"github.com/tsdbridge/tsdbridge/storage/write"
)

// A Deletion describes what to delete.
type Deletion struct {
	Refs       []Ref
	Start, End int64 // milliseconds, inclusive
	// Whole deletes all points of the series, regardless of Start and End, and the series
	// themselves: their rows of tsdb-meta and of the trees. Their UIDs stay assigned. A later point
	// registers its series anew.
	Whole bool
	// Repeated means that the caller deletes the same again from time to time, as a retention does.
	// Shared tables then have no record of the deletion: older points that another process puts
	// later, or that this one replays after a kill, stay until the next time.
	Repeated bool
}

// Deleted counts what a deletion did: the Rows of the table that it deleted or changed, and the
// Series that it deleted as a whole.
type Deleted = write.Deleted

// ErrBroken means that a deletion left rows as they are because they cannot be read.
var ErrBroken = write.ErrBroken

// ErrUnfinished means that the rest of a deletion follows by itself.
var ErrUnfinished = write.ErrUnfinished

// A Tally counts what a deletion would delete.
type Tally struct {
	Series          int // with points or objects in the time of the deletion
	Points, Objects int
}

// ErrNotEmpty means that something is stored of a series that may only be deleted without.
var ErrNotEmpty = errors.New("the series has points")
