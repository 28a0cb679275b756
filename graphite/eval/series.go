// Package eval computes Graphite targets: a syntax tree and fetched series in, series out. It
// answers as graphite-web 1.1.10 does, names, tags, nulls and times included, and keeps its
// oddities on purpose; README.md lists functions and oddities. It fetches nothing itself (see
// Source), knows no store and no HTTP, and never changes the values of a series it was given.
package eval

import (
	"iter"
	"maps"
	"math"
)

// None returns the value of a slot without a point, made by math.NaN(). Sums of infinities give
// other NaNs, which graphite-web counts as points; IsNone tells them apart. Both are null in JSON.
func None() float64 { return math.NaN() }

// IsNone reports whether a slot has no point.
func IsNone(v float64) bool { return math.Float64bits(v) == math.Float64bits(math.NaN()) }

// Series is a regular grid of values: slot i is at Start + i*Step seconds.
type Series struct {
	Name string
	// Unnamed is set for a vertical line without a label, whose name is null in JSON.
	Unnamed bool
	// PathExpression is the path that the series was fetched by, or the call that made it.
	PathExpression string
	Tags           map[string]string
	// Start, End (exclusive) and Step are epoch seconds. After some functions they disagree with
	// the number of values; see Points.
	Start, End, Step int64
	// Values may be shared with other series: they are replaced, never changed in place.
	Values []float64
	// ConsolidationFunc is how points are joined to maxDataPoints: average unless set.
	ConsolidationFunc string
	// XFilesFactor is the part of a bucket's slots that must have points for the bucket to have a
	// value.
	XFilesFactor float64
	// Options are for drawing: stacked, invisible, secondYAxis, drawAsInfinite, alpha, lineWidth,
	// dashed, color.
	Options map[string]any

	// The first of Values as the source gave them, whose memory is not the series'.
	read    *float64
	held    int64 // Bytes that are charged for the series.
	settled int   // The last call whose result had the series.

	perPoint int  // Slots joined to one when iterated: graphite-web's valuesPerPoint. 0 means 1.
	ints     bool // Values are Python ints, which shows where a function puts one into a name.
}

// Points yields time (epoch seconds) and value of each point, as graphite-web's JSON shows them: no
// more than there are values, none after End.
func (s *Series) Points() iter.Seq2[int64, float64] {
	return func(yield func(int64, float64) bool) {
		at, step := s.Start, s.Step*int64(s.width())
		for _, v := range s.Values {
			if at > s.End || step < 0 || !yield(at, v) || step == 0 {
				return
			}
			at += step
		}
	}
}

// width returns the number of slots in a value.
func (s *Series) width() int { return max(s.perPoint, 1) }

// fetched makes a series of its own for one mention of a path in a target.
func (s *Series) fetched(path string, xff float64) *Series {
	c := *s
	c.PathExpression, c.XFilesFactor, c.perPoint, c.ints = path, xff, 0, false
	c.ConsolidationFunc, c.Options = "average", nil
	c.read, c.held, c.settled = nil, seriesBytes, 0
	if len(c.Values) > 0 {
		c.read = &c.Values[0]
	}
	if c.Tags = maps.Clone(s.Tags); c.Tags == nil {
		c.Tags = tagsOf(s.Name)
	}
	return &c
}

// derive is graphite-web's TimeSeries.copy: a series with a new name and new values on the same
// grid. The tags are shared, so that a tag set on either shows on both.
func (s *Series) derive(name string, values []float64) *Series {
	return &Series{
		Name: name, PathExpression: name, Tags: s.Tags, Start: s.Start, End: s.End, Step: s.Step, Values: values,
		ConsolidationFunc: s.ConsolidationFunc, XFilesFactor: s.XFilesFactor,
	}
}

// rename gives a series a new name, and not a new path expression: functions differ in that.
func (s *Series) rename(name string) { s.Name, s.Unnamed = name, false }

// wrap gives it a new name that is also its path expression.
func (s *Series) wrap(name string) {
	s.rename(name)
	s.PathExpression = name
}

func (s *Series) setOption(key string, value any) {
	if s.Options == nil {
		s.Options = map[string]any{}
	}
	s.Options[key] = value
}
