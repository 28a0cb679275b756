package write

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
)

// errTooMany says that a message holds more than one may.
var errTooMany = errors.New("request too large")

// wireRequest is a remote write request of either version as it was walked over: where things are in the body, in flat lists.
// It is valid as long as the body is.
type wireRequest struct {
	version    wireVersion
	series     []wireSeries
	samples    []wireSample
	histograms []wireHistogram
	exemplars  []wireExemplar
	metadata   []wireMetadata // 1.0; in 2.0 it is part of the series
	symbols    [][]byte       // 2.0
	// 2.0: references to symbols, of the labels of all series and of all exemplars.
	refs, exemplarRefs []uint32
	keys               []byte // 2.0: of series, see seriesKey
}

// wireVersion is a version of remote write.
type wireVersion byte

const (
	wireV1 wireVersion = iota
	wireV2
)

// wireSeries is one TimeSeries. Its samples are those of the request between the end of the series before and its own, and so on.
type wireSeries struct {
	block labelBlock // 1.0: the label fields
	refs  wireRange  // 2.0
	// Ends in the lists of the request.
	samples, histograms, exemplars int32
	meta                           wireSeriesMetadata // 2.0
}

// wireRange is [start, end) of a list.
type wireRange struct{ start, end int32 }

type wireSample struct {
	time, start int64 // milliseconds; start 0: none
	value       float64
}

type wireExemplar struct {
	block labelBlock // 1.0
	refs  wireRange  // 2.0
	time  int64
	value float64
}

// wireHistogram is a histogram sample; one of ints and floats is set.
type wireHistogram struct {
	time, start int64 // milliseconds; start 0: none
	ints        *histogram.Histogram
	floats      *histogram.FloatHistogram
	err         error // why it cannot be stored; see judgeHistograms
}

// wireMetadata is a MetricMetadata of 1.0.
type wireMetadata struct {
	kind               int32
	family, help, unit []byte
}

// wireSeriesMetadata is a Metadata of 2.0.
type wireSeriesMetadata struct {
	kind       int32
	help, unit uint32 // references to symbols
}

// rawLabel is a label in the body.
type rawLabel struct{ name, value []byte }

// wireLimits bound what a walk may take; a message of empty messages takes many times its size.
type wireLimits struct{ series, data int }

// check is called for each new series and datum.
func (r *wireRequest) check(l wireLimits) error {
	if len(r.series) > l.series || len(r.samples)+len(r.exemplars)+len(r.metadata)+histogramWeight*len(r.histograms) > l.data {
		return errTooMany
	}
	return nil
}

// histogramWeight is how many samples a histogram counts for: it is some hundred bytes when it is empty.
const histogramWeight = 10

// reset empties the request and keeps its memory.
func (r *wireRequest) reset(v wireVersion) {
	clear(r.series)
	clear(r.histograms)
	clear(r.exemplars)
	clear(r.metadata)
	clear(r.symbols)
	*r = wireRequest{
		version: v, series: r.series[:0], samples: r.samples[:0], histograms: r.histograms[:0], exemplars: r.exemplars[:0],
		metadata: r.metadata[:0], symbols: r.symbols[:0], refs: r.refs[:0], exemplarRefs: r.exemplarRefs[:0], keys: r.keys[:0],
	}
}

// endSeries notes that the last series has all its data.
func (r *wireRequest) endSeries() {
	s := &r.series[len(r.series)-1]
	s.samples, s.histograms, s.exemplars = int32(len(r.samples)), int32(len(r.histograms)), int32(len(r.exemplars))
}
