package object

import (
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
)

// MaxBuckets is how many buckets of each sign, and custom bounds, a written histogram may have.
const MaxBuckets = 10_000

// Check returns why a histogram cannot be stored. It reduces the resolutions that Prometheus reserves
// for later, 9 to 52, to the finest that it supports, as Prometheus does itself.
func Check(h interface {
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

// Data returns a histogram as it is stored, nil if there is none, or why it cannot be stored. One of
// both is given. It is not changed.
func Data(h *histogram.Histogram, fh *histogram.FloatHistogram) ([]byte, error) {
	switch {
	case fh != nil:
		fh = fh.Copy() // the resolution may be reduced
		if err := Check(fh, fh.Schema, fh.ZeroThreshold); err != nil {
			return nil, err
		}
		return EncodeFloatHistogram(fh), nil
	case h != nil:
		h = h.Copy()
		if err := Check(h, h.Schema, h.ZeroThreshold); err != nil {
			return nil, err
		}
		return EncodeHistogram(h), nil
	}
	return nil, nil
}
