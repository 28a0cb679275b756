package eval

import (
	"fmt"
	"strings"
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
}

func (e *InputError) Error() string {
	text := "Invalid parameters (" + e.Reason + ")"
	if e.Target != "" {
		text += fmt.Sprintf("; targets: \"%s\"", e.Target)
	}
	if e.Func != "" {
		text += fmt.Sprintf("; func: \"%s\"", e.Func)
	}
	return text
}

func invalid(format string, args ...any) error {
	return &InputError{Reason: fmt.Sprintf(format, args...)}
}

func crash(format string, args ...any) error {
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
