package object

import (
	"errors"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
)

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
