package resultcache

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/turns"
)

// A Format writes points as they are sent: the text of a time, followed by that of a value.
type Format struct {
	Time  func(dst []byte, ms int64) []byte
	Value func(dst []byte, v float64) []byte
}

// An Answer is the points of series at the steps of a grid, as they are sent: most of the time of a
// wide answer goes into writing its numbers. It is a matrix to the caller of an engine, and does not
// change.
type Answer struct {
	grid   grid
	series []series // by labels
	notes  notes
}

var _ parser.Value = (*Answer)(nil)

// Type implements parser.Value.
func (*Answer) Type() parser.ValueType { return parser.ValueTypeMatrix }

// String implements parser.Value.
func (a *Answer) String() string {
	var b []byte
	for i := range a.series {
		b = append(append(append(b, a.series[i].labels.String()...), ' '), a.series[i].text...)
	}
	return string(b)
}

// MarshalJSON refuses to marshal the answer: its points have a text, which only their sender knows.
func (*Answer) MarshalJSON() ([]byte, error) {
	return nil, &json.UnsupportedValueError{Str: "an answer that is kept"}
}

// Len returns the number of series.
func (a *Answer) Len() int { return len(a.series) }

// Series returns the labels of a series, and the text of its points.
func (a *Answer) Series(i int) (labels.Labels, []byte) { return a.series[i].labels, a.series[i].text }

// A series is the texts of the points at consecutive steps. The first and the last step have one.
type series struct {
	labels labels.Labels
	from   int // number of the first step
	text   []byte
	// ends[i] is where the text of step from+i ends, counted from where text begins at begin. A step
	// without a point has no text.
	ends  []uint32
	begin uint32
}

// usualText is about how long the text of a point is, in bytes.
const usualText = 32

// newAnswer writes a result. It returns nil for one that cannot be kept: an error, histograms, and
// what would take more than so many bytes.
func newAnswer(g grid, r *promql.Result, n notes, f Format, most int64) *Answer {
	m, ok := r.Value.(promql.Matrix)
	if r.Err != nil || !ok {
		return nil
	}
	points := 0
	for i := range m {
		if len(m[i].Histograms) > 0 {
			return nil
		}
		points += len(m[i].Floats)
	}
	if int64(points)*usualText > most {
		return nil
	}
	a := &Answer{grid: g, series: make([]series, len(m)), notes: n}
	times := newTimes(g, f)
	turns.Split(len(m), turns.Shares(points, pointsPerCore), func(_, from, to int) {
		var text []byte
		for i := from; i < to; i++ {
			text = a.series[i].write(text[:0], g, &m[i], times, f)
		}
	})
	a.series = slices.DeleteFunc(a.series, func(s series) bool { return len(s.ends) == 0 })
	return a
}

// pointsPerCore is how many points are worth a core of their own.
const pointsPerCore = 8 << 10

// times are the texts of the steps of a grid.
type times struct {
	text []byte
	ends []int
}

func newTimes(g grid, f Format) times {
	t := times{ends: make([]int, 0, g.steps()+1)}
	t.ends = append(t.ends, 0)
	for i := range g.steps() {
		t.text = f.Time(t.text, g.time(i))
		t.ends = append(t.ends, len(t.text))
	}
	return t
}

func (t *times) of(step int) []byte { return t.text[t.ends[step]:t.ends[step+1]] }

// write writes the points of a series. text is memory to write to, and is returned for the next one.
func (s *series) write(text []byte, g grid, from *promql.Series, t times, f Format) []byte {
	if len(from.Floats) == 0 {
		return text
	}
	s.labels, s.from = from.Metric, g.index(from.Floats[0].T)
	s.ends = make([]uint32, g.index(from.Floats[len(from.Floats)-1].T)-s.from+1)
	next, valueBegin, valueEnd := 0, 0, 0
	for i, p := range from.Floats {
		step := g.index(p.T)
		for ; s.from+next < step; next++ {
			s.ends[next] = uint32(len(text))
		}
		text = append(text, t.of(step)...)
		if i > 0 && math.Float64bits(p.F) == math.Float64bits(from.Floats[i-1].F) {
			text = append(text, text[valueBegin:valueEnd]...)
		} else {
			valueBegin = len(text)
			text = f.Value(text, p.F)
			valueEnd = len(text)
		}
		s.ends[next] = uint32(len(text))
		next++
	}
	s.text = slices.Clone(text)
	return text
}

// between returns the part of an answer at the steps of a grid that lies within the answer's.
func (a *Answer) between(g grid) *Answer {
	part := &Answer{grid: g, series: make([]series, 0, len(a.series)), notes: a.notes.between(g)}
	skip, steps := a.grid.index(g.first), g.steps()
	for _, s := range a.series {
		if s, ok := s.between(skip, skip+steps); ok {
			part.series = append(part.series, s)
		}
	}
	return part
}

// between returns the part of a series from a step to before another one, and false if it has no
// point there.
func (s series) between(from, to int) (series, bool) {
	for len(s.ends) > 0 && (s.from+len(s.ends) > to || s.size(len(s.ends)-1) == 0) {
		s.ends = s.ends[:len(s.ends)-1]
	}
	if len(s.ends) > 0 {
		s.text = s.text[:s.ends[len(s.ends)-1]-s.begin]
	}
	for len(s.ends) > 0 && (s.from < from || s.size(0) == 0) {
		s.text = s.text[s.size(0):]
		s.from, s.begin, s.ends = s.from+1, s.ends[0], s.ends[1:]
	}
	s.from -= from
	return s, len(s.ends) > 0
}

// size returns the length of the text of a step.
func (s *series) size(step int) int {
	if step == 0 {
		return int(s.ends[0] - s.begin)
	}
	return int(s.ends[step] - s.ends[step-1])
}

// join returns an answer followed by another one, whose grid continues its grid. n are the notes of
// both.
func (a *Answer) join(next *Answer, n notes) *Answer {
	whole := &Answer{
		grid: grid{a.grid.first, next.grid.last, a.grid.step}, notes: n,
		series: make([]series, 0, max(len(a.series), len(next.series))),
	}
	steps := a.grid.steps()
	for i, k := 0, 0; i < len(a.series) || k < len(next.series); {
		order := compare(a.series[i:], next.series[k:])
		var s series
		switch {
		case order < 0:
			s = a.series[i].join(series{}, steps)
		case order > 0:
			s = next.series[k]
			s.from += steps
		default:
			s = a.series[i].join(next.series[k], steps)
		}
		if order <= 0 {
			i++
		}
		if order >= 0 {
			k++
		}
		whole.series = append(whole.series, s)
	}
	return whole
}

// compare tells which of two lists has the first series.
func compare(a, b []series) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	default:
		return labels.Compare(a[0].labels, b[0].labels)
	}
}

// join returns a series followed by the same one of another answer, whose first step has the number
// steps, in memory of their own.
func (s series) join(next series, steps int) series {
	whole := series{labels: s.labels, from: s.from, text: slices.Concat(s.text, next.text)}
	whole.ends = make([]uint32, 0, max(len(s.ends), steps-s.from+next.from+len(next.ends)))
	for _, end := range s.ends {
		whole.ends = append(whole.ends, end-s.begin)
	}
	if len(next.ends) == 0 {
		return whole
	}
	for len(whole.ends) < steps-s.from+next.from {
		whole.ends = append(whole.ends, uint32(len(s.text)))
	}
	for _, end := range next.ends {
		whole.ends = append(whole.ends, uint32(len(s.text))+end-next.begin)
	}
	return whole
}

const (
	answerBytes = 512 // of an answer without series
	seriesBytes = 128 // of a series without labels and points
)

// bytes estimates the memory of an answer.
func (a *Answer) bytes() int64 {
	n := int64(answerBytes) + a.notes.bytes()
	for i := range a.series {
		s := &a.series[i]
		n += seriesBytes + int64(s.labels.ByteSize()) + int64(cap(s.text)) + 4*int64(cap(s.ends))
	}
	return n
}
