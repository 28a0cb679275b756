// Package rangefn computes the functions of ranges, like rate and quantile_over_time, for one series after
// the other, and the newest sample of each step for selectors. An evaluator takes a column of samples, and
// gives a value for each step. Samples at uniform distances are computed several steps at once; ranges with
// histograms are computed by the library's functions. It reads nothing, and knows no other series.
package rangefn

import (
	"math"

	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// A span is the input of a function for one series at one step: times[i] is the time of values[i].
// There is at least one sample, none is a stale marker, and all are after start and not after end
// (milliseconds).
type span struct {
	times      []int64
	values     []float64
	start, end int64
	at         int64     // the step
	args       []float64 // the other arguments of the function, at this step
	// resets are the indexes into the series, in ascending order, of values below the one before;
	// first is the index of values[0]. Only functions that ask for resets get them.
	resets []int
	first  int
	// width is the range of the selector, in seconds.
	width float64
	// regular means that all samples of the series are at uniform distances.
	regular bool
	pattern pattern // of the step before, with these sums
	x, x2   floats.Sum
	bound   float64 // of the values of the series, for functions that add

	stretch stretch   // of the step before
	scratch []float64 // for functions that sort

	series   []float64 // all values
	ordered  floats.Ordered
	extremum floats.Extremum
	totals   floats.Totals
}

// rise is a kind of function that extrapolates the increase of a counter.
type rise uint8

const (
	noRise rise = iota
	total
	perSecond
)

// Function is a function of a range of one series. Its arithmetic, down to the order of additions,
// is that of promql/functions.go.
type Function struct {
	rise      rise   // how it extrapolates, if it does
	adds      adding // how it adds, if it does
	fits      fit    // what it returns of a line through the samples, if it does
	eval      func(s *span) (value float64, ok bool)
	begin     func(s *span) // takes a new series; may be nil
	Args      int           // scalars in addition to the range
	Matrix    int           // position of the range among the arguments
	KeepsName bool
	resets    bool // wants span.resets
	Counter   bool // warns about a metric that is not named as a counter
	Edges     bool // depends on the ends of the range
	quantile  bool // warns about a quantile outside of 0 to 1, its first argument
}

// Of returns the function of that name, nil if it is not known here.
func Of(name string) *Function {
	switch name {
	case "rate":
		return &Function{rise: perSecond, eval: rate, resets: true, Counter: true, Edges: true}
	case "increase":
		return &Function{rise: total, eval: increase, resets: true, Counter: true, Edges: true}
	case "delta":
		return &Function{eval: delta, Edges: true}
	case "irate":
		return &Function{eval: irate}
	case "idelta":
		return &Function{eval: idelta}
	case "resets":
		return &Function{eval: countResets, resets: true}
	case "changes":
		return &Function{eval: changes}
	case "last_over_time":
		return &Function{eval: func(s *span) (float64, bool) { return s.values[len(s.values)-1], true }, KeepsName: true}
	case "first_over_time":
		return &Function{eval: func(s *span) (float64, bool) { return s.values[0], true }, KeepsName: true}
	case "count_over_time":
		return &Function{eval: func(s *span) (float64, bool) { return float64(len(s.values)), true }}
	case "present_over_time":
		return &Function{eval: func(*span) (float64, bool) { return 1, true }}
	case "sum_over_time":
		return &Function{adds: addsAll, begin: findBound, eval: sumOverTime}
	case "avg_over_time":
		return &Function{adds: addsToMean, begin: findBound, eval: avgOverTime}
	case "min_over_time":
		return &Function{eval: minOverTime, begin: func(s *span) { s.extremum.Least = true; s.extremum.Begin(s.series) }}
	case "max_over_time":
		return &Function{eval: maxOverTime, begin: func(s *span) { s.extremum.Begin(s.series) }}
	case "mad_over_time":
		return &Function{eval: medianDeviation}
	case "quantile_over_time":
		return &Function{eval: quantileOverTime, begin: func(s *span) { s.ordered.Begin(s.series) }, Args: 1, Matrix: 1, quantile: true}
	case "ts_of_first_over_time":
		return &Function{eval: func(s *span) (float64, bool) { return float64(s.times[0]) / 1000, true }}
	case "ts_of_last_over_time":
		return &Function{eval: func(s *span) (float64, bool) { return float64(s.times[len(s.times)-1]) / 1000, true }}
	case "ts_of_max_over_time":
		return &Function{eval: timeOfMax}
	case "ts_of_min_over_time":
		return &Function{eval: timeOfMin}
	case "deriv":
		return &Function{fits: slope, begin: findBound, eval: deriv}
	case "predict_linear":
		return &Function{fits: prediction, begin: findBound, eval: predictLinear, Args: 1}
	case "double_exponential_smoothing":
		return &Function{eval: smooth, Args: 2}
	case "stdvar_over_time":
		return &Function{eval: variance}
	case "stddev_over_time":
		return &Function{eval: func(s *span) (float64, bool) {
			v, _ := variance(s)
			return math.Sqrt(v), true
		}}
	}
	return nil
}

func rate(s *span) (float64, bool) {
	value, factor, ok := extrapolate(s, s.rise(), true)
	if factor == s.stretch.factor {
		return value * s.stretch.rate, ok
	}
	return value * (factor / s.width), ok
}

func increase(s *span) (float64, bool) {
	value, factor, ok := extrapolate(s, s.rise(), true)
	return value * factor, ok
}

func delta(s *span) (float64, bool) {
	value, factor, ok := extrapolate(s, s.values[len(s.values)-1]-s.values[0], false)
	return value * factor, ok
}

// rise returns by how much a counter increased. The values before resets are added in the order of
// the resets.
func (s *span) rise() float64 {
	value := s.values[len(s.values)-1] - s.values[0]
	for _, i := range s.resets {
		value += s.values[i-s.first-1]
	}
	return value
}

// extrapolate returns by which factor a difference between the first and the last sample grows when
// it is stretched to the borders of the range: all the way if a sample is nearly due there, else by
// half the distance between samples.
func extrapolate(s *span, value float64, counter bool) (_, factor float64, ok bool) {
	if len(s.times) == 1 {
		return 0, 0, false
	}
	st := s.stretched()
	if counter && value > 0 && s.values[0] >= 0 && st.length != 0 {
		// A counter is not extrapolated below zero.
		if toZero := st.length * (s.values[0] / value); toZero < st.toStart {
			return value, (st.length + toZero + st.toEnd) / st.length, true
		}
	}
	return value, st.factor, true
}

// stretch is what the times of a span contribute to a stretch to its borders.
type stretch struct {
	before, sampled, after int64 // milliseconds: start to first sample, to last sample, to end
	samples                int

	toStart, length, toEnd float64 // seconds: what is added, what there is, what is added
	factor                 float64 // (toStart + length + toEnd) / length
	rate                   float64 // factor / the seconds of the selector
}

// stretched returns the stretch of this step. Samples at uniform distances have the same one at each
// step.
func (s *span) stretched() *stretch {
	st, n := &s.stretch, len(s.times)
	first, last := s.times[0], s.times[n-1]
	if st.samples == n && st.before == first-s.start && st.sampled == last-first && st.after == s.end-last {
		return st
	}
	*st = stretch{before: first - s.start, sampled: last - first, after: s.end - last, samples: n}
	st.toStart, st.length, st.toEnd = float64(st.before)/1000, float64(st.sampled)/1000, float64(st.after)/1000
	between := st.length / float64(n-1)
	near := between * 1.1
	if st.toStart >= near {
		st.toStart = between / 2
	}
	if st.toEnd >= near {
		st.toEnd = between / 2
	}
	st.factor = 1
	if st.length != 0 {
		st.factor = (st.length + st.toStart + st.toEnd) / st.length
	}
	st.rate = st.factor / s.width
	return st
}

func irate(s *span) (float64, bool) { return lastTwo(s, true) }

func idelta(s *span) (float64, bool) { return lastTwo(s, false) }

func lastTwo(s *span, perSecond bool) (float64, bool) {
	n := len(s.values)
	if n < 2 {
		return 0, false
	}
	passed := s.times[n-1] - s.times[n-2]
	if passed == 0 {
		return 0, false
	}
	value := s.values[n-1]
	if !perSecond || !(value < s.values[n-2]) { // A reset leaves the value; NaN is none.
		value -= s.values[n-2]
	}
	if perSecond {
		value /= float64(passed) / 1000
	}
	return value, true
}

func countResets(s *span) (float64, bool) { return float64(len(s.resets)), true }

func changes(s *span) (float64, bool) {
	n := 0
	for i, v := range s.values[1:] {
		if before := s.values[i]; v != before && !(math.IsNaN(v) && math.IsNaN(before)) {
			n++
		}
	}
	return float64(n), true
}

// findBound prepares for sums.
func findBound(s *span) { s.bound = floats.BoundOf(s.series) }

func sumOverTime(s *span) (float64, bool) {
	total := floats.SumOf(floats.Sum{}, s.values, s.bound)
	if math.IsInf(total.Value, 0) {
		return total.Value, true
	}
	return total.Value + total.Rest, true
}

func avgOverTime(s *span) (float64, bool) {
	if total := floats.SumOf(floats.Sum{Value: s.values[0]}, s.values[1:], s.bound); total.IsFinite() {
		count := float64(len(s.values))
		return total.Value/count + total.Rest/count, true
	}
	m := floats.Mean{Sum: s.values[0], Count: 1}
	for _, v := range s.values[1:] {
		m.Add(v)
	}
	return m.Value(), true
}

func minOverTime(s *span) (float64, bool) {
	if !s.extremum.HasNaN {
		return s.extremum.MoveTo(s.series, s.first, s.first+len(s.values)), true
	}
	least := s.values[0]
	for _, v := range s.values {
		if v < least || math.IsNaN(least) {
			least = v
		}
	}
	return least, true
}

func maxOverTime(s *span) (float64, bool) {
	if !s.extremum.HasNaN {
		return s.extremum.MoveTo(s.series, s.first, s.first+len(s.values)), true
	}
	most := s.values[0]
	for _, v := range s.values {
		if v > most || math.IsNaN(most) {
			most = v
		}
	}
	return most, true
}

func variance(s *span) (float64, bool) {
	var count, mean, cMean, aux, cAux float64
	for _, v := range s.values {
		count++
		delta := v - (mean + cMean)
		mean, cMean = kahansum.Inc(delta/count, mean, cMean)
		aux, cAux = kahansum.Inc(delta*(v-(mean+cMean)), aux, cAux)
	}
	return (aux + cAux) / count, true
}
