package ingest

import (
	"context"
	"fmt"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A Resolver makes series known to a store. storage.Appender is one.
type Resolver interface {
	Resolve(ctx context.Context, series []storage.Series) ([]storage.Ref, []error)
}

// Unknown are the series of one job that its cache does not know, by the numbers that Add gave
// them. The zero value is empty. It is not safe for concurrent use.
type Unknown struct {
	keys    []string
	series  []storage.Series
	refs    []storage.Ref // 0: not resolved
	refused []error       // for good; nil: not refused
	left    int           // series without an answer
}

// Len returns how many series there are.
func (u *Unknown) Len() int { return len(u.keys) }

// Cap returns how many series the memory holds.
func (u *Unknown) Cap() int { return cap(u.keys) }

// Reset removes all series and keeps the memory.
func (u *Unknown) Reset() {
	clear(u.keys)
	clear(u.series)
	clear(u.refused)
	*u = Unknown{keys: u.keys[:0], series: u.series[:0], refs: u.refs[:0], refused: u.refused[:0]}
}

// Add adds a series under its key and returns its number, from 0. The key must not change until
// Reset.
func (u *Unknown) Add(key string, s storage.Series) (number int) {
	u.keys, u.series = append(u.keys, key), append(u.series, s)
	u.refs, u.refused = append(u.refs, 0), append(u.refused, nil)
	u.left++
	return len(u.keys) - 1
}

// Answer returns the Ref of a series, or why the store refused it for good.
func (u *Unknown) Answer(number int) (storage.Ref, error) { return u.refs[number], u.refused[number] }

// EachRefused calls f for each series that the store refused.
func (u *Unknown) EachRefused(f func(key string, err error)) {
	for n, err := range u.refused {
		if err != nil {
			f(u.keys[n], err)
		}
	}
}

// Resolve asks the store for the series that have no answer yet, in one call, and adds those that
// it has now to the cache. An error means that the store cannot give some of them now: Resolve may
// be called again.
func (u *Unknown) Resolve(ctx context.Context, to Resolver, c *Cache) error {
	if u.left == 0 {
		return nil
	}
	missing := u.missing()
	refs, errs := to.Resolve(ctx, missing)
	return u.take(c, refs, errs)
}

// missing returns the series without an answer, in order.
func (u *Unknown) missing() []storage.Series {
	if u.left == len(u.series) {
		return u.series
	}
	missing := make([]storage.Series, 0, u.left)
	for n, s := range u.series {
		if u.open(n) {
			missing = append(missing, s)
		}
	}
	return missing
}

func (u *Unknown) open(n int) bool { return u.refs[n] == 0 && u.refused[n] == nil }

// each calls f for each series without an answer.
func (u *Unknown) each(f func(key string, s storage.Series)) {
	for n, s := range u.series {
		if u.open(n) {
			f(u.keys[n], s)
		}
	}
}

// takeFrom keeps the answers of a call for more series than these, whose numbers in it are given by
// key.
func (u *Unknown) takeFrom(c *Cache, numbers map[string]int, refs []storage.Ref, errs []error) error {
	own, ownErrs := make([]storage.Ref, 0, u.left), make([]error, 0, u.left)
	u.each(func(key string, _ storage.Series) {
		n := numbers[key]
		own = append(own, refs[n])
		if errs != nil {
			ownErrs = append(ownErrs, errs[n])
		}
	})
	if errs == nil {
		ownErrs = nil
	}
	return u.take(c, own, ownErrs)
}

// take keeps the answers of the store to missing, and returns the first error that is not a
// refusal.
func (u *Unknown) take(c *Cache, refs []storage.Ref, errs []error) (failed error) {
	i := 0
	for n := range u.series {
		if !u.open(n) {
			continue
		}
		switch {
		case errs == nil || errs[i] == nil:
			u.refs[n] = refs[i]
			u.left--
		case storage.IsRefusal(errs[i]):
			u.refused[n] = errs[i]
			u.left--
		case failed == nil:
			failed = &FailedError{Key: u.keys[n], Err: errs[i]}
		}
		i++
	}
	c.Add(u.keys, u.refs)
	return failed
}

// A FailedError is about a series that the store cannot give now.
type FailedError struct {
	Key string
	Err error
}

// shownBytes is how much of a key is in an error.
const shownBytes = 256

// Error names the series by its key.
func (e *FailedError) Error() string {
	return fmt.Sprintf("resolve series %q: %v", e.Key[:min(len(e.Key), shownBytes)], e.Err)
}

// Unwrap returns the error of the store.
func (e *FailedError) Unwrap() error { return e.Err }
