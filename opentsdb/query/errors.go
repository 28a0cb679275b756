package query

import (
	"errors"
	"fmt"
)

// A RequestError is a request that cannot be answered as it is, which a TSD answers with status
// 400. Its text is a TSD's.
type RequestError struct{ Message string }

// Error returns the message.
func (e RequestError) Error() string { return e.Message }

// A SyntaxError is a request that a TSD fails to read, and answers with status 500.
type SyntaxError struct{ Err error }

// Error returns a TSD's words.
func (e SyntaxError) Error() string { return e.Err.Error() }

// Unwrap returns the error in a TSD's words.
func (e SyntaxError) Unwrap() error { return e.Err }

// An UnknownNameError is a name in a query that has no UID.
type UnknownNameError struct{ Kind, Name string }

// Error returns a TSD's words.
func (e UnknownNameError) Error() string {
	return fmt.Sprintf("No such name for '%s': '%s'", e.Kind, e.Name)
}

// refused makes a RequestError of an error that has no class.
func refused(err error) error {
	var syntax SyntaxError
	if err == nil || errors.As(err, &syntax) {
		return err
	}
	return RequestError{err.Error()}
}
