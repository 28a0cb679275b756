package histogramcodec

import (
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
)

// MaxBuckets is how many buckets of each sign, and custom bounds, a written histogram may have.
const MaxBuckets = 10_000

// maxBucketIndex bounds the indexes of buckets, which are sums of spans. In the finest schema no
// float64 is beyond 2^19.
const maxBucketIndex = 1 << 20

// CheckInts returns why a histogram of integers cannot be stored. It reduces the resolutions that
// Prometheus reserves for later, 9 to 52, to the finest that it supports, as Prometheus does itself.
func CheckInts(h *histogram.Histogram) error {
	if err := check(h, h.Schema, h.ZeroThreshold); err != nil {
		return err
	}
	return checkIndexes(h.PositiveSpans, h.NegativeSpans)
}

// CheckFloats is CheckInts of a histogram of floats.
func CheckFloats(h *histogram.FloatHistogram) error {
	if err := check(h, h.Schema, h.ZeroThreshold); err != nil {
		return err
	}
	return checkIndexes(h.PositiveSpans, h.NegativeSpans)
}

func check(h interface {
	ReduceResolution(schema int32) error
	Validate() error
}, schema int32, zeroThreshold float64,
) error {
	if math.IsNaN(zeroThreshold) {
		// Validate accepts it, but Prometheus' engine loops forever when it adds two such
		// histograms (as of v0.315.0).
		return errors.New("zero threshold is NaN")
	}
	if schema > histogram.ExponentialSchemaMax && histogram.IsExponentialSchemaReserved(schema) {
		if err := h.ReduceResolution(histogram.ExponentialSchemaMax); err != nil {
			return err
		}
	}
	return h.Validate()
}

// checkIndexes refuses buckets at indexes that no number has. Their arithmetic would overflow 32 bits.
func checkIndexes(sides ...[]histogram.Span) error {
	for _, spans := range sides {
		at := int64(0)
		for _, s := range spans {
			at += int64(s.Offset) + int64(s.Length)
			if at > maxBucketIndex || at < -maxBucketIndex {
				return fmt.Errorf("a bucket at place %d, and %d is the last", at, maxBucketIndex)
			}
		}
	}
	return nil
}

// Data returns a histogram as it is stored, nil if there is none, or why it cannot be stored. One of
// both is given. It is not changed.
func Data(h *histogram.Histogram, fh *histogram.FloatHistogram) ([]byte, error) {
	switch {
	case fh != nil:
		fh = fh.Copy() // the resolution may be reduced
		if err := CheckFloats(fh); err != nil {
			return nil, err
		}
		return EncodeFloatHistogram(fh), nil
	case h != nil:
		h = h.Copy()
		if err := CheckInts(h); err != nil {
			return nil, err
		}
		return EncodeHistogram(h), nil
	}
	return nil, nil
}
