package storage

import (
	"fmt"
	"strings"
)

// A Tag is one tag of a series.
type Tag struct{ Key, Value string }

// A Series is the name of a time series in OpenTSDB's terms. Tags are sorted by key, which occurs
// once. Names are text whose characters OpenTSDB stores one byte each (U+0001 to U+00FF), at least
// one character and at most MaxNameLength; at least one tag (OpenTSDB's fsck stops at a row without
// one).
type Series struct {
	Metric string
	Tags   []Tag
}

// MaxNameLength is the longest metric, tag key or tag value in characters: names are row keys of
// tsdb-uid, and HBase row keys end at 32767 bytes.
const MaxNameLength = 32767

// MaxTags is the greatest number of tags that a row key holds with the default widths.
const MaxTags = 5000

// MaxTime is the greatest time in milliseconds: base times in row keys are unsigned 32-bit seconds.
const MaxTime = (1<<32)*1000 - 1

// Ref names a series inside one process. Protocols keep a Ref under their own raw bytes (a label
// block, a dotted path) and resolve only what they have not seen before. The zero Ref names
// nothing.
type Ref uint64

// Check returns an ErrInvalid for a Ref that is none of so many series.
func (r Ref) Check(series int) error {
	if r == 0 || uint64(r) > uint64(series) {
		return r.unknown() // a function of its own, so that Check is inlined
	}
	return nil
}

func (r Ref) unknown() error {
	return fmt.Errorf("%w: series reference %d was never resolved", ErrInvalid, r)
}

// String prints a series as OpenTSDB does: metric{key=value,...}.
func (s Series) String() string {
	var b strings.Builder
	b.WriteString(s.Metric)
	if len(s.Tags) == 0 {
		b.WriteByte('{')
	}
	for i, t := range s.Tags {
		b.WriteByte("{,"[min(i, 1)])
		b.WriteString(t.Key)
		b.WriteByte('=')
		b.WriteString(t.Value)
	}
	b.WriteByte('}')
	return b.String()
}

// NewSeries is a series that has its UIDs, and in tsdb-meta not yet its row.
type NewSeries struct {
	TSUID []byte
	Series
}
