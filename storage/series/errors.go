package series

import (
	"errors"

	"github.com/tsdbridge/tsdbridge/storage/kv"
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
	ErrFull = kv.ErrFull
	// ErrDamaged means that a file of the engine does not hold what was written to it. Asking again
	// does not help; what else there is can be read.
	ErrDamaged = kv.ErrDamaged
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
