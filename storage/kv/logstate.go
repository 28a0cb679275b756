package kv

import (
	"cmp"
	"fmt"
)

// A Generation is a moment in the life of tables, at which they recorded what they know of their
// log. Numbers ascend. The tag is drawn at random, so two copies of a store that both went on do not
// have the same generations.
type Generation struct{ Number, Tag uint64 }

// String is "number-tag", the tag in hexadecimal.
func (g Generation) String() string { return fmt.Sprintf("%d-%016x", g.Number, g.Tag) }

// A LogState is what tables record, durably and in themselves, of the log that belongs to them. A
// start compares it with the log: files of two stores, or of two moments of one, do not agree.
type LogState struct {
	Store      uint64     // names the store; 0: it has no name yet
	Generation Generation // of this record
	Before     Generation // of the one before
	// Log is the generation at which the log was begun. Zero: there is none, the tables have
	// everything.
	Log Generation
	// Ended is Log of the log that was ended last, of which files may be left. Points is its end.
	Ended Generation
	// Adopts means that the log of a version that did not name stores may be the store's.
	Adopts bool
	// The logs of points and of series numbers reach up to here, or further.
	Points, Series LogEnd
	// Cut is the first segment of the log of points that may have what the tables lack: those before
	// may be gone.
	Cut uint64
}

// Next returns the record that follows.
func (s LogState) Next(tag uint64) LogState {
	s.Before = s.Generation
	s.Generation = Generation{s.Generation.Number + 1, tag}
	return s
}

// Compare compares positions as a log does.
func (e LogEnd) Compare(o LogEnd) int {
	return cmp.Or(cmp.Compare(e.Segment, o.Segment), cmp.Compare(e.Offset, o.Offset))
}

// Later returns the later of two positions.
func (e LogEnd) Later(o LogEnd) LogEnd {
	if e.Compare(o) < 0 {
		return o
	}
	return e
}
