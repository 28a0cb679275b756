package rangefn

import (
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/columns"
)

// SummaryFunction returns what a function makes of a summary, nil if it needs the samples. Sums may be used if
// inexact ones will do.
func SummaryFunction(name string, sums bool) func(*columns.Summary) float64 {
	switch name {
	case "count_over_time":
		return func(s *columns.Summary) float64 { return float64(s.Count) }
	case "present_over_time":
		return func(*columns.Summary) float64 { return 1 }
	case "min_over_time":
		return func(s *columns.Summary) float64 { return s.Min }
	case "max_over_time":
		return func(s *columns.Summary) float64 { return s.Max }
	}
	if !sums {
		return nil
	}
	switch name {
	case "sum_over_time":
		return func(s *columns.Summary) float64 { return s.Sum }
	case "avg_over_time":
		return func(s *columns.Summary) float64 { return s.Sum / float64(s.Count) }
	}
	return nil
}

// summaries joins the summaries in the range of each step, none of which is partly in it.
func (e *Evaluator) summaries(list []columns.Summary, out []float64) (found int) {
	first, next := 0, 0 // in the range
	for step := range out {
		start, end := e.Window(step)
		seen := next
		for next < len(list) && list[next].End <= end {
			next++
		}
		for first < next && list[first].Start < start {
			first++
		}
		if out[step] = block.Absent; first == next {
			continue
		}
		var all columns.Summary
		fresh := 0
		for i := first; i < next; i++ {
			all.Join(&list[i])
			if i >= seen {
				fresh += int(list[i].Count)
			}
		}
		e.visit(int(all.Count), fresh)
		out[step] = e.Summary(&all)
		found++
		if e.stopped() {
			return found // the result is not used
		}
	}
	return found
}
