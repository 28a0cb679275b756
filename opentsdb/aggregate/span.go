package aggregate

import (
	"errors"
	"slices"
)

// A Span is points of one series in ascending order of time.
type Span struct {
	Times  []int64   // milliseconds
	Values []float64 // of integers the nearest floats
	// Longs are the integers themselves and IsLong tells which points are integers; both are nil if
	// none is.
	Longs  []int64
	IsLong []bool
}

// Len returns the number of points.
func (s *Span) Len() int { return len(s.Times) }

// Add appends a float.
func (s *Span) Add(time int64, value float64) {
	s.Times, s.Values = append(s.Times, time), append(s.Values, value)
	if s.IsLong != nil {
		s.Longs, s.IsLong = append(s.Longs, 0), append(s.IsLong, false)
	}
}

// AddLong appends an integer.
func (s *Span) AddLong(time, value int64) {
	if s.IsLong == nil {
		s.Longs, s.IsLong = make([]int64, len(s.Times)), make([]bool, len(s.Times))
	}
	s.Times, s.Values = append(s.Times, time), append(s.Values, float64(value))
	s.Longs, s.IsLong = append(s.Longs, value), append(s.IsLong, true)
}

// from returns the points from an index on.
func (s *Span) from(i int) Span {
	out := Span{Times: s.Times[i:], Values: s.Values[i:]}
	if s.IsLong != nil {
		out.Longs, out.IsLong = s.Longs[i:], s.IsLong[i:]
	}
	return out
}

// Within returns the points from one time to another, both included. They share memory with the span.
func (s Span) Within(start, end int64) Span {
	from, _ := slices.BinarySearch(s.Times, start)
	to, found := slices.BinarySearch(s.Times, end)
	if found {
		to++
	}
	to = max(from, to)
	out := Span{Times: s.Times[from:to:to], Values: s.Values[from:to:to]}
	if s.IsLong != nil {
		out.Longs, out.IsLong = s.Longs[from:to:to], s.IsLong[from:to:to]
	}
	return out
}

// isLong reports whether a point is an integer.
func (s *Span) isLong(i int) bool { return s.IsLong != nil && s.IsLong[i] }

// ErrInfinite means that a result is infinite, which a TSD answers with an error.
var ErrInfinite = errors.New("Got Infinity")
