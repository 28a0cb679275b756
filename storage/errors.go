package storage

import (
	"context"
	"errors"
	"fmt"
)

// The classes of errors. Everything else is ours and passes: the caller should try again later.
var (
	// ErrInvalid is the sender's data: sending it again cannot help.
	ErrInvalid = errors.New("invalid")
	// ErrLimit is more than this store is set to take or give.
	ErrLimit = errors.New("limit exceeded")
	// ErrNotReady means that the store has not loaded what it needs to answer.
	ErrNotReady = errors.New("not ready")
	// ErrFull means that a disk has no space for more: the engine's, or that of the log. It passes
	// when space is made; what was acknowledged stays, and is read.
	ErrFull = errors.New("no space on the disk")
	// ErrDamaged means that a file of the engine does not hold what was written to it. Asking again
	// does not help; what else there is can be read.
	ErrDamaged = errors.New("damaged file")
	// ErrUnsupported means that servers of the engine are too old: trying again does not help. The
	// text contains the reason.
	ErrUnsupported = errors.New("unsupported server")
	// ErrUnreadable means that something in the tables is not what it should be: a cell that cannot be
	// decoded, a UID without a name. Asking again does not help before somebody mends it, with the
	// command that the error names; what else there is can be read.
	ErrUnreadable = errors.New("unreadable")
)

// A RowError is the error of a row whose cells cannot be read: an ErrUnreadable.
type RowError struct{ Err error }

// Is implements errors.Is.
func (RowError) Is(target error) bool { return target == ErrUnreadable }

// Error returns the text of the error.
func (e RowError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e RowError) Unwrap() error { return e.Err }

// ErrLayout means that flags are not those with which the tables were filled. No retry helps.
var ErrLayout = errors.New("the flags do not fit the tables")

// ErrNoBackup means that the engine cannot copy itself.
var ErrNoBackup = errors.New("the engine has no backups")

// MaxHistogramBytes is the greatest length of one of OpenTSDB's histograms.
const MaxHistogramBytes = 64 << 10

// UnknownText tells what it means that only a log has so many series.
func UnknownText(unknown int) string {
	return fmt.Sprintf("it has points of %d series that the store does not have: it belongs to another store, or the store is older than its log", unknown)
}

// IsRefusal reports whether an error of the store is for good: the same data would be refused
// again.
func IsRefusal(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	return errors.Is(err, ErrInvalid) || errors.Is(err, ErrLimit)
}
