// Package storage keeps series of samples in the OpenTSDB schema: series in, series out. It owns the write
// path (series to UIDs, points to rows) and the read path (filters to series, rows to points) and is the
// only room above the schema that the protocols talk to. It never knows a protocol, a label or a dotted path.
package storage

import (
	"context"
	"iter"
	"math"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Tag is one tag of a series.
type Tag struct{ Key, Value string }

// A Series is the name of a time series in OpenTSDB's terms. Tags are sorted by key, which occurs once.
// Names are text whose characters OpenTSDB stores one byte each (U+0001 to U+00FF), at least one character
// and at most MaxNameLength; at least one tag (OpenTSDB's fsck stops at a row without one).
type Series struct {
	Metric string
	Tags   []Tag
}

// MaxNameLength is the longest metric, tag key or tag value in characters: names are row keys of tsdb-uid, and
// HBase row keys end at 32767 bytes.
const MaxNameLength = 32767

// MaxTags is the greatest number of tags that a row key holds with the default widths.
const MaxTags = 5000

// MaxTime is the greatest time in milliseconds: base times in row keys are unsigned 32-bit seconds.
const MaxTime = (1<<32)*1000 - 1

// Ref names a series inside one process. Protocols keep a Ref under their own raw bytes (a label block, a
// dotted path) and resolve only what they have not seen before. The zero Ref names nothing.
type Ref uint64

// Kind says what an Object is.
type Kind byte

// The kinds of objects. A Histogram is the sample of its instant: it and a float never share one. Several exemplars may share an
// instant. A StartTime belongs to the sample at its instant.
const (
	KindHistogram Kind = 2 // Data: prometheus.Histogram of remote write 1.0 without its timestamp
	KindExemplar  Kind = 3 // Data: prometheus.Exemplar of remote write 1.0 without its timestamp
	KindStartTime Kind = 4 // Data: signed varint, start time minus the sample's time in milliseconds
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

// An Object is a datum that OpenTSDB has no place for; it is kept in an object cell of the row.
// Equal data must have equal bytes.
type Object struct {
	Ref  Ref
	Time int64 // milliseconds
	Kind Kind
	Data []byte

	// after is how many points of the batch come before it.
	after int
}

// A Batch is a set of points of any series in any order, in columns: Refs[i] has Values[i] at Times[i]
// (milliseconds, 0 to MaxTime). Any float64 bit pattern is a value. Of two samples of one series at one time the one that was added later
// wins, whether it is a float or an object.
type Batch struct {
	Refs    []Ref
	Times   []int64
	Values  []float64
	Objects []Object
	// Forms, when not nil, is as long as Values: as what OpenTSDB's doors got each point. An integer's 64 bits are those of the value. OpenTSDB computes
	// with integers in another way than with floats; they are read as floats here.
	Forms []Form
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.Refs, b.Times, b.Values, b.Objects = b.Refs[:0], b.Times[:0], b.Values[:0], b.Objects[:0]
	if b.Forms != nil {
		b.Forms = b.Forms[:0]
	}
}

// AddObject appends one object. It keeps data.
func (b *Batch) AddObject(ref Ref, time int64, kind Kind, data []byte) {
	b.Objects = append(b.Objects, Object{Ref: ref, Time: time, Kind: kind, Data: data, after: len(b.Refs)})
}

// Add appends one point.
func (b *Batch) Add(ref Ref, time int64, value float64) {
	b.Refs, b.Times, b.Values = append(b.Refs, ref), append(b.Times, time), append(b.Values, value)
	if b.Forms != nil {
		b.Forms = append(b.Forms, FormFloat)
	}
}

// AddInteger appends one point that is an integer to OpenTSDB.
func (b *Batch) AddInteger(ref Ref, time, value int64) {
	b.AddForm(ref, time, math.Float64frombits(uint64(value)), FormInteger)
}

// AddForm appends one point of a form.
func (b *Batch) AddForm(ref Ref, time int64, value float64, form Form) {
	if b.Forms == nil {
		b.Forms = make([]Form, len(b.Refs), cap(b.Refs)+1)
	}
	b.Refs, b.Times, b.Values = append(b.Refs, ref), append(b.Times, time), append(b.Values, value)
	b.Forms = append(b.Forms, form)
}

// Appender writes points. Appending the same point twice leaves one, so a caller may
// retry a failed batch whole. Safe for concurrent use.
type Appender interface {
	// Resolve returns a Ref for each series, in order; first sight assigns UIDs and last writes the
	// tsdb-meta row, which marks the series complete. A bad series gets an error of its own (ErrInvalid or
	// ErrLimit) and a zero Ref; the others go through. errs is nil when all went well, else one per series.
	Resolve(ctx context.Context, series []Series) (refs []Ref, errs []error)
	// Append returns when the batch is durable. The newest write wins: a point replaces what stood at its instant.
	// After an error some of the batch may be durable; appending it again is safe. The batch is the caller's again afterwards.
	Append(ctx context.Context, batch *Batch) error
}

// A Filter restricts one tag, or the metric when Keys is nil. It passes a series that has one of Keys with a value in
// Values, or, when Values is nil, one that Match accepts (Match nil: any value); a series that has none of Keys passes if
// Absent; and one that has any tag of Or passes whatever its value is.
type Filter struct {
	Keys   []string
	Values []string
	Match  func(value string) bool
	Absent bool
	Or     []string
}

// Found is a series that a Find returned.
type Found struct {
	Ref Ref
	Series
}

// A Query asks for the points of series, in the order of Refs, with Start <= time <= End (milliseconds).
type Query struct {
	Refs       []Ref
	Start, End int64
	// What to read; objects of other kinds are skipped. Samples are floats, histograms and start times.
	Samples, Exemplars bool
	// MaxSamples, when above 0, makes an answer of more points and objects an ErrLimit.
	MaxSamples int
}

// Points are the points of one series in ascending order of time. The slices are valid until the next step of the loop.
type Points struct {
	Ref     Ref
	Times   []int64 // floats: milliseconds
	Values  []float64
	Objects []Object // ascending by Time, then Kind
}

// Querier reads points back. Ending the loop early releases the scan.
type Querier interface {
	// Find lists the series that pass every filter and may have points between start and end (milliseconds, inclusive), in no
	// particular order. An unknown name gives an empty result. More than limit series (0: no limit) is an ErrLimit.
	Find(ctx context.Context, filters []Filter, start, end int64, limit int) ([]Found, error)
	// Select reads points. A series without points in the range is left out.
	Select(ctx context.Context, q Query) iter.Seq2[Points, error]
	// Metrics, TagKeys and TagValues list, in ascending order, the names of series that may have points between start and end
	// (milliseconds, inclusive), from the index alone: whole days where nobody else writes, else whatever time is asked for.
	Metrics(ctx context.Context, start, end int64) ([]string, error)
	TagKeys(ctx context.Context, start, end int64) ([]string, error)
	TagValues(ctx context.Context, key string, start, end int64) ([]string, error)
}

// Metadata describes a metric. It is kept in the metric's UIDMeta document.
type Metadata struct{ Type, Help, Unit string }
