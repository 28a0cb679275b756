// Package histogramcodec encodes and decodes what the store keeps in addition to plain samples: native
// histograms, exemplars and start times. It never touches a store.
package histogramcodec

import (
	"encoding/binary"
	"fmt"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Field numbers of prometheus.Histogram (prompb/types.proto). Those of
// io.prometheus.write.v2.Histogram are the same.
const (
	histogramCountInt       = 1
	histogramCountFloat     = 2
	HistogramSum            = 3
	histogramSchema         = 4
	histogramZeroThreshold  = 5
	histogramZeroCountInt   = 6
	histogramZeroCountFloat = 7
	HistogramNegativeSpans  = 8
	HistogramNegativeDeltas = 9
	HistogramNegativeCounts = 10
	HistogramPositiveSpans  = 11
	HistogramPositiveDeltas = 12
	HistogramPositiveCounts = 13
	histogramResetHint      = 14
	HistogramCustomValues   = 16
)

// EncodeHistogram returns the data of a storage.KindHistogram. Equal histograms have equal bytes.
//
// The bytes are those of prompb with one exception: prompb leaves out a sum of -0, which is a value
// of its own.
func EncodeHistogram(h *histogram.Histogram) []byte {
	b := make([]byte, 0, encodedSize(len(h.PositiveBuckets), len(h.NegativeBuckets), 3)+8*len(h.CustomValues))
	b = wire.AppendUint(b, histogramCountInt, h.Count)
	b = wire.AppendDouble(b, HistogramSum, h.Sum)
	b = wire.AppendSint(b, histogramSchema, int64(h.Schema))
	b = wire.AppendDouble(b, histogramZeroThreshold, h.ZeroThreshold)
	b = wire.AppendUint(b, histogramZeroCountInt, h.ZeroCount)
	b = appendSpans(b, HistogramNegativeSpans, h.NegativeSpans)
	b = wire.AppendDeltas(b, HistogramNegativeDeltas, h.NegativeBuckets)
	b = appendSpans(b, HistogramPositiveSpans, h.PositiveSpans)
	b = wire.AppendDeltas(b, HistogramPositiveDeltas, h.PositiveBuckets)
	return appendTail(b, h.CounterResetHint, h.CustomValues)
}

// EncodeFloatHistogram returns the data of a storage.KindHistogram whose counts are floats.
func EncodeFloatHistogram(h *histogram.FloatHistogram) []byte {
	b := make([]byte, 0, encodedSize(len(h.PositiveBuckets), len(h.NegativeBuckets), 8)+8*len(h.CustomValues))
	b = wire.AppendDoubleAlways(b, histogramCountFloat, h.Count)
	b = wire.AppendDouble(b, HistogramSum, h.Sum)
	b = wire.AppendSint(b, histogramSchema, int64(h.Schema))
	b = wire.AppendDouble(b, histogramZeroThreshold, h.ZeroThreshold)
	b = wire.AppendDoubleAlways(b, histogramZeroCountFloat, h.ZeroCount)
	b = appendSpans(b, HistogramNegativeSpans, h.NegativeSpans)
	b = wire.AppendDoubles(b, HistogramNegativeCounts, h.NegativeBuckets)
	b = appendSpans(b, HistogramPositiveSpans, h.PositiveSpans)
	b = wire.AppendDoubles(b, HistogramPositiveCounts, h.PositiveBuckets)
	return appendTail(b, h.CounterResetHint, h.CustomValues)
}

// encodedSize estimates a length: the fixed fields, a few spans and the buckets.
func encodedSize(positive, negative, bucket int) int { return 96 + (positive+negative)*bucket }

func appendTail(b []byte, hint histogram.CounterResetHint, custom []float64) []byte {
	if hint != histogram.UnknownCounterReset {
		b = wire.AppendUint(b, histogramResetHint, uint64(hint))
	}
	return wire.AppendDoubles(b, HistogramCustomValues, custom)
}

// DecodeHistogram is the inverse of EncodeHistogram and EncodeFloatHistogram; one of the two
// results is nil. The result is safe to compute with: spans and buckets agree, even if another
// program wrote the data.
func DecodeHistogram(data []byte) (*histogram.Histogram, *histogram.FloatHistogram, error) {
	var p prompb.Histogram
	if err := p.Unmarshal(data); err != nil {
		return nil, nil, fmt.Errorf("%w: histogram of %d bytes: %w", storage.ErrInvalid, len(data), err)
	}
	h, fh := HistogramOf(&p)
	var err error
	if fh != nil {
		err = checkShape(fh.PositiveSpans, len(fh.PositiveBuckets), fh.NegativeSpans, len(fh.NegativeBuckets))
	} else {
		err = checkShape(h.PositiveSpans, len(h.PositiveBuckets), h.NegativeSpans, len(h.NegativeBuckets))
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%w: histogram of %d bytes: %w", storage.ErrInvalid, len(data), err)
	}
	return h, fh, nil
}

// ProtoHistogram is what the histograms of both versions of remote write have in common.
type ProtoHistogram interface {
	IsFloatHistogram() bool
	ToIntHistogram() *histogram.Histogram
	ToFloatHistogram() *histogram.FloatHistogram
}

// HistogramOf converts a message. Equal histograms become deeply equal: no empty slices, no unknown
// hints.
func HistogramOf(p ProtoHistogram) (*histogram.Histogram, *histogram.FloatHistogram) {
	if p.IsFloatHistogram() {
		h := p.ToFloatHistogram()
		h.CounterResetHint = knownHint(h.CounterResetHint)
		h.PositiveSpans, h.NegativeSpans = orNil(h.PositiveSpans), orNil(h.NegativeSpans)
		h.PositiveBuckets, h.NegativeBuckets, h.CustomValues = orNil(h.PositiveBuckets), orNil(h.NegativeBuckets), orNil(h.CustomValues)
		return nil, h
	}
	h := p.ToIntHistogram()
	h.CounterResetHint = knownHint(h.CounterResetHint)
	h.PositiveSpans, h.NegativeSpans = orNil(h.PositiveSpans), orNil(h.NegativeSpans)
	h.PositiveBuckets, h.NegativeBuckets, h.CustomValues = orNil(h.PositiveBuckets), orNil(h.NegativeBuckets), orNil(h.CustomValues)
	return h, nil
}

func orNil[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

// knownHint replaces a hint that only a later Prometheus knows by UnknownCounterReset.
func knownHint(h histogram.CounterResetHint) histogram.CounterResetHint {
	if h > histogram.GaugeType {
		return histogram.UnknownCounterReset
	}
	return h
}

// checkShape checks that there are as many buckets as the spans require. Prometheus' histogram code
// indexes buckets without a check.
func checkShape(positive []histogram.Span, positiveBuckets int, negative []histogram.Span, negativeBuckets int) error {
	if n := bucketsIn(positive); n != positiveBuckets {
		return fmt.Errorf("spans of %d positive buckets, %d counts", n, positiveBuckets)
	}
	if n := bucketsIn(negative); n != negativeBuckets {
		return fmt.Errorf("spans of %d negative buckets, %d counts", n, negativeBuckets)
	}
	return nil
}

func bucketsIn(spans []histogram.Span) (n int) {
	for _, s := range spans {
		n += int(s.Length)
	}
	return n
}

// Field numbers of prometheus.Exemplar and prometheus.Label.
const (
	exemplarLabels = 1
	ExemplarValue  = 2
	LabelName      = 1
	LabelValue     = 2
)

// EncodeExemplar returns the data of a storage.KindExemplar, without the time.
func EncodeExemplar(e exemplar.Exemplar) []byte {
	var b []byte
	e.Labels.Range(func(l labels.Label) {
		b = wire.AppendTag(b, exemplarLabels, wire.Bytes)
		b = binary.AppendUvarint(b, uint64(wire.StringSize(l.Name)+wire.StringSize(l.Value)))
		b = wire.AppendString(b, LabelName, l.Name)
		b = wire.AppendString(b, LabelValue, l.Value)
	})
	return wire.AppendDouble(b, ExemplarValue, e.Value)
}

// DecodeExemplar is the inverse of EncodeExemplar. It does not set the time.
func DecodeExemplar(data []byte) (exemplar.Exemplar, error) {
	var p prompb.Exemplar
	if err := p.Unmarshal(data); err != nil {
		return exemplar.Exemplar{}, fmt.Errorf("%w: exemplar of %d bytes: %w", storage.ErrInvalid, len(data), err)
	}
	p.Timestamp = 0
	b := labels.NewScratchBuilder(len(p.Labels))
	return p.ToExemplar(&b, nil), nil
}

// AppendStartTime appends the data of a storage.KindStartTime: start minus time of the sample, in
// milliseconds.
func AppendStartTime(b []byte, delta int64) []byte { return binary.AppendVarint(b, delta) }

// AppendSumStart appends the data of a storage.KindStartTime that belongs to a sum of deltas: as
// AppendStartTime, and how many nanoseconds after the sample's time the last delta ended.
func AppendSumStart(b []byte, delta int64, nanos int) []byte {
	return binary.AppendUvarint(AppendStartTime(b, delta), uint64(nanos))
}

// DecodeStartTime is the inverse of AppendStartTime. It passes over what AppendSumStart adds.
func DecodeStartTime(data []byte) (delta int64, err error) {
	delta, _, _, err = DecodeSumStart(data)
	return delta, err
}

// DecodeSumStart is the inverse of AppendSumStart; known is false for data of AppendStartTime.
func DecodeSumStart(data []byte) (delta int64, nanos int, known bool, err error) {
	delta, n := binary.Varint(data)
	if n > 0 && n == len(data) {
		return delta, 0, false, nil
	}
	if n > 0 {
		after, m := binary.Uvarint(data[n:])
		if m > 0 && n+m == len(data) && after < 1e6 {
			return delta, int(after), true, nil
		}
	}
	return 0, 0, false, fmt.Errorf("%w: start time of %d bytes is not one varint, or two", storage.ErrInvalid, len(data))
}

// Field numbers of prometheus.BucketSpan.
const (
	spanOffset = 1
	spanLength = 2
)

func appendSpans(b []byte, field int, spans []histogram.Span) []byte {
	var scratch [16]byte
	for _, s := range spans {
		m := wire.AppendSint(scratch[:0], spanOffset, int64(s.Offset))
		if s.Length != 0 {
			m = wire.AppendUint(m, spanLength, uint64(s.Length))
		}
		b = wire.AppendTag(b, field, wire.Bytes)
		b = binary.AppendUvarint(b, uint64(len(m)))
		b = append(b, m...)
	}
	return b
}
