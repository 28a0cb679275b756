package rangefn

import (
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// A pointEvaluator evaluates series with histograms, and those of which an anchored or smoothed selector
// sees samples around its range, as points. The library's functions compute their ranges.
type pointEvaluator struct {
	*steps
	statisticsOf statistics

	floats     []promql.FPoint
	histograms []promql.HPoint
	call       promql.FunctionCall
	helper     promql.EvalNodeHelper
	numbers    []promql.Vector // the other arguments
	newestKept promql.HPoint   // a copy for the answer, of the newest histogram without buckets
}

// evaluate computes the values of a series, and returns for how many samples they count.
func (e *pointEvaluator) evaluate(ls labels.Labels, c columns.Column, out []float64) int {
	block.Fill(out, block.Absent)
	if e.Statistics {
		c.Histograms = e.withoutBuckets(c)
	}
	if e.Smooth {
		return e.smoothed(ls, c, out)
	}
	e.newestKept = promql.HPoint{}
	e.Hists = make([]*histogram.FloatHistogram, len(out))
	if e.Function == nil {
		return e.newest(c, out)
	}
	if e.call == nil {
		e.call = promql.FunctionCalls[e.name]
		e.numbers = make([]promql.Vector, len(e.Constants))
		for i := range e.numbers {
			e.numbers[i] = make(promql.Vector, 1)
		}
	}
	e.pointsOf(c)
	count := 0
	in := promql.Series{Metric: ls}
	for step := range out {
		start, end := e.Window(step)
		start, end = start-e.Earlier, end+e.Later
		in.Floats = floatsBetween(e.floats, start, end)
		in.Histograms = histogramsBetween(e.histograms, start, end)
		if len(in.Floats)+len(in.Histograms) == 0 {
			continue
		}
		e.countWindow(in, step, start, end)
		if e.visited += len(in.Floats) + histogramVisits*len(in.Histograms); e.stopped() {
			return count // the result is not used
		}
		count += e.library(step, in, out)
	}
	return count
}

// pointsOf sets the points of a column, without stale markers.
func (e *pointEvaluator) pointsOf(c columns.Column) {
	e.floats, e.histograms = e.floats[:0], e.histograms[:0]
	for i, v := range c.Values {
		if !value.IsStaleNaN(v) {
			e.floats = append(e.floats, promql.FPoint{T: c.Times[i], F: v})
		}
	}
	for _, p := range c.Histograms {
		if !value.IsStaleNaN(p.H.Sum) {
			e.histograms = append(e.histograms, p)
		}
	}
}

// library sets the value of a step to what the library's function makes of the samples.
func (e *pointEvaluator) library(step int, in promql.Series, out []float64) int {
	for i, a := range e.Constants {
		e.numbers[i][0].F = a[step]
	}
	e.helper.Ts, e.helper.Out = e.Grid.Time(step), e.helper.Out[:0]
	found, made := e.call(e.numbers, promql.Matrix{in}, e.arguments, &e.helper)
	e.Merge(made)
	if len(found) == 0 {
		return 0
	}
	e.helper.Out = found
	if h := found[0].H; h != nil {
		e.Hists[step] = h
		return block.HistogramSamples(h)
	}
	out[step] = found[0].F
	return 1
}

// countWindow counts the samples of a step, and those that the step before did not see.
func (e *pointEvaluator) countWindow(in promql.Series, step int, start, end int64) {
	n, seen := block.SamplesOf(in), 0
	switch {
	case step > 0 && e.Fixed:
		seen = n
	case step > 0:
		before := end - e.Grid.Interval
		seen = block.SamplesOf(promql.Series{
			Floats: floatsBetween(in.Floats, start, before), Histograms: histogramsBetween(in.Histograms, start, before),
		})
	}
	e.Count.Total += int64(n)
	e.Count.Read += int64(n - seen)
	e.Count.Most = max(e.Count.Most, n)
}

// histogramVisits is how many samples a histogram counts for.
const histogramVisits = 100

func floatsBetween(points []promql.FPoint, start, end int64) []promql.FPoint {
	from, _ := slices.BinarySearchFunc(points, start+1, func(p promql.FPoint, t int64) int { return int(p.T - t) })
	to, _ := slices.BinarySearchFunc(points, end+1, func(p promql.FPoint, t int64) int { return int(p.T - t) })
	return points[from:to:to]
}

func histogramsBetween(points []promql.HPoint, start, end int64) []promql.HPoint {
	from, _ := slices.BinarySearchFunc(points, start+1, func(p promql.HPoint, t int64) int { return int(p.T - t) })
	to, _ := slices.BinarySearchFunc(points, end+1, func(p promql.HPoint, t int64) int { return int(p.T - t) })
	return points[from:to:to]
}

// newest takes the newest sample of each step.
func (e *pointEvaluator) newest(c columns.Column, out []float64) int {
	count, float, hist := 0, 0, 0 // the first samples after the step
	for step := range out {
		start, end := e.Window(step)
		float = advance(c.Times, float, end)
		for hist < len(c.Histograms) && c.Histograms[hist].T <= end {
			hist++
		}
		floatIsNewer := hist == 0 || float > 0 && c.Times[float-1] > c.Histograms[hist-1].T
		switch {
		case float == 0 && hist == 0:
		case floatIsNewer && (c.Times[float-1] <= start || value.IsStaleNaN(c.Values[float-1])):
		case floatIsNewer:
			out[step] = c.Values[float-1]
			if e.Stamps {
				out[step] = float64(c.Times[float-1]) / 1000
			}
			count++
		default:
			count += e.newestHistogram(step, c.Histograms[hist-1], start, out)
		}
	}
	e.Count.Total += int64(count)
	e.Count.Read += int64(count)
	return count
}

func (e *pointEvaluator) newestHistogram(step int, p promql.HPoint, start int64, out []float64) int {
	switch {
	case p.T <= start, value.IsStaleNaN(p.H.Sum):
		return 0
	case e.Stamps:
		out[step] = float64(p.T) / 1000
		return 1
	}
	h := p.H
	switch before := e.newestKept; {
	case !e.Statistics:
	case before.H != nil && before.T == p.T:
		h = before.H
	default:
		h = h.Copy()
		e.newestKept = promql.HPoint{T: p.T, H: h}
	}
	e.Hists[step] = h
	return block.HistogramSamples(h)
}
