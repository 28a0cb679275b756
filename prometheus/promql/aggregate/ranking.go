package aggregate

import (
	"errors"
	"fmt"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// A Ranking is an aggregation that keeps some series of a group at each step: topk, bottomk, limitk
// or limit_ratio.
type Ranking struct {
	Input    operator.Input
	Grid     block.Grid
	Op       parser.ItemType
	Argument *operator.Node
	Position posrange.PositionRange // of the argument
	Whole    posrange.PositionRange // of the aggregation
	*Grouping

	annotation.Notes
	parameter operator.Parameter
	keepsSome bool  // at some step
	refused   error // in the library's words
	groups    []heaps
	ranked    []rankedSeries
	held      int
	kept      map[stepOf]*histogram.FloatHistogram
}

// stepOf is a step of a series.
type stepOf struct {
	series int32
	step   int
}

// heaps are what a group keeps at each step.
type heaps []floats.Heap

// rankedSeries is a series of which a value was kept.
type rankedSeries struct {
	labels   labels.Labels
	dropName bool
	named    bool
	row      int // in the answer, -1: none yet
}

// entryBytes is the size of an entry.
const entryBytes = 16

// Begin implements sink.
func (r *Ranking) Begin(e *operator.Evaluation) (err error) {
	if r.parameter, err = e.Parameter(r.Argument); err == nil {
		r.keepsSome, r.refused = r.check(r.parameter)
	}
	return err
}

// check reports false if nothing is kept at any step. Its error is in the library's words.
func (r *Ranking) check(p operator.Parameter) (bool, error) {
	if r.Op == parser.LIMIT_RATIO {
		if p.Most == 0 && p.Least == 0 {
			return false, nil
		}
		if p.AnyNaN {
			return false, errors.New("Ratio value is NaN") //nolint:staticcheck // as in the library
		}
		if p.Most > 1 {
			r.Warn(annotations.NewInvalidRatioWarning(p.Most, 1, r.Position))
		}
		if p.Least < -1 {
			r.Warn(annotations.NewInvalidRatioWarning(p.Least, -1, r.Position))
		}
		return true, nil
	}
	if p.Most < 1 {
		return false, nil
	}
	switch {
	case p.AnyNaN:
		return false, errors.New("Parameter value is NaN") //nolint:staticcheck // as in the library
	case p.Least <= math.MinInt64:
		return false, fmt.Errorf("Scalar value %v underflows int64", p.Least) //nolint:staticcheck // as in the library
	case p.Most >= math.MaxInt64:
		return false, fmt.Errorf("Scalar value %v overflows int64", p.Most) //nolint:staticcheck // as in the library
	}
	return true, nil
}

// Add implements sink.
func (r *Ranking) Add(e *operator.Evaluation, s *block.Series, named bool) error {
	if !r.keepsSome {
		return nil
	}
	number, isNew := r.of(s.Labels, named)
	if isNew {
		r.groups = append(r.groups, make(heaps, r.Grid.Steps))
		if err := e.Account.Take(int64(r.Grid.Steps) * 24); err != nil {
			return err
		}
	}
	group, index, grown := r.groups[number], int32(len(r.ranked)), 0
	kept := false
	var offset float64
	if r.Op == parser.LIMIT_RATIO {
		ls := s.Labels
		if named {
			ls = ls.DropReserved(operator.IsMetadata)
		}
		offset = promql.NewHashRatioSampler().SampleOffset(&ls)
	}
	for i, v := range s.Values {
		h := s.Hist(s.From + i)
		if h == nil && block.IsAbsent(v) {
			continue
		}
		step := s.From + i
		if h != nil {
			if r.Op == parser.TOPK || r.Op == parser.BOTTOMK {
				if int64(r.parameter.Steps[step]) < 1 {
					continue
				}
				r.Warn(annotations.NewHistogramIgnoredInAggregationInfo(parser.ItemTypeStr[r.Op], r.Whole))
				continue
			}
			v = 0 // as in the library
		}
		values := &group[step]
		before := len(*values)
		if r.offer(values, r.parameter.Steps[step], offset, floats.Entry{Value: v, Series: index}) {
			kept = true
			grown += len(*values) - before
			if h != nil {
				r.keep(stepOf{index, step}, h)
			}
		}
	}
	if kept {
		r.ranked = append(r.ranked, rankedSeries{s.Labels, s.DropName, named, -1})
	}
	if grown == 0 {
		return nil
	}
	r.held += grown
	if err := e.Hold(grown); err != nil {
		return err
	}
	return e.Account.Take(int64(grown) * entryBytes)
}

// keep remembers a histogram.
func (r *Ranking) keep(at stepOf, h *histogram.FloatHistogram) {
	if r.kept == nil {
		r.kept = map[stepOf]*histogram.FloatHistogram{}
	}
	r.kept[at] = h
}

// offer reports whether a value is kept for now.
func (r *Ranking) offer(h *floats.Heap, parameter, offset float64, v floats.Entry) bool {
	if r.Op == parser.LIMIT_RATIO {
		ratio := max(-1, min(1, parameter))
		if ratio == 0 || !promql.NewHashRatioSampler().AddRatioSampleWithOffset(ratio, offset) {
			return false
		}
		h.Push(v, floats.Ascending)
		return true
	}
	k := int(parameter)
	switch {
	case k < 1:
		return false
	case len(*h) < k:
		h.Push(v, r.less())
		return true
	case r.Op == parser.LIMITK:
		return false
	}
	worst := (*h)[0].Value
	if !r.less()(worst, v.Value) || math.IsNaN(worst) && math.IsNaN(v.Value) {
		return false
	}
	(*h)[0] = v
	h.Down(0, r.less())
	return true
}

// less returns the order of the heaps: what goes first goes out first.
func (r *Ranking) less() func(a, b float64) bool {
	if r.Op == parser.BOTTOMK {
		return floats.Descending
	}
	return floats.Ascending
}

// Inputs implements operator.Operator.
func (r *Ranking) Inputs() []*operator.Node { return []*operator.Node{r.Input.Node, r.Argument} }

// Eval ranks all series, and returns those that are kept at any step.
func (r *Ranking) Eval(e *operator.Evaluation) (*block.Block, error) {
	b := e.NewBlock(r.Grid)
	if err := r.Input.Feed(e, r); err != nil {
		return b, err
	}
	if r.refused != nil {
		return b, r.refused
	}
	if err := e.Ended(); err != nil {
		return b, err
	}
	for _, group := range r.groups {
		for step := range group {
			for _, kept := range r.sorted(group[step]) {
				if err := r.put(b, step, kept); err != nil {
					return b, err
				}
			}
		}
	}
	for i := range b.Series {
		b.Series[i].Trim()
	}
	e.Unhold(r.held)
	e.Account.Give(int64(r.held) * entryBytes)
	e.Account.Give(int64(len(r.groups)*r.Grid.Steps) * 24)
	r.groups, r.ranked = nil, nil
	return b, e.Seal(b)
}

// sorted returns what is kept at a step in the order that the library answers.
func (r *Ranking) sorted(h floats.Heap) floats.Heap {
	if len(h) > 1 && (r.Op == parser.TOPK || r.Op == parser.BOTTOMK) {
		h.SortReverse(r.less())
	}
	return h
}

// put sets the value of a series that is kept at a step.
func (r *Ranking) put(b *block.Block, step int, kept floats.Entry) error {
	s := &r.ranked[kept.Series]
	if s.row < 0 {
		values, err := b.Memory.Take(r.Grid.Steps)
		if err != nil {
			return err
		}
		block.Fill(values, block.Absent)
		ls := s.labels
		if s.named {
			ls = ls.DropReserved(operator.IsMetadata)
		}
		s.row = len(b.Series)
		b.Series = append(b.Series, block.Series{Labels: ls, DropName: s.dropName, Values: values})
	}
	to := &b.Series[s.row]
	if h := r.kept[stepOf{kept.Series, step}]; h != nil {
		if to.Hists == nil {
			to.Hists = make([]*histogram.FloatHistogram, len(to.Values))
		}
		to.Hists[step] = h
		return nil
	}
	to.Values[step] = kept.Value
	return nil
}
