package rangeql

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
)

// A ranking is an aggregation that keeps some series of a group at each step: topk, bottomk, limitk
// or limit_ratio.
type ranking struct {
	input    input
	grid     block.Grid
	op       parser.ItemType
	argument *node
	position posrange.PositionRange // of the argument
	whole    posrange.PositionRange // of the aggregation
	*grouping

	notes     annotation.Notes
	parameter parameter
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

// begin implements sink.
func (r *ranking) begin(e *evaluation) (err error) {
	if r.parameter, err = e.parameter(r.argument); err == nil {
		r.keepsSome, r.refused = r.check(r.parameter)
	}
	return err
}

// check reports false if nothing is kept at any step. Its error is in the library's words.
func (r *ranking) check(p parameter) (bool, error) {
	if r.op == parser.LIMIT_RATIO {
		if p.most == 0 && p.least == 0 {
			return false, nil
		}
		if p.anyNaN {
			return false, errors.New("Ratio value is NaN") //nolint:staticcheck // as in the library
		}
		if p.most > 1 {
			r.notes.Warn(annotations.NewInvalidRatioWarning(p.most, 1, r.position))
		}
		if p.least < -1 {
			r.notes.Warn(annotations.NewInvalidRatioWarning(p.least, -1, r.position))
		}
		return true, nil
	}
	if p.most < 1 {
		return false, nil
	}
	switch {
	case p.anyNaN:
		return false, errors.New("Parameter value is NaN") //nolint:staticcheck // as in the library
	case p.least <= math.MinInt64:
		return false, fmt.Errorf("Scalar value %v underflows int64", p.least) //nolint:staticcheck // as in the library
	case p.most >= math.MaxInt64:
		return false, fmt.Errorf("Scalar value %v overflows int64", p.most) //nolint:staticcheck // as in the library
	}
	return true, nil
}

// add implements sink.
func (r *ranking) add(e *evaluation, s *block.Series, named bool) error {
	if !r.keepsSome {
		return nil
	}
	number, isNew := r.of(s.Labels, named)
	if isNew {
		r.groups = append(r.groups, make(heaps, r.grid.Steps))
		if err := e.account.Take(int64(r.grid.Steps) * 24); err != nil {
			return err
		}
	}
	group, index, grown := r.groups[number], int32(len(r.ranked)), 0
	kept := false
	var offset float64
	if r.op == parser.LIMIT_RATIO {
		ls := s.Labels
		if named {
			ls = ls.DropReserved(isMetadata)
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
			if r.op == parser.TOPK || r.op == parser.BOTTOMK {
				if int64(r.parameter.steps[step]) < 1 {
					continue
				}
				r.notes.Warn(annotations.NewHistogramIgnoredInAggregationInfo(parser.ItemTypeStr[r.op], r.whole))
				continue
			}
			v = 0 // as in the library
		}
		values := &group[step]
		before := len(*values)
		if r.offer(values, r.parameter.steps[step], offset, floats.Entry{Value: v, Series: index}) {
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
	if err := e.hold(grown); err != nil {
		return err
	}
	return e.account.Take(int64(grown) * entryBytes)
}

// keep remembers a histogram.
func (r *ranking) keep(at stepOf, h *histogram.FloatHistogram) {
	if r.kept == nil {
		r.kept = map[stepOf]*histogram.FloatHistogram{}
	}
	r.kept[at] = h
}

// offer reports whether a value is kept for now.
func (r *ranking) offer(h *floats.Heap, parameter, offset float64, v floats.Entry) bool {
	if r.op == parser.LIMIT_RATIO {
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
	case r.op == parser.LIMITK:
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
func (r *ranking) less() func(a, b float64) bool {
	if r.op == parser.BOTTOMK {
		return floats.Descending
	}
	return floats.Ascending
}

func (r *ranking) noted() []*annotation.Notes { return []*annotation.Notes{&r.notes} }

func (r *ranking) inputs() []*node { return []*node{r.input.node, r.argument} }

func (*ranking) name() string { return "ranking" }

// eval ranks all series, and returns those that are kept at any step.
func (r *ranking) eval(e *evaluation) (*block.Block, error) {
	b := e.newBlock(r.grid)
	if err := r.input.feed(e, r); err != nil {
		return b, err
	}
	if r.refused != nil {
		return b, r.refused
	}
	if err := e.ended(); err != nil {
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
	e.let(r.held)
	e.account.Give(int64(r.held) * entryBytes)
	e.account.Give(int64(len(r.groups)*r.grid.Steps) * 24)
	r.groups, r.ranked = nil, nil
	return b, e.seal(b)
}

// sorted returns what is kept at a step in the order that the library answers.
func (r *ranking) sorted(h floats.Heap) floats.Heap {
	if len(h) > 1 && (r.op == parser.TOPK || r.op == parser.BOTTOMK) {
		h.SortReverse(r.less())
	}
	return h
}

// put sets the value of a series that is kept at a step.
func (r *ranking) put(b *block.Block, step int, kept floats.Entry) error {
	s := &r.ranked[kept.Series]
	if s.row < 0 {
		values, err := b.Memory.Take(r.grid.Steps)
		if err != nil {
			return err
		}
		block.Fill(values, block.Absent)
		ls := s.labels
		if s.named {
			ls = ls.DropReserved(isMetadata)
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
