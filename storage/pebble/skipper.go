package pebble

import "github.com/tsdbridge/tsdbridge/storage/kv"

// skipper passes over keys that do not match before Pebble folds their values. Now and then it lets
// one through, so that the scan can jump over a gap or see that it was cancelled.
//
// Pebble wants a pure function, because it may ask about each version of a key. This one is pure
// for keys that match; those that it lets through otherwise may come with a wrong value, and the
// scan drops them by their key.
type skipper struct {
	match   *kv.Match
	missed  int
	nowhere bool // there is nowhere to jump to
}

const (
	// A seek costs about as much as this many steps, so a scan that looks for a gap after them is
	// never more than twice as slow as the better of the two ways.
	missesBeforeSeek = 32
	// missesBeforePause is how many keys may go by before the context is looked at.
	missesBeforePause = 512
)

func (s *skipper) skip(key []byte) bool {
	if len(key) == 0 || s.match.Matches(key[1:]) {
		s.missed = 0
		return false
	}
	s.missed++
	if s.missed < missesBeforeSeek || s.nowhere && s.missed < missesBeforePause {
		return true
	}
	s.missed = 0
	return false
}
