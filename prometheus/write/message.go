package write

import (
	"errors"

	"github.com/prometheus/prometheus/model/histogram"
)

// errTooMany is returned for a message with more elements than a limit allows.
var errTooMany = errors.New("request too large")

// message is a remote write request of either version after the walk: positions in the body, in
// flat lists. It is valid as long as the body is.
type message struct {
	version    version
	series     []messageSeries
	samples    []messageSample
	histograms []messageHistogram
	exemplars  []messageExemplar
	metadata   []familyMetadata // 1.0; in 2.0 it is part of the series
	symbols    symbols          // 2.0
	// 2.0: references to symbols, of the labels of all series and of all exemplars.
	refs, exemplarRefs []uint32
	keys               []byte // 2.0: of series, see seriesKey
	copies             bool   // 1.0: some labels of series are no part of the body

	histogramBytes int // about what the histograms take
	taken          int // bytes of memory that were taken for the lists
	checks         int // calls of check
}

// version is a version of remote write.
type version byte

const (
	version1 version = iota
	version2
)

// messageSeries is one TimeSeries. Its samples, histograms and exemplars are those of the request
// between the ends of the series before and its own.
type messageSeries struct {
	block labelBlock // 1.0: the label fields
	refs  listRange  // 2.0
	// Ends in the lists of the request.
	samples, histograms, exemplars int32
	meta                           seriesMetadata // 2.0
}

// listRange is [start, end) of a list.
type listRange struct{ start, end int32 }

type messageSample struct {
	time, start int64 // milliseconds; start 0: none
	value       float64
}

type messageExemplar struct {
	block labelBlock // 1.0
	refs  listRange  // 2.0
	time  int64
	value float64
}

// messageHistogram is a histogram sample; one of ints and floats is set.
type messageHistogram struct {
	time, start int64 // milliseconds; start 0: none
	ints        *histogram.Histogram
	floats      *histogram.FloatHistogram
	err         error // why it cannot be stored; see validateHistograms
}

// familyMetadata is a MetricMetadata of 1.0.
type familyMetadata struct {
	kind               int32
	family, help, unit []byte
}

// seriesMetadata is a Metadata of 2.0.
type seriesMetadata struct {
	kind       int32
	help, unit uint32 // references to symbols
}

// rawLabel is a label in the body.
type rawLabel struct{ name, value []byte }

// messageLimits bound what a walk may collect. A message of empty messages takes many times its
// size in memory. room takes so many bytes of it from those of the process; nil: they are not bounded.
type messageLimits struct {
	series, data int
	room         func(bytes int) error
}

// check is called for each new series and datum.
func (r *message) check(l messageLimits) error {
	if len(r.series) > l.series || len(r.samples)+len(r.exemplars)+len(r.metadata)+histogramWeight*len(r.histograms) > l.data {
		return errTooMany
	}
	if r.checks++; r.checks%checksOfMemory != 0 {
		return nil
	}
	return r.takeMemory(l)
}

// checksOfMemory is how many elements come between two looks at the memory.
const checksOfMemory = 32

// takeMemory takes the memory that the lists need by now.
func (r *message) takeMemory(l messageLimits) error {
	need := r.memory() - r.taken
	if need <= 0 || l.room == nil {
		return nil
	}
	need = max(need, min(r.taken, roomStep))
	r.taken += need
	return l.room(need)
}

// What elements of a request take until it is stored, in bytes: in the lists here, which are copied
// when they grow, in those of the batch, and as they are stored.
const (
	seriesMemory    = 110
	sampleMemory    = 60
	exemplarMemory  = 280
	metadataMemory  = 120
	histogramMemory = 600
	bucketMemory    = 24
	symbolMemory    = 36
	refMemory       = 6
	// roomStep is how much memory is taken at once, in bytes. Small requests take less.
	roomStep = 16 << 10
)

// memory returns about how many bytes the request takes in addition to its body.
func (r *message) memory() int {
	return seriesMemory*len(r.series) + sampleMemory*len(r.samples) + exemplarMemory*len(r.exemplars) + metadataMemory*len(r.metadata) +
		symbolMemory*len(r.symbols) + refMemory*(len(r.refs)+len(r.exemplarRefs)) + r.histogramBytes
}

// histogramWeight is how many samples a histogram counts for: an empty one takes some hundred
// bytes.
const histogramWeight = 10

// reset empties the request and keeps its memory. The series keep what they refer to, which is
// mostly the body's memory, until others take their place; see forget.
func (r *message) reset(v version) {
	if r.copies {
		r.forget()
	}
	clear(r.histograms)
	clear(r.exemplars)
	clear(r.metadata)
	clear(r.symbols)
	*r = message{
		version: v, series: r.series[:0], samples: r.samples[:0], histograms: r.histograms[:0], exemplars: r.exemplars[:0],
		metadata: r.metadata[:0], symbols: r.symbols[:0], refs: r.refs[:0], exemplarRefs: r.exemplarRefs[:0], keys: r.keys[:0],
	}
}

// forget drops what the series of former requests refer to.
func (r *message) forget() { clear(r.series[:cap(r.series)]) }

// endSeries records the ends of the last series in the lists.
func (r *message) endSeries() {
	s := &r.series[len(r.series)-1]
	r.copies = r.copies || s.block.isCopy()
	s.samples, s.histograms, s.exemplars = int32(len(r.samples)), int32(len(r.histograms)), int32(len(r.exemplars))
}
