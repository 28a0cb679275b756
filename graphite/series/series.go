// Package series contains the series that Graphite's functions compute with: a regular grid of
// values with a name and tags, aggregates of values, and grids that several series share. It knows
// no function and no target.
package series

import (
	"iter"
	"maps"
)

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
	Ints     bool // Values are Python ints, which shows where a function puts one into a name.
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

// OfPath makes a series of its own for one mention of a path in a target.
func (s *Series) OfPath(path string, xff float64) *Series {
	c := *s
	c.PathExpression, c.XFilesFactor, c.perPoint, c.Ints = path, xff, 0, false
	c.ConsolidationFunc, c.Options = "average", nil
	c.read, c.held, c.settled = nil, Bytes, 0
	if len(c.Values) > 0 {
		c.read = &c.Values[0]
	}
	if c.Tags = maps.Clone(s.Tags); c.Tags == nil {
		c.Tags = TagsOf(s.Name)
	}
	return &c
}

// Derive is graphite-web's TimeSeries.copy: a series with a new name and new values on the same
// grid. The tags are shared, so that a tag set on either shows on both.
func (s *Series) Derive(name string, values []float64) *Series {
	return &Series{
		Name: name, PathExpression: name, Tags: s.Tags, Start: s.Start, End: s.End, Step: s.Step, Values: values,
		ConsolidationFunc: s.ConsolidationFunc, XFilesFactor: s.XFilesFactor,
	}
}

// Rename gives a series a new name, and not a new path expression: functions differ in that.
func (s *Series) Rename(name string) { s.Name, s.Unnamed = name, false }

// Wrap gives it a new name that is also its path expression.
func (s *Series) Wrap(name string) {
	s.Rename(name)
	s.PathExpression = name
}

// SetOption sets one of Options.
func (s *Series) SetOption(key string, value any) {
	if s.Options == nil {
		s.Options = map[string]any{}
	}
	s.Options[key] = value
}

// Bytes is the memory of a series without its values and its name: itself, its tags, its
// place in lists.
const Bytes = 600

// Settle returns how many bytes more a series holds than are charged for it, after a call whose result it is in.
func (s *Series) Settle(call int) int64 {
	held := s.bytes()
	more := held - s.held
	s.held, s.settled = held, call
	return more
}

// Release returns how many bytes are charged for a series that is not in the result of a call.
func (s *Series) Release(call int) int64 {
	if s.settled == call {
		return 0
	}
	held := s.held
	s.held = 0
	return held
}

// bytes returns what a series holds. Values that are the source's are charged there.
func (s *Series) bytes() int64 {
	n := Bytes + int64(len(s.Name))
	if s.PathExpression != s.Name {
		n += int64(len(s.PathExpression))
	}
	if s.OwnsValues() {
		n += 8 * int64(len(s.Values))
	}
	return n
}

// OwnsValues reports whether the series has values that are not the source's.
func (s *Series) OwnsValues() bool { return len(s.Values) > 0 && &s.Values[0] != s.read }
