package draw

import (
	"math"
	"slices"
)

// A limits says what an axis is to span. A nil means that the data decide.
type limits struct {
	min, max *float64
	toMax    bool     // it ends at the largest value, not at a round one
	limit    *float64 // it does not go above this
	step     *float64 // between labels
}

// A scale is an axis of values: where it begins and ends, and its labels.
type scale struct {
	bottom, top float64
	step        float64   // between labels; 0 on a logarithmic axis
	values      []float64 // of the labels; the axis spans these where there are any
	labels      []string
	logBase     float64 // 0: linear
}

// epsilon is how far values may be outside of what is round, in steps: rounding errors must not be seen.
const epsilon = 0.0001

// mostLabels bounds the labels of an axis.
const mostLabels = 1000

// largest bounds the values of axes, so that differences of values are numbers.
const largest = 1e300

// scaling finds a scale for data from low to high.
type scaling struct {
	low, high           float64
	lowFixed, highFixed bool     // by the request
	highExact           bool     // high is not made round
	limit               *float64 // high is not made larger than this
	step                float64
}

// newScale chooses an axis for data from low to high.
func newScale(low, high float64, l limits, o *Options) (*scale, error) {
	s := scaling{low: min(max(low, -largest), largest), high: min(max(high, -largest), largest)}
	if err := s.apply(l); err != nil {
		return nil, err
	}
	out := &scale{}
	var err error
	if o.LogBase != 0 {
		err = s.logarithmic(out, o.LogBase)
	} else {
		err = s.linear(out, l, o)
	}
	if err != nil {
		return nil, err
	}
	out.step = s.step
	units, _ := unitSystem(o.UnitSystem)
	for _, v := range out.values {
		out.labels = append(out.labels, valueLabel(v, s.step, out.top-out.bottom, units))
	}
	return out, nil
}

// apply makes the wishes of a request the ends of the axis, and an end that was not wished for such that
// it is above or below the other.
func (s *scaling) apply(l limits) error {
	if l.min != nil {
		s.low, s.lowFixed = *l.min, true
	}
	switch {
	case l.toMax:
		s.highExact = true
	case l.max != nil:
		s.high, s.highFixed, s.highExact = *l.max, true, true
	}
	if l.limit != nil {
		if *l.limit < s.high {
			s.high, s.highFixed, s.highExact = *l.limit, true, true
		} else {
			s.limit = l.limit
		}
	}
	if s.low < s.high {
		return nil
	}
	switch {
	case s.lowFixed && s.highFixed:
		return invalid("the minimum of the y axis must be less than its maximum or limit")
	case s.lowFixed:
		s.high = s.low + reach(s.low)
	case s.highFixed:
		s.low = s.high - reach(s.high)
	default:
		delta, middle := reach(max(math.Abs(s.low), math.Abs(s.high))), s.low/2+s.high/2
		s.low, s.high = middle-delta, middle+delta
	}
	return nil
}

// reach is a distance from one end of an axis to the other, where nothing else says one.
func reach(end float64) float64 {
	if math.Abs(end) < 1e-9 {
		return 1
	}
	return math.Abs(end) / 10
}

func (s *scaling) linear(out *scale, l limits, o *Options) error {
	binary := o.UnitSystem == "binary"
	if l.step != nil {
		if s.step = *l.step; s.step <= 0 {
			return invalid("the step of the y axis must be above 0, and is %g", s.step)
		}
	} else {
		s.choose(o.Divisors, binary)
	}
	out.bottom, out.top = s.low, s.high
	if !s.lowFixed {
		out.bottom = s.step * math.Floor(s.low/s.step+epsilon)
	}
	if !s.highExact {
		out.top = s.step * math.Ceil(s.high/s.step-epsilon)
		if s.limit != nil && out.top > *s.limit+epsilon*s.step {
			out.top = *s.limit
		}
	}
	if out.top <= out.bottom {
		out.top = out.bottom + max(1, math.Abs(out.bottom)*1e-9)
	}
	if out.top-out.bottom > mostLabels*s.step {
		s.choose([]int{4, 5, 6}, false)
	}
	start := s.step * math.Ceil(out.bottom/s.step-epsilon)
	for i := 0; i <= mostLabels+1; i++ {
		v := start + float64(i)*s.step
		if v > out.top+epsilon*s.step {
			break
		}
		out.values = append(out.values, v)
	}
	return nil
}

// choose takes the step that leaves the least room above and below the data, of the round ones that cut
// the axis into one of the numbers of parts.
func (s *scaling) choose(divisors []int, binary bool) {
	variance := max(s.high-s.low, math.Abs(s.low)*1e-13, math.Abs(s.high)*1e-13, 1e-290)
	fewest, most := float64(slices.Min(divisors)), float64(slices.Max(divisors))
	best := math.Inf(1)
	for step := range roundSteps(variance/most, binary) {
		if !math.IsInf(best, 1) && step*fewest >= 2*best+variance || math.IsInf(step, 1) {
			break
		}
		bottom := step * math.Floor(s.low/step+epsilon)
		for _, parts := range divisors {
			top := bottom + step*float64(parts)
			if top < s.high-epsilon*step {
				continue
			}
			if slop := max(top-s.high, s.low-bottom); slop < best {
				best, s.step = slop, step
			}
		}
	}
	if s.step == 0 {
		s.step = variance
	}
}

// roundSteps yields the round numbers from least on: 1, 2 and 5 times powers of ten, or powers of two.
func roundSteps(least float64, binary bool) func(yield func(float64) bool) {
	base, mantissas, exponent := 10.0, []float64{1, 2, 5}, math.Floor(math.Log10(least)-epsilon)
	if binary {
		base, mantissas, exponent = 2, []float64{1}, math.Floor(math.Log2(least)-epsilon)
	}
	return func(yield func(float64) bool) {
		for ; ; exponent++ {
			power := math.Pow(base, exponent)
			for _, m := range mantissas {
				if v := m * power; v >= least*(1-epsilon) && !yield(v) {
					return
				}
			}
		}
	}
}

func (s *scaling) logarithmic(out *scale, base float64) error {
	if s.low <= 0 {
		return invalid("logBase needs values above 0: set yMin, or leave the values out")
	}
	log := func(v float64) float64 { return math.Log(v) / math.Log(base) }
	if log(s.high)-log(s.low) > mostLabels {
		return invalid("logBase=%g is too near to 1 for values from %g to %g", base, s.low, s.high)
	}
	out.logBase = base
	out.bottom, out.top = math.Pow(base, math.Floor(log(s.low))), math.Pow(base, math.Ceil(log(s.high)))
	if out.top <= out.bottom {
		out.top *= base
	}
	if out.bottom == 0 || math.IsInf(out.top, 0) {
		return invalid("logBase=%g: there is no power of it around %g and %g", base, s.low, s.high)
	}
	v := math.Pow(base, math.Ceil(log(out.bottom)-epsilon))
	for ; v < out.top*(1+epsilon) && len(out.values) <= mostLabels+2; v *= base {
		out.values = append(out.values, v)
	}
	return nil
}

// ends returns the values at the lower and the upper end of the axis: those of its labels.
func (s *scale) ends() (low, high float64) {
	low, high = s.bottom, s.top
	if len(s.values) > 0 {
		low, high = s.values[0], s.values[len(s.values)-1]
	}
	if low >= high {
		low, high = s.bottom, s.top
	}
	return low, high
}

// share returns where a value is: 0 at the lower end, 1 at the upper. ok is false where it is nowhere.
func (s *scale) share(v float64) (share float64, ok bool) {
	low, high := s.ends()
	if s.logBase != 0 {
		if v <= 0 {
			return 0, false
		}
		return (math.Log(v) - math.Log(low)) / (math.Log(high) - math.Log(low)), true
	}
	return (v - low) / (high - low), true
}
