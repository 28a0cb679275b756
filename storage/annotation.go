package storage

import (
	"errors"
)

// An Annotation is OpenTSDB's note of a moment or of a span of time, about a series or about
// everything.
type Annotation struct {
	TSUID string // hexadecimal digits; empty: it is global
	// Start and End are seconds or milliseconds since 1970, as they were given: numbers above 32
	// bits are milliseconds. End 0 is none.
	Start, End         int64
	Description, Notes string
	Custom             map[string]string // nil is null
}

// ErrAnnotationExists is returned when an annotation is created that is there.
var ErrAnnotationExists = errors.New("there is an annotation already")

// An AnnotationRange is the annotations of a series, or the global ones without a TSUID, whose start is at
// From or later and at To or before (milliseconds).
type AnnotationRange struct {
	TSUID    string
	From, To int64
}

// AnnotationMode is what Put does where an annotation is there already.
type AnnotationMode int

// The modes.
const (
	MergeAnnotation   AnnotationMode = iota // fields that the new one does not set stay: 0, empty and nil are not set
	ReplaceAnnotation                       // the new one replaces it
	CreateAnnotation                        // it stays, and Put returns an ErrAnnotationExists
)
