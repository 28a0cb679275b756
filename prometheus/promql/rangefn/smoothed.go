package rangefn

import (
	"errors"
	"slices"
	"sort"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// smoothed computes the values of a smoothed selector: at each step the sample of that time, else
// what lies between the samples around it, else the newest sample. Its arithmetic is that of the
// library's smoothSeries.
func (e *pointEvaluator) smoothed(ls labels.Labels, c columns.Column, out []float64) int {
	if len(c.Histograms) > 0 {
		e.Hists = make([]*histogram.FloatHistogram, len(out))
	}
	e.pointsOf(c)
	name, count, last := ls.Get(model.MetricNameLabel), 0, 0
	for step := range out {
		start, end := e.Window(step)
		floats, hists := floatsBetween(e.floats, start, end+e.Later), histogramsBetween(e.histograms, start, end+e.Later)
		last = len(floats)
		for _, p := range hists {
			last += block.HistogramSamples(p.H)
		}
		e.Count.Most = max(e.Count.Most, last)
		switch {
		case len(floats) > 0 && len(hists) > 0:
			e.Warn(annotations.NewMixedFloatsHistogramsWarning(name, e.Argument))
		case len(hists) > 0:
			if h := e.smoothHistogram(name, hists, end); h != nil {
				e.Hists[step] = h
				count += block.HistogramSamples(h)
			}
		default:
			if v, ok := smoothFloat(floats, end); ok {
				out[step] = v
				count++
			}
		}
		if e.visited += last; e.stopped() {
			return count // the result is not used
		}
	}
	e.Count.Kept += last
	return count
}

// smoothFloat returns the value at a time, false if no sample is old enough.
func smoothFloat(points []promql.FPoint, at int64) (float64, bool) {
	i := sort.Search(len(points), func(i int) bool { return points[i].T >= at })
	switch {
	case i < len(points) && points[i].T == at:
		return points[i].F, true
	case i == 0:
		return 0, false
	case i < len(points):
		return interpolate(points[i-1], points[i], at), true
	}
	return points[i-1].F, true
}

// interpolate returns the value at a time between two points.
func interpolate(before, after promql.FPoint, at int64) float64 {
	return before.F + (after.F-before.F)*float64(at-before.T)/float64(after.T-before.T)
}

// smoothHistogram returns the histogram at a time, nil if there is none.
func (e *pointEvaluator) smoothHistogram(name string, points []promql.HPoint, at int64) *histogram.FloatHistogram {
	i := sort.Search(len(points), func(i int) bool { return points[i].T >= at })
	switch {
	case i < len(points) && points[i].T == at:
		return points[i].H.Copy()
	case i == 0:
		return nil
	case i == len(points):
		h := points[i-1].H.Copy()
		h.CounterResetHint = histogram.UnknownCounterReset
		return h
	}
	before, after := points[i-1], points[i]
	if before.H.UsesCustomBuckets() != after.H.UsesCustomBuckets() {
		e.Warn(annotations.NewMixedExponentialCustomHistogramsWarning(name, e.Argument))
		return nil
	}
	h, err := e.betweenHistograms(before, after, at)
	if errors.Is(err, histogram.ErrHistogramsIncompatibleSchema) {
		e.Warn(annotations.NewMixedExponentialCustomHistogramsWarning(name, e.Argument))
	}
	return h
}

// betweenHistograms returns the histogram at a time between two points. A counter that was reset
// begins at zero.
func (e *pointEvaluator) betweenHistograms(before, after promql.HPoint, at int64) (*histogram.FloatHistogram, error) {
	fraction := float64(at-before.T) / float64(after.T-before.T)
	counter := before.H.CounterResetHint != histogram.GaugeType || after.H.CounterResetHint != histogram.GaugeType
	if counter && after.H.DetectReset(before.H) {
		return after.H.Copy().Mul(fraction), nil
	}
	h := after.H.Copy()
	_, _, reconciled, err := h.Sub(before.H)
	if err != nil {
		return nil, err
	}
	if reconciled {
		e.Warn(annotations.NewMismatchedCustomBucketsHistogramsInfo(e.Argument, annotations.HistogramSub))
	}
	h.Mul(fraction)
	_, _, reconciled, err = h.Add(before.H)
	if err != nil {
		return nil, err
	}
	if reconciled {
		e.Warn(annotations.NewMismatchedCustomBucketsHistogramsInfo(e.Argument, annotations.HistogramAdd))
	}
	return h, nil
}

// Extended returns the points of a range with one at each end, as the library's extendFloats does.
func Extended(points []promql.FPoint, start, end int64, smoothed bool) []promql.FPoint {
	if len(points) == 0 {
		return points
	}
	last := len(points) - 1
	first := max(0, sort.Search(last, func(i int) bool { return points[i].T > start })-1)
	if smoothed {
		last = sort.Search(last, func(i int) bool { return points[i].T >= end })
	}
	if points[last].T <= start {
		return nil
	}
	left, right := points[first].F, points[last].F
	if smoothed && points[first].T < start {
		left = interpolate(points[first], points[first+1], start)
	}
	if smoothed && last > 0 && points[last].T > end {
		right = interpolate(points[last-1], points[last], end)
	}
	if points[first].T <= start {
		first++
	}
	if points[last].T >= end {
		last--
	}
	inside := slices.Clone(points[first:max(first, last+1)])
	points = append(points[:0], promql.FPoint{T: start, F: left})
	points = append(points, inside...)
	return append(points, promql.FPoint{T: end, F: right})
}
