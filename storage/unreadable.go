package storage

import "github.com/tsdbridge/tsdbridge/recent"

// mostUnreadable bounds the rows that are remembered as logged, in each of two generations.
const mostUnreadable = 1000

// warnUnreadable returns the function that logs each row once that queries cannot read. Its log is as short as seldom makes it.
func (s *Store) warnUnreadable(logged *recent.Map[string, struct{}]) func(key []byte, err error) {
	return func(key []byte, err error) {
		if _, known := logged.Get(string(key)); known {
			return
		}
		logged.Put(string(key), struct{}{})
		s.o.Logger.Error("a row cannot be read, so that queries of it are errors; mend it with tsdbridge fsck --fix, see docs/checks.md", "err", err)
	}
}
