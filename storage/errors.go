package storage

import (
	"context"
	"errors"

	"github.com/tsdbridge/tsdbridge/storage/annotations"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/series"
	"github.com/tsdbridge/tsdbridge/storage/uid"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// The classes of errors; see package series.
var (
	ErrInvalid    = series.ErrInvalid
	ErrLimit      = series.ErrLimit
	ErrNotReady   = series.ErrNotReady
	ErrFull       = series.ErrFull
	ErrDamaged    = series.ErrDamaged
	ErrUnreadable = series.ErrUnreadable
)

// A NamelessError is a UID of a series that has no name; see package catalog.
type NamelessError = catalog.NamelessError

// A RowError is the error of a row whose cells cannot be read; see package series.
type RowError = series.RowError

// Errors of Rename; see package uid.
var (
	ErrName     = uid.ErrName
	ErrRenaming = uid.ErrRenaming
)

// LostValue and LostName return the error of a tag's value that stands for a UID without a name, and of a
// series that has one; see package catalog.
func LostValue(value string) error { return catalog.LostValue(value) }

// LostName is LostValue for the values of a series.
func LostName(s *Series) error { return catalog.LostName(s) }

// A NoNameError is a rename of a name without a UID.
type NoNameError = uid.NoNameError

// A NameTakenError is a rename to a name that has a UID.
type NameTakenError = uid.TakenError

// ErrAnnotationExists is returned when an annotation is created that is there.
var ErrAnnotationExists = annotations.ErrExists

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
