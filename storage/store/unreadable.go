package store

import "github.com/tsdbridge/tsdbridge/internal/cache"

// mostUnreadable bounds the errors that are remembered as logged, in each of two generations.
const mostUnreadable = 1000

// warnUnreadable returns the function that logs each row, cell or document once that queries cannot
// read: an error names it. Its log is as short as seldom makes it.
func (s *parts) warnUnreadable() func(err error) {
	logged := cache.NewLRU[string, struct{}](mostUnreadable)
	return func(err error) {
		if _, known := logged.Get(err.Error()); known {
			return
		}
		logged.Put(err.Error(), struct{}{})
		s.o.Logger.Error("something in the tables cannot be read, so that queries of it are errors; see docs/checks.md", "err", err)
	}
}
