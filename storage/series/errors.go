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
)

// A RowError is the error of a row whose cells cannot be read. Asking again does not help; other rows can be read.
type RowError struct{ Err error }

// Error returns the text of the error.
func (e RowError) Error() string { return e.Err.Error() }

// Unwrap returns the error.
func (e RowError) Unwrap() error { return e.Err }
