package rangeql

import "math"

// A Summary is what some functions need of the samples of one series in an interval, which are floats and no
// stale markers. Min and Max are NaN only if all of them are, and the first one of 0 and -0. They are in all bits
// what the functions make of the samples; a function of Sum is not, because the library adds in another order.
type Summary struct {
	Start, End    int64 // milliseconds: samples after Start, and not after End
	Count         int64 // at least 1
	Min, Max, Sum float64
}

// join adds the summary of a later interval.
func (s *Summary) join(next *Summary) {
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

// summaryFunction returns what a function makes of a summary, nil if it needs the samples. Sums may be used if
// inexact ones will do.
func summaryFunction(name string, sums bool) func(*Summary) float64 {
	switch name {
	case "count_over_time":
		return func(s *Summary) float64 { return float64(s.Count) }
	case "present_over_time":
		return func(*Summary) float64 { return 1 }
	case "min_over_time":
		return func(s *Summary) float64 { return s.Min }
	case "max_over_time":
		return func(s *Summary) float64 { return s.Max }
	}
	if !sums {
		return nil
	}
	switch name {
	case "sum_over_time":
		return func(s *Summary) float64 { return s.Sum }
	case "avg_over_time":
		return func(s *Summary) float64 { return s.Sum / float64(s.Count) }
	}
	return nil
}

// every returns whether summaries are all that the leaves need, and what the begins and ends of their ranges are
// multiples of, in milliseconds; 0 if there is one range.
func (r *read) every() (every int64, ok bool) {
	one := true
	for _, l := range r.leaves {
		if l.summary == nil || l.earlier > 0 || l.later > 0 {
			return 0, false
		}
		start, end := l.window(0)
		every = divisor(divisor(every, start), end)
		if l.grid.steps > 1 && !l.fixed {
			every = divisor(every, l.grid.interval)
			one = false
		}
		one = one && start+1 == r.selector.Start && end == r.selector.End
	}
	if one {
		return 0, true
	}
	return every, true
}

// divisor returns the greatest common divisor of two numbers.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return max(a, -a)
}

// summaries joins the summaries in the range of each step, none of which is partly in it.
func (e *evaluator) summaries(list []Summary, out []float64) (found int) {
	first, next := 0, 0 // in the range
	for step := range out {
		start, end := e.window(step)
		seen := next
		for next < len(list) && list[next].End <= end {
			next++
		}
		for first < next && list[first].Start < start {
			first++
		}
		if out[step] = absent; first == next {
			continue
		}
		var all Summary
		fresh := 0
		for i := first; i < next; i++ {
			all.join(&list[i])
			if i >= seen {
				fresh += int(list[i].Count)
			}
		}
		e.sees(int(all.Count), fresh)
		out[step] = e.summary(&all)
		found++
		if e.visited > visitsPerLook {
			if e.visited = 0; e.ended() {
				return found // the result is not used
			}
		}
	}
	return found
}
