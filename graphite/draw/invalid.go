package draw

import "fmt"

// An InvalidError is an error of who asked for a picture: an option that means nothing, or that does not fit
// the series. It names the option or the series.
type InvalidError struct{ Reason string }

func (e *InvalidError) Error() string { return e.Reason }

func invalid(format string, args ...any) error { return &InvalidError{fmt.Sprintf(format, args...)} }
