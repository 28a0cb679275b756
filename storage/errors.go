package storage

import (
	"context"
	"errors"

	"github.com/tsdbridge/tsdbridge/storage/series"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// The classes of errors; see package series.
var (
	ErrInvalid  = series.ErrInvalid
	ErrLimit    = series.ErrLimit
	ErrNotReady = series.ErrNotReady
	ErrFull     = series.ErrFull
	ErrDamaged  = series.ErrDamaged
)

// ErrNoBackup is returned for an engine that cannot copy itself.
var ErrNoBackup = write.ErrNoBackup

// UnknownText tells what it means that only a log has so many series.
func UnknownText(unknown int) string { return write.UnknownText(unknown) }

// IsRefusal reports whether an error of the store is for good: the same data would be refused
// again.
func IsRefusal(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return false
	}
	return errors.Is(err, series.ErrInvalid) || errors.Is(err, series.ErrLimit)
}
