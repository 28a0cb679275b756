package queryable

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/storage"
)

// seriesSamples are the samples of one stored series, in memory. They do not change once their
// hints are set.
type seriesSamples struct {
	times  []int64 // of values
	values []float64
	hists  []histSample
	starts []startTime
	// unread means that there are histograms of OpenTSDB that are left out.
	unread bool

	end *queryEnd // nil: never
}

// What a copy of samples takes, in bytes.
const (
	sampleBytes     = 16
	seriesBytes     = 256 // without the samples
	histogramGrowth = 8   // times the encoded bytes: buckets are small numbers there
)

// queryEnd records that a query has ended, and its samples with it. It is cheaper to check than a
// context.
type queryEnd struct {
	once    sync.Once
	reached atomic.Bool
	reason  error // set before reached

	// One goroutine reads the samples. It gives its turn away here.
	turn *query.Turn
	ctx  context.Context //nolint:containedctx // of the query
}

func newQueryEnd(ctx context.Context) *queryEnd {
	end := &queryEnd{turn: query.TurnOf(ctx), ctx: ctx}
	context.AfterFunc(ctx, func() { end.end(ctx.Err()) })
	return end
}

// end ends the query with its first error.
func (e *queryEnd) end(err error) {
	e.once.Do(func() {
		e.reason = httpapi.QueryError(e.ctx, "expression evaluation", err)
		e.reached.Store(true)
	})
}

// yield lets other queries compute first.
func (e *queryEnd) yield() {
	if e == nil || !e.turn.Wanted() {
		return
	}
	if err := e.turn.Yield(e.ctx); err != nil {
		e.end(err)
	}
}

func (e *queryEnd) err() error {
	if e != nil && e.reached.Load() {
		return e.reason
	}
	return nil
}

// A histSample is a histogram at a time in milliseconds; exactly one of the two is set.
type histSample struct {
	time int64
	ints *histogram.Histogram
	flts *histogram.FloatHistogram
}

// A startTime is the time since which the sample at time has been counting.
type startTime struct{ time, start int64 }

// newSeriesSamples copies points, which belong to the store. It also returns for how many samples
// they count.
func newSeriesSamples(p storage.Points) (*seriesSamples, int, error) {
	s := &seriesSamples{times: slices.Clone(p.Times), values: slices.Clone(p.Values)}
	size := len(p.Times)
	for _, o := range p.Objects {
		switch o.Kind {
		case storage.KindHistogram:
			h, fh, err := histogramcodec.DecodeHistogram(o.Data)
			if err != nil {
				return nil, 0, unreadable(o, err)
			}
			s.hists = append(s.hists, histSample{o.Time, h, fh})
			size += samplesInBytes(len(o.Data))
		case storage.KindStartTime:
			delta, err := histogramcodec.DecodeStartTime(o.Data)
			if err != nil {
				return nil, 0, unreadable(o, err)
			}
			s.starts = append(s.starts, startTime{o.Time, o.Time + delta})
		case storage.KindCoded:
			s.unread = true
		case storage.KindExemplar:
		}
	}
	return s, size, nil
}

// unreadable is the error for stored bytes that are not an object of their kind. It is the store's
// error, whereas the same bytes in a write would be the sender's.
func unreadable(o storage.Object, err error) error {
	return httpapi.StoreError{Err: fmt.Errorf("object of kind %d at %d ms: %w", o.Kind, o.Time, err)}
}

// samplesInBytes returns for how many samples of 16 bytes so many encoded bytes count.
func samplesInBytes(bytes int) int { return 1 + bytes/16 }

// shownSeries is a stored series under its labels.
type shownSeries struct {
	labels labels.Labels
	data   *seriesSamples
}

// Labels returns the labels.
func (s *shownSeries) Labels() labels.Labels { return s.labels }

// Iterator returns an iterator at the first sample. It reuses it if that is a samplesIterator.
func (s *shownSeries) Iterator(it chunkenc.Iterator) chunkenc.Iterator {
	s.data.end.yield()
	if ours, ok := it.(*samplesIterator); ok {
		*ours = samplesIterator{data: s.data}
		return ours
	}
	return &samplesIterator{data: s.data}
}

// samplesIterator walks floats and histograms in the order of their times.
type samplesIterator struct {
	data *seriesSamples
	// Indexes of what comes after the current sample.
	float, hist, start int

	kind chunkenc.ValueType // of the current sample, ValNone before the first and after the last
	time int64
}

// Next moves to the next sample.
func (it *samplesIterator) Next() chunkenc.ValueType {
	d := it.data
	switch {
	case d.end != nil && d.end.reached.Load():
		it.kind = chunkenc.ValNone // Err returns the reason
	case it.hist < len(d.hists) && (it.float == len(d.times) || d.hists[it.hist].time <= d.times[it.float]):
		it.nextHistogram()
	case it.float < len(d.times):
		it.kind, it.time = chunkenc.ValFloat, d.times[it.float]
		it.float++
	default:
		it.kind = chunkenc.ValNone
	}
	return it.kind
}

func (it *samplesIterator) nextHistogram() {
	h := &it.data.hists[it.hist]
	it.hist++
	it.kind, it.time = chunkenc.ValHistogram, h.time
	if h.flts != nil {
		it.kind = chunkenc.ValFloatHistogram
	}
	// The store keeps one sample per instant. If there were two, readers must not see the instant
	// twice.
	if it.float < len(it.data.times) && it.data.times[it.float] == h.time {
		it.float++
	}
}

// Seek moves to the first sample at or after t. It never moves back, and stays where it is if the
// current sample is late enough.
func (it *samplesIterator) Seek(t int64) chunkenc.ValueType {
	if it.kind != chunkenc.ValNone && it.time >= t {
		return it.kind
	}
	it.data.end.yield()
	float, _ := slices.BinarySearch(it.data.times[it.float:], t)
	hist, _ := slices.BinarySearchFunc(it.data.hists[it.hist:], t, func(h histSample, t int64) int { return cmp.Compare(h.time, t) })
	it.float += float
	it.hist += hist
	return it.Next()
}

// At returns the current float.
func (it *samplesIterator) At() (int64, float64) { return it.time, it.data.values[it.float-1] }

// AtT returns the time of the current sample.
func (it *samplesIterator) AtT() int64 { return it.time }

// AtHistogram returns a copy of the current histogram, in h if it is not nil: the engine changes
// what it gets.
func (it *samplesIterator) AtHistogram(h *histogram.Histogram) (int64, *histogram.Histogram) {
	current := it.data.hists[it.hist-1].ints
	if h == nil {
		return it.time, current.Copy()
	}
	current.CopyTo(h)
	return it.time, h
}

// AtFloatHistogram returns a copy of the current histogram of either kind.
func (it *samplesIterator) AtFloatHistogram(fh *histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	current := &it.data.hists[it.hist-1]
	switch {
	case current.ints != nil:
		return it.time, current.ints.ToFloat(fh)
	case fh == nil:
		return it.time, current.flts.Copy()
	}
	current.flts.CopyTo(fh)
	return it.time, fh
}

// AtST returns the start time of the current sample, 0 when it has none.
func (it *samplesIterator) AtST() int64 {
	starts := it.data.starts
	for it.start < len(starts) && starts[it.start].time < it.time {
		it.start++
	}
	if it.start < len(starts) && starts[it.start].time == it.time {
		return starts[it.start].start
	}
	return 0
}

// Err returns nil while the query runs: the samples are in memory.
func (it *samplesIterator) Err() error { return it.data.end.err() }
