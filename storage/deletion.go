package storage

import (
	"errors"
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

// A Tally counts what a deletion would delete.
type Tally struct {
	Series          int // with points or objects in the time of the deletion
	Points, Objects int
}

// ErrNotEmpty means that something is stored of a series that may only be deleted without.
var ErrNotEmpty = errors.New("the series has points")

// ErrBroken means that rows hold cells that cannot be read, and were left as they are.
var ErrBroken = errors.New("rows cannot be read and were left as they are: repair them with tsdbridge fsck, and delete again")

// ErrUnfinished means that a deletion is in the log and not yet in the table: the rest of it is deleted by itself, after
// a start as well. Until then some of what it deletes may still be answered.
var ErrUnfinished = errors.New("the deletion has begun, and its rest follows by itself as soon as the store can do it, after a restart too")

// Deleted tells what a deletion did.
type Deleted struct {
	Rows   int // of the table, deleted or put anew without some of their points
	Series int // deleted with all that is known of them
}
