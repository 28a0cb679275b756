package columns

import "math"

// A Summary is what some functions need of the samples of one series in an interval, which are floats and no
// stale markers. Min and Max are NaN only if all of them are, and the first one of 0 and -0. They are in all bits
// what the functions make of the samples; a function of Sum is not, because the library adds in another order.
type Summary struct {
	Start, End    int64 // milliseconds: samples after Start, and not after End
	Count         int64 // at least 1
	Min, Max, Sum float64
}

// Join adds the summary of a later interval.
func (s *Summary) Join(next *Summary) {
	if s.Count == 0 {
		*s = *next
		return
	}
	if next.Min < s.Min || math.IsNaN(s.Min) {
		s.Min = next.Min
	}
	if next.Max > s.Max || math.IsNaN(s.Max) {
		s.Max = next.Max
	}
	s.Sum += next.Sum
	s.Count += next.Count
	s.End = next.End
}
