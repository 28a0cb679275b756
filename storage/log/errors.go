package log

import (
	"errors"
	"fmt"
	"syscall"
)

// What a caller can tell apart. Any other error is the disk's: what had been acknowledged stays,
// try again later.
var (
	// ErrFull means that there is no space: Options.MaxBytes is reached or the disk is full.
	// Truncate frees space.
	ErrFull = errors.New("log is full")
	// ErrTooLarge is a record of more than Options.MaxRecordBytes, or an empty one.
	ErrTooLarge = errors.New("record size out of bounds")
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("log is closed")
	// ErrLocked means that another process has the directory open.
	ErrLocked = errors.New("log is in use by another process")
	// ErrCorrupt means a file that no crash leaves: it was changed, or the disk lost what it had
	// confirmed.
	ErrCorrupt = errors.New("log is corrupt")
)

// errLimit is Options.MaxBytes speaking.
var errLimit = errors.New("limit of bytes")

// corrupt names the place at which a file stops being what this package wrote.
func corrupt(file string, offset int64, what string) error {
	return fmt.Errorf("%w: %s at byte %d: %s", ErrCorrupt, file, offset, what)
}

// noSpace reports whether an error means that the disk, the quota on it or MaxBytes is full.
func noSpace(err error) bool {
	return errors.Is(err, errLimit) || errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// diskError adds the operation to an error of the disk, and ErrFull when that is what it means.
func diskError(operation, file string, err error) error {
	if noSpace(err) {
		return fmt.Errorf("%w: %s %s: %w", ErrFull, operation, file, err)
	}
	return fmt.Errorf("%s %s: %w", operation, file, err)
}
