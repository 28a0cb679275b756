package backtrack

import (
	"fmt"
	"sync/atomic"
)

// Steps are what all matches of a query together may take. They are safe for concurrent use. Once
// a match has failed for want of steps, or because the query has ended, all others fail, too.
type Steps struct {
	most  int64
	left  atomic.Int64
	pause func() error
	err   atomic.Pointer[error]
}

// portion is how many steps a match takes at once, about a millisecond.
const portion = 1 << 16

// NewSteps returns so many steps. pause is called about every millisecond of matching; it may let
// others go first, and its error, as that of a context that has ended, ends all matching. It may be
// nil.
func NewSteps(most int, pause func() error) *Steps {
	s := &Steps{most: int64(most), pause: pause}
	s.left.Store(s.most)
	return s
}

// Err returns why matching was given up. The results of matches are incomplete then.
func (s *Steps) Err() error {
	if s == nil {
		return nil
	}
	if err := s.err.Load(); err != nil {
		return *err
	}
	return nil
}

// Left returns how many steps are left.
func (s *Steps) Left() int { return int(max(s.left.Load(), 0)) }

// fail keeps the first error.
func (s *Steps) fail(err error) error {
	s.err.CompareAndSwap(nil, &err)
	return s.Err()
}

// take returns a portion of steps.
func (s *Steps) take(pausing bool) (int, error) {
	if err := s.Err(); err != nil {
		return 0, err
	}
	if pausing && s.pause != nil {
		if err := s.pause(); err != nil {
			return 0, s.fail(err)
		}
	}
	for {
		left := s.left.Load()
		n := min(left, portion)
		if n <= 0 {
			return 0, s.fail(fmt.Errorf("%w: the regular expressions of one query may take %d steps", ErrTooExpensive, s.most))
		}
		if s.left.CompareAndSwap(left, left-n) {
			return int(n), nil
		}
	}
}

// give returns steps that were not used; below 0, work that was more than the steps taken.
func (s *Steps) give(n int) { s.left.Add(int64(n)) }
