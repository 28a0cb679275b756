package query

import (
	"context"
	"errors"
	"time"
)

// ErrLate is returned to a large request that would not begin within its time.
var ErrLate error = lateError{}

// lateError is the error of a large request that would wait for longer than its client does.
type lateError struct {
	begins time.Duration // when it would have begun; 0: not known
}

func (lateError) Error() string {
	return "other large requests are being answered, and this one would not begin within its time: try again later"
}

// Is implements errors.Is: like memory that others hold, it passes.
func (lateError) Is(target error) bool { return target == ErrLate || target == ErrBusy }

// Wait returns how long a client should wait before it asks again.
func (e lateError) Wait() time.Duration { return e.begins }

// busy notes in the account of ctx that a request was refused because of others.
func busy(ctx context.Context, err error) error {
	if errors.Is(err, ErrLate) {
		AccountOf(ctx).Share(err)
	}
	return err
}
