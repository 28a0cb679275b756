package storage

import "errors"

// The classes of errors. Everything else is ours and passes: the caller should try again later.
var (
	// ErrInvalid is the sender's data: sending it again cannot help.
	ErrInvalid = errors.New("invalid")
	// ErrLimit is more than this store is set to take or give.
	ErrLimit = errors.New("limit exceeded")
	// ErrNotReady says that the store has not loaded what it needs to answer.
	ErrNotReady = errors.New("not ready")
)
