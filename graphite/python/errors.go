// Package python has what graphite-web takes from Python: how numbers are read and written, formats, the
// rounding of integers, and the errors that bad arguments end in.
package python

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/didyoumean"
)

// InputError means that a target cannot be computed: the sender's fault, 400. Errors of the Source
// are passed on as they are. The text is graphite-web's where it has one.
type InputError struct {
	Reason string
	// Crash is set where graphite-web answers 500 with a stack trace instead of 400.
	Crash bool
	// Func is the innermost function that failed.
	Func string
	// Target is the target as text.
	Target string
	// Hint asks what may have been meant.
	Hint string
}

func (e *InputError) Error() string {
	text := "Invalid parameters (" + e.Reason + ")"
	if e.Target != "" {
		text += fmt.Sprintf("; targets: \"%s\"", e.Target)
	}
	if e.Func != "" {
		text += fmt.Sprintf("; func: \"%s\"", e.Func)
	}
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unknown adds to an error the names that are nearest to one that does not exist.
func Unknown(err error, name string, names []string) error {
	if bad, ok := errors.AsType[*InputError](err); ok {
		slices.Sort(names)
		bad.Hint = didyoumean.Question(didyoumean.Names(name, names, mostHints))
	}
	return err
}

// mostHints is how many names a hint has.
const mostHints = 3

// Invalid returns what graphite-web answers with status 400.
func Invalid(format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...)}
}

// Crash returns an error for what graphite-web answers with a stack trace.
func Crash(format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...), Crash: true}
}

// MaxExcerpt bounds how many bytes of targets and conditions an error repeats.
const MaxExcerpt = 1000

// Excerpt shortens a text for a log or an error.
func Excerpt(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "..."
}
