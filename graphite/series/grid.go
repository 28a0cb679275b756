package series

import (
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/python"
)

// Grid returns the first slot and the end (exclusive) that a window has on a step, as whisper
// aligns it: from itself is excluded, the slot that until is in is included, and an empty window
// gets one slot.
func Grid(from, until, step int64) (start, end int64) {
	start, end = from-python.Modulo(from, step)+step, until-python.Modulo(until, step)+step
	if start == end {
		end += step
	}
	return start, end
}

// consolidators join the values of a bucket, which has at least one.
func consolidator(name string) (func([]float64) float64, bool) {
	switch name {
	case "sum":
		return Sum, true
	case "average", "avg", "avg_zero":
		return func(v []float64) float64 { return Sum(v) / float64(len(v)) }, true
	case "max":
		return Maximum, true
	case "min":
		return Minimum, true
	case "first":
		return func(v []float64) float64 { return v[0] }, true
	case "last":
		return func(v []float64) float64 { return v[len(v)-1] }, true
	}
	return nil, false
}

// Iteration returns the values as graphite-web's iteration over a series gives them: joined when it
// was consolidated.
func (s *Series) Iteration() ([]float64, error) { return s.Joined(s.Values, s.width()) }

// Joined returns values on the slots of the series, width of them joined to one by its consolidation
// function. The last bucket may have fewer.
func (s *Series) Joined(values []float64, width int) ([]float64, error) {
	if width == 1 {
		return values, nil
	}
	join, ok := consolidator(s.ConsolidationFunc)
	if !ok {
		return nil, python.Crash("Invalid consolidation function: '%s'", s.ConsolidationFunc)
	}
	out := make([]float64, 0, len(values)/width+1)
	bucket := make([]float64, 0, min(width, len(values)))
	for slots := range slices.Chunk(values, width) {
		present := 0
		bucket = bucket[:0]
		for _, v := range slots {
			if !python.IsNone(v) {
				bucket = append(bucket, v)
				present++
			} else if s.ConsolidationFunc == "avg_zero" {
				bucket = append(bucket, 0)
			}
		}
		if Enough(present, width, s.XFilesFactor) {
			out = append(out, join(bucket))
		} else {
			out = append(out, python.None())
		}
	}
	return out, nil
}

// Enough is graphite-web's xff: whether so many values of so many slots give a result.
func Enough(present, slots int, xff float64) bool {
	return present > 0 && slots != 0 && float64(present)/float64(slots) >= xff
}

// Normalize brings series of several steps to one: the least common multiple, from the first start
// to the last end. ok is false when there is no series, which makes most functions return none.
func Normalize(list []*Series) (start, end, step int64, ok bool, err error) {
	if len(list) == 0 {
		return 0, 0, 0, false, nil
	}
	start, end, step = list[0].Start, list[0].End, list[0].Step
	for _, s := range list[1:] {
		start, end = min(start, s.Start), max(end, s.End)
		if step, err = multiple(step, s.Step); err != nil {
			return 0, 0, 0, false, err
		}
	}
	if step <= 0 {
		return 0, 0, 0, false, python.Crash("a series has no step")
	}
	for _, s := range list {
		s.perPoint = int(step / s.Step)
	}
	return start, end - python.Modulo(end-start, step), step, true, nil
}

func multiple(a, b int64) (int64, error) {
	if a == b {
		return a, nil
	}
	if a <= 0 || b <= 0 {
		return 0, python.Crash("a series has no step")
	}
	d, r := a, b
	for r != 0 {
		d, r = r, d%r
	}
	if m := a / d; m <= math.MaxInt32/b {
		return m * b, nil
	}
	return 0, python.Crash("the series' steps have no common multiple")
}

// Consolidate joins points so that no series has more than most, as graphite-web's JSON does with
// maxDataPoints: over the time range of all series together, with starts moved so that the buckets
// do not shift from one call to the next.
func Consolidate(list []*Series, most int) error {
	if len(list) == 0 {
		return nil
	}
	if most <= 0 {
		return python.Invalid("maxDataPoints must be positive")
	}
	start, end := list[0].Start, list[0].End
	for _, s := range list {
		start, end = min(start, s.Start), max(end, s.End)
	}
	for _, s := range list {
		if err := s.consolidate(end-start, most); err != nil {
			return err
		}
	}
	return nil
}

func (s *Series) consolidate(timeRange int64, most int) error {
	if most == 1 {
		s.perPoint = max(len(s.Values), 1)
		return s.join()
	}
	if s.Step <= 0 {
		return python.Crash("series %q has no step", s.Name)
	}
	points := float64(timeRange) / float64(s.Step)
	if float64(most) >= points {
		return nil
	}
	width := int64(math.Ceil(points / float64(most)))
	bucket := width * s.Step
	nudge := bucket + python.Modulo(s.Start, s.Step) - python.Modulo(s.Start, bucket)
	s.Start += nudge
	s.Values = s.Values[min(max(int(nudge/s.Step)-1, 0), len(s.Values)):]
	s.perPoint = int(width)
	return s.join()
}

// join replaces the values by the joined ones; Step stays, so that Points counts in whole buckets.
func (s *Series) join() error {
	values, err := s.Iteration()
	s.Values = values
	return err
}
