package blocks

import (
	"fmt"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"

	"github.com/tsdbridge/tsdbridge/prometheus/columns"
)

// chunkSamples is how many samples a chunk has at most, as in the TSDB.
const chunkSamples = 120

// An encoder makes chunks of the samples of a series. A chunk begins where the kind of samples changes, and where
// the buckets of histograms do: otherwise earlier histograms would get empty buckets that they did not have.
type encoder struct {
	starts bool // start times are written too

	done   []chunks.Meta
	chunk  chunkenc.Chunk
	app    chunkenc.Appender
	from   int64
	to     int64
	kind   chunkenc.Encoding
	layout layout
}

// A layout is what all histograms of a chunk have in common.
type layout struct {
	schema             int32
	zeroThreshold      float64
	positive, negative []histogram.Span
	custom             []float64
	stale              bool
}

// fits reports whether a histogram of another layout may follow in a chunk. Stale markers have none.
func (l layout) fits(o layout) bool {
	return o.stale || !l.stale && l.schema == o.schema && l.zeroThreshold == o.zeroThreshold && slices.Equal(l.positive, o.positive) &&
		slices.Equal(l.negative, o.negative) && slices.Equal(l.custom, o.custom)
}

// encode returns the chunks of a series, and how many samples they have; left are start times that are
// left out. The chunks are valid until the next call.
func (e *encoder) encode(s columns.Series) (all []chunks.Meta, samples, left int, err error) {
	e.done, e.chunk = e.done[:0], nil
	for one, err := range s.Samples() {
		if err != nil {
			return nil, 0, 0, err
		}
		if !e.starts && one.Start != 0 {
			one.Start = 0
			left++
		}
		if err := e.add(one); err != nil {
			return nil, 0, 0, fmt.Errorf("sample at %d: %w", one.Time, err)
		}
		samples++
	}
	e.finish()
	return e.done, samples, left, nil
}

func (e *encoder) add(s columns.Sample) (err error) {
	kind, l := kindOf(s)
	if e.chunk == nil || kind != e.kind || e.chunk.NumSamples() >= chunkSamples || !e.layout.fits(l) {
		if err := e.begin(kind, l, s.Time); err != nil {
			return err
		}
	}
	var next chunkenc.Chunk
	switch {
	case s.H != nil:
		next, _, e.app, err = e.app.AppendHistogram(nil, s.Start, s.Time, s.H, false)
	case s.FH != nil:
		next, _, e.app, err = e.app.AppendFloatHistogram(nil, s.Start, s.Time, s.FH, false)
	default:
		e.app.Append(s.Start, s.Time, s.Value)
	}
	if next != nil { // there was a reset: the histogram is in a chunk of its own
		e.finish()
		e.chunk, e.from, e.layout = next, s.Time, l
	}
	e.to = s.Time
	return err
}

// kindOf returns the encoding of a sample, and its layout.
func kindOf(s columns.Sample) (chunkenc.Encoding, layout) {
	starts := s.Start != 0
	switch {
	case s.H != nil:
		l := layout{s.H.Schema, s.H.ZeroThreshold, s.H.PositiveSpans, s.H.NegativeSpans, s.H.CustomValues, value.IsStaleNaN(s.H.Sum)}
		return chunkenc.ValHistogram.ChunkEncoding(starts, starts), l
	case s.FH != nil:
		l := layout{s.FH.Schema, s.FH.ZeroThreshold, s.FH.PositiveSpans, s.FH.NegativeSpans, s.FH.CustomValues, value.IsStaleNaN(s.FH.Sum)}
		return chunkenc.ValFloatHistogram.ChunkEncoding(starts, starts), l
	}
	return chunkenc.ValFloat.ChunkEncoding(starts, starts), layout{}
}

// begin begins a chunk.
func (e *encoder) begin(kind chunkenc.Encoding, l layout, from int64) (err error) {
	e.finish()
	e.kind, e.layout, e.from = kind, l, from
	if e.chunk, err = chunkenc.NewEmptyChunk(kind); err == nil {
		e.app, err = e.chunk.Appender()
	}
	return err
}

// finish keeps the chunk.
func (e *encoder) finish() {
	if e.chunk != nil && e.chunk.NumSamples() > 0 {
		e.done = append(e.done, chunks.Meta{MinTime: e.from, MaxTime: e.to, Chunk: e.chunk})
	}
	e.chunk = nil
}
