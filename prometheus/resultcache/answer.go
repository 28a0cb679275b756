package resultcache

import (
	"errors"
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/budget"
)

// An answer is the values of series at the steps of a grid. It does not change.
type answer struct {
	grid     grid
	series   []series // by labels
	warnings annotations.Annotations
}

// A series has values at consecutive steps; the first and the last are not absent.
type series struct {
	labels   labels.Labels
	from     int // number of the first step
	values   []float64
	dropName bool
}

// absent is the value of a step without one. No evaluation results in it.
//
//nolint:gochecknoglobals // a constant.
var absent = math.Float64frombits(value.StaleNaN)

// isAbsent reports whether a step has no value.
func isAbsent(v float64) bool { return math.Float64bits(v) == value.StaleNaN }

// newAnswer copies a result. It returns nil for one that cannot be kept: an error, histograms, and
// warnings that depend on more than a name.
func newAnswer(g grid, r *promql.Result) *answer {
	m, ok := r.Value.(promql.Matrix)
	if r.Err != nil || !ok {
		return nil
	}
	for _, w := range r.Warnings {
		if !errors.Is(w, annotations.PossibleNonCounterInfo) {
			return nil
		}
	}
	a := &answer{grid: g, series: make([]series, 0, len(m)), warnings: r.Warnings}
	for _, s := range m {
		if len(s.Histograms) > 0 {
			return nil
		}
		if len(s.Floats) == 0 {
			continue
		}
		from, to := g.index(s.Floats[0].T), g.index(s.Floats[len(s.Floats)-1].T)
		values := make([]float64, to-from+1)
		if len(values) > len(s.Floats) {
			fill(values)
		}
		for _, p := range s.Floats {
			values[g.index(p.T)-from] = p.F
		}
		a.series = append(a.series, series{s.Metric, from, values, s.DropName})
	}
	return a
}

func fill(values []float64) {
	for i := range values {
		values[i] = absent
	}
}

// between returns the part of an answer at the steps of a grid that lies within the answer's.
func (a *answer) between(g grid) *answer {
	part := &answer{grid: g, series: make([]series, 0, len(a.series))}
	skip, steps := a.grid.index(g.first), g.steps()
	for _, s := range a.series {
		if s, ok := s.between(skip, skip+steps); ok {
			part.series = append(part.series, s)
		}
	}
	return part
}

// between returns the part of a series from a step to before another one, and false if it has no
// value there.
func (s series) between(from, to int) (series, bool) {
	if end := s.from + len(s.values); end > to {
		s.values = s.values[:max(0, to-s.from)]
	}
	if s.from < from {
		s.values = s.values[min(len(s.values), from-s.from):]
		s.from = from
	}
	for len(s.values) > 0 && isAbsent(s.values[0]) {
		s.from, s.values = s.from+1, s.values[1:]
	}
	for len(s.values) > 0 && isAbsent(s.values[len(s.values)-1]) {
		s.values = s.values[:len(s.values)-1]
	}
	s.from -= from
	return s, len(s.values) > 0
}

// join returns an answer followed by another one, whose grid continues its grid.
func (a *answer) join(next *answer) *answer {
	whole := &answer{
		grid: grid{a.grid.first, next.grid.last, a.grid.step}, warnings: next.warnings,
		series: make([]series, 0, max(len(a.series), len(next.series))),
	}
	steps := a.grid.steps()
	for i, k := 0, 0; i < len(a.series) || k < len(next.series); {
		order := compare(a.series[i:], next.series[k:])
		var s series
		switch {
		case order < 0:
			s = a.series[i]
			s.values = slices.Clone(s.values) // those of a longer answer must not stay in memory
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

// join returns a series followed by another one, whose first step has the number steps.
func (s series) join(next series, steps int) series {
	gap := steps + next.from - s.from - len(s.values)
	values := make([]float64, len(s.values)+gap+len(next.values))
	copy(values, s.values)
	fill(values[len(s.values) : len(s.values)+gap])
	copy(values[len(s.values)+gap:], next.values)
	s.values = values
	return s
}

// pointBytes is the size of a promql.FPoint.
const pointBytes = 16

// matrix returns the answer in the engine's form.
func (a *answer) matrix(account *budget.Account) (promql.Matrix, error) {
	total := 0
	for i := range a.series {
		for _, v := range a.series[i].values {
			if !isAbsent(v) {
				total++
			}
		}
	}
	if err := account.Take(int64(total) * pointBytes); err != nil {
		return nil, err
	}
	points := make([]promql.FPoint, 0, total)
	m := make(promql.Matrix, len(a.series))
	for i := range a.series {
		s, begin := &a.series[i], len(points)
		for k, v := range s.values {
			if !isAbsent(v) {
				points = append(points, promql.FPoint{T: a.grid.time(s.from + k), F: v})
			}
		}
		m[i] = promql.Series{Metric: s.labels, Floats: points[begin:len(points):len(points)], DropName: s.dropName}
	}
	return m, nil
}

const (
	answerBytes = 512 // of an entry without series
	seriesBytes = 64  // of a series without labels and values
)

// bytes estimates the memory of an answer.
func (a *answer) bytes() int64 {
	n := int64(answerBytes)
	for i := range a.series {
		n += seriesBytes + int64(a.series[i].labels.ByteSize()) + 8*int64(cap(a.series[i].values))
	}
	return n
}
