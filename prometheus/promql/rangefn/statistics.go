package rangefn

import (
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// statistics computes count, sum and counter reset hint of the histograms of a series where the library
// leaves out their buckets. The hint of a histogram depends on which samples the library has read before it
// and on where its iterator leaped. So the library's own iterators read the column here, and are moved as
// the library moves them.
type statistics struct {
	column columnIterator
	stats  *promql.HistogramStatsIterator // over column
	// histograms and points are those of the current series that have been read. The next series
	// overwrites them.
	histograms []histogram.FloatHistogram
	points     []promql.HPoint
}

// withoutBuckets returns the histograms of a column that the library would read for the steps, without
// their buckets. They are valid until the next call.
func (e *pointEvaluator) withoutBuckets(c columns.Column) []promql.HPoint {
	first, _ := e.Window(0)
	s := &e.statisticsOf
	s.begin(c, first-e.Earlier)
	switch {
	case e.Function != nil:
		s.readRanges(e.Windows, e.Length+e.Earlier+e.Later)
	case e.Smooth:
		s.readRanges(e.Windows, e.Grid.Until-e.Grid.Start+e.Length+e.Later)
	default:
		s.readInstants(e.Windows)
	}
	return s.points
}

// begin takes another series. The library does not get the samples until after: they are before the first
// step's window.
func (s *statistics) begin(c columns.Column, after int64) {
	s.column.reset(c, after)
	if s.stats == nil {
		s.stats = promql.NewHistogramStatsIterator(&s.column)
	}
	s.stats.Reset(&s.column)
	s.points = s.points[:0]
	if n := len(c.Histograms); cap(s.histograms) < n {
		s.histograms = make([]histogram.FloatHistogram, n)
	}
}

// readRanges reads as the library does for functions of ranges and for smoothed selectors, which keep the
// samples of the time kept before the one sought.
func (s *statistics) readRanges(w *Windows, kept int64) {
	it := promstorage.NewBufferIterator(statisticsIterator{s.stats, s}, kept)
	for step := range w.Grid.Steps {
		_, end := w.Window(step)
		end += w.Later
		if it.Seek(end) == chunkenc.ValFloatHistogram && it.AtT() == end {
			it.AtFloatHistogram(nil)
		}
		if w.Fixed {
			return
		}
	}
}

// readInstants reads as the library does for the newest sample of each step.
func (s *statistics) readInstants(w *Windows) {
	it := promstorage.NewMemoizedIterator(statisticsIterator{s.stats, s}, w.Length)
	for step := range w.Grid.Steps {
		_, end := w.Window(step)
		if it.Seek(end) == chunkenc.ValFloatHistogram {
			it.AtFloatHistogram()
		}
	}
}

// statisticsIterator keeps the histograms that are read.
type statisticsIterator struct {
	*promql.HistogramStatsIterator
	*statistics
}

// AtFloatHistogram implements chunkenc.Iterator.
func (i statisticsIterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	s := i.statistics
	if n := len(s.points); n > 0 && s.points[n-1].T == i.AtT() {
		return s.points[n-1].T, s.points[n-1].H
	}
	n := len(s.points)
	t, h := s.stats.AtFloatHistogram(&s.histograms[:n+1][n])
	s.points = append(s.points, promql.HPoint{T: t, H: h})
	return t, h
}

// columnIterator is a column as the library reads a series.
type columnIterator struct {
	column       columns.Column
	float, hist  int // the current samples
	onHistograms bool
	started      bool
}

var _ chunkenc.Iterator = (*columnIterator)(nil)

// reset takes the samples of a column after a time.
func (i *columnIterator) reset(c columns.Column, after int64) {
	float := sort.Search(len(c.Times), func(k int) bool { return c.Times[k] > after })
	hist := sort.Search(len(c.Histograms), func(k int) bool { return c.Histograms[k].T > after })
	c.Times, c.Values, c.Histograms = c.Times[float:], c.Values[float:], c.Histograms[hist:]
	*i = columnIterator{column: c}
}

// Next implements chunkenc.Iterator.
func (i *columnIterator) Next() chunkenc.ValueType {
	switch {
	case !i.started:
		i.started = true
	case i.onHistograms:
		i.hist++
	default:
		i.float++
	}
	return i.look()
}

// look finds the kind of the current sample.
func (i *columnIterator) look() chunkenc.ValueType {
	c := &i.column
	floats, hists := i.float < len(c.Times), i.hist < len(c.Histograms)
	i.onHistograms = hists && (!floats || c.Histograms[i.hist].T < c.Times[i.float])
	switch {
	case i.onHistograms:
		return chunkenc.ValFloatHistogram
	case floats:
		return chunkenc.ValFloat
	}
	return chunkenc.ValNone
}

// Seek implements chunkenc.Iterator.
func (i *columnIterator) Seek(t int64) chunkenc.ValueType {
	i.started = true
	i.float = advance(i.column.Times, i.float, t-1)
	for i.hist < len(i.column.Histograms) && i.column.Histograms[i.hist].T < t {
		i.hist++
	}
	return i.look()
}

// At implements chunkenc.Iterator.
func (i *columnIterator) At() (int64, float64) {
	return i.column.Times[i.float], i.column.Values[i.float]
}

// AtHistogram implements chunkenc.Iterator. The library never asks for it.
func (i *columnIterator) AtHistogram(*histogram.Histogram) (int64, *histogram.Histogram) {
	panic("a column has no integer histograms")
}

// AtFloatHistogram returns the histogram itself, which the library's iterator only reads.
func (i *columnIterator) AtFloatHistogram(*histogram.FloatHistogram) (int64, *histogram.FloatHistogram) {
	p := i.column.Histograms[i.hist]
	return p.T, p.H
}

// AtT implements chunkenc.Iterator.
func (i *columnIterator) AtT() int64 {
	switch {
	case i.onHistograms:
		return i.column.Histograms[i.hist].T
	case i.float < len(i.column.Times):
		return i.column.Times[i.float]
	}
	return 0
}

// AtST implements chunkenc.Iterator.
func (i *columnIterator) AtST() int64 { return 0 }

// Err implements chunkenc.Iterator.
func (i *columnIterator) Err() error { return nil }
