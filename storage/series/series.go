package series

import (
	"fmt"
	"strings"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
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

// Kind is the kind of an Object.
type Kind = schema.ObjectKind

// The kinds of objects. A Histogram is the sample of its instant: it and a float never share one.
// Several exemplars may share an instant. A StartTime belongs to the
// sample at its instant, and stays under a newer sample until a newer StartTime is written.
const (
	// Data: prometheus.Histogram of remote write 1.0 without its timestamp.
	KindHistogram = schema.ObjectHistogram
	// Data: prometheus.Exemplar of remote write 1.0 without its timestamp.
	KindExemplar = schema.ObjectExemplar
	// Data: signed varint, start time minus the sample's time in milliseconds. At a sum of deltas there may be
	// an uvarint after it: nanoseconds from the sample's time to the end of the last delta.
	KindStartTime = schema.ObjectStartTime
	// A histogram of OpenTSDB, in answers alone; it is put by PutHistograms. Its instant may have a sample
	// too, or two of them. Data: the id of its codec, and what that has written.
	KindCoded = schema.ObjectCoded
)

// Form is as what a client sent a value; see schema.Form.
type Form = schema.Form

// The forms of values.
const (
	FormFloat   = schema.FormFloat
	FormInteger = schema.FormInteger
	FormDouble  = schema.FormDouble
	FormMillis  = schema.FormMillis
)

// RefOf returns the Ref of a series of the index.
func RefOf(id index.ID) Ref { return Ref(id) + 1 }

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

// ID returns the number of the series in the index.
func (r Ref) ID() index.ID { return index.ID(r - 1) }

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
