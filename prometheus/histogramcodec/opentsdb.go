package histogramcodec

import (
	"math"

	"github.com/prometheus/prometheus/model/histogram"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// FromOpenTSDB converts a histogram of OpenTSDB to a native one with custom buckets (schema -53). What is below all
// buckets is in a bucket up to the first bound, what is above in the one up to +Inf, and what is between two buckets in
// one of 0. The sum is not known, and estimated. It returns false if there is none with the same meaning: without buckets,
// with buckets that overlap or end before they begin, and with counts below 0 or above what 64 bits hold.
func FromOpenTSDB(h *schema.SimpleHistogram) (*histogram.Histogram, bool) {
	c := customBuckets{bounds: make([]float64, 0, len(h.Buckets)+1), counts: make([]int64, 0, len(h.Buckets)+2)}
	if len(h.Buckets) == 0 || h.Underflow < 0 || h.Overflow < 0 {
		return nil, false
	}
	last := math.Inf(-1)
	for i, b := range h.Buckets {
		lower, upper := float64(b.Lower), float64(b.Upper)
		below := int64(0)
		if i == 0 {
			below = h.Underflow
		}
		switch {
		case !(lower < upper), lower < last, b.Count < 0: // NaN is not less
			return nil, false
		case lower == last && below > 0: // below -Inf
			return nil, false
		case lower > last:
			c.add(lower, below)
		}
		c.add(upper, b.Count)
		last = upper
	}
	c.add(math.Inf(1), h.Overflow)
	return c.histogram()
}

// customBuckets are the buckets of a histogram so far.
type customBuckets struct {
	bounds []float64 // upper ones; +Inf is not among them
	counts []int64
	open   bool // the last bucket is the one up to +Inf
}

// add adds a bucket up to a bound.
func (c *customBuckets) add(upper float64, count int64) {
	switch {
	case !math.IsInf(upper, 1):
		c.bounds, c.counts = append(c.bounds, upper), append(c.counts, count)
	case c.open:
		c.counts[len(c.counts)-1] += count
	default:
		c.counts, c.open = append(c.counts, count), true
	}
}

// sum estimates the sum of the values: each is in the middle of its bucket, where OpenTSDB's percentiles are, or at the only
// bound of it. NaN would be true, but the library finds no quantiles of a histogram with that sum.
func (c *customBuckets) sum() (sum float64) {
	if len(c.bounds) == 0 {
		return 0
	}
	for i, count := range c.counts {
		lower, upper := c.bounds[max(i-1, 0)], c.bounds[min(i, len(c.bounds)-1)]
		sum += float64(count) * (lower/2 + upper/2)
	}
	return sum
}

// histogram returns the histogram; false if its counts are too great.
func (c *customBuckets) histogram() (*histogram.Histogram, bool) {
	h := &histogram.Histogram{
		Schema: histogram.CustomBucketsSchema, Sum: c.sum(), CustomValues: c.bounds,
		PositiveSpans: []histogram.Span{{Length: uint32(len(c.counts))}}, PositiveBuckets: make([]int64, len(c.counts)),
	}
	total, before := int64(0), int64(0)
	for i, count := range c.counts {
		if total += count; count < 0 || total < 0 { // it wrapped around
			return nil, false
		}
		h.PositiveBuckets[i], before = count-before, count
	}
	h.Count = uint64(total)
	return h, true
}
