package write

import (
	"fmt"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
)

// Limits of a written histogram. Prometheus itself needs some hundred buckets; clients make up to
// 160 by default.
const (
	maxHistogramBuckets = histogramcodec.MaxBuckets // of each sign, and custom bounds
	maxHistogramSpans   = 10_000                    // of each sign
)

// tooLarge counts what a prometheus.Histogram of either version contains, before memory is
// allocated for it. The decoder reports malformed messages; it must not see a histogram with an
// error. numbers are all buckets, bounds and spans.
func tooLarge(b []byte) (h messageHistogram, numbers int) {
	var counts [histogramcodec.HistogramCustomValues + 1]int
	f := wire.FieldsOf(b)
	for f.Next() {
		n := f.Number
		switch n {
		case histogramcodec.HistogramNegativeSpans, histogramcodec.HistogramPositiveSpans:
			if counts[n]++; counts[n] > maxHistogramSpans {
				h.err = fmt.Errorf("%w: a histogram of more than %d spans", storage.ErrInvalid, maxHistogramSpans)
			}
			f.Skip()
		case histogramcodec.HistogramNegativeDeltas, histogramcodec.HistogramPositiveDeltas, histogramcodec.HistogramNegativeCounts, histogramcodec.HistogramPositiveCounts, histogramcodec.HistogramCustomValues:
			if counts[n] += countNumbers(&f); counts[n] > maxHistogramBuckets {
				h.err = fmt.Errorf("%w: a histogram of more than %d buckets", storage.ErrInvalid, maxHistogramBuckets)
			}
		default:
			f.Skip()
		}
	}
	for _, n := range counts {
		numbers += n
	}
	return h, numbers
}

// countNumbers reads a field of buckets and returns how many numbers it holds, packed or not.
func countNumbers(f *wire.Fields) int {
	if f.Type != wire.Bytes {
		f.Skip()
		return 1
	}
	packed := f.Bytes()
	if f.Number != histogramcodec.HistogramNegativeDeltas && f.Number != histogramcodec.HistogramPositiveDeltas {
		return len(packed) / 8
	}
	n := 0
	for _, c := range packed {
		if c < 0x80 {
			n++
		}
	}
	return n
}
