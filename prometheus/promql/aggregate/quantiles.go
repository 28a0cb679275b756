package aggregate

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Quantiles is the aggregation quantile. It needs all values of a step at once.
type Quantiles struct {
	Input    *operator.Node
	Grid     block.Grid
	Argument *operator.Node
	Position posrange.PositionRange // of the argument
	Vector   posrange.PositionRange // of the input
	*Grouping

	annotation.Notes
}

// Inputs implements operator.Operator.
func (q *Quantiles) Inputs() []*operator.Node { return []*operator.Node{q.Input, q.Argument} }

// Eval implements operator.Operator.
func (q *Quantiles) Eval(e *operator.Evaluation) (*block.Block, error) {
	p, err := e.Parameter(q.Argument)
	if err != nil {
		return nil, err
	}
	in, err := q.Input.Block(e)
	if err != nil {
		return nil, err
	}
	defer e.Release(in)
	q.check(p)
	for i := range in.Series {
		// Operators that may give histograms have a place for them in all their series.
		if slices.ContainsFunc(in.Series[i].Hists, func(h *histogram.FloatHistogram) bool { return h != nil }) {
			q.Warn(annotations.NewHistogramIgnoredInAggregationInfo("quantile", q.Vector))
		}
	}
	members := q.members(in)
	b := e.NewBlock(q.Grid)
	for _, m := range members {
		if err := q.group(e, b, m, p); err != nil {
			return b, err
		}
	}
	return b, e.Seal(b)
}

// check warns about quantiles outside of 0 to 1.
func (q *Quantiles) check(p operator.Parameter) {
	warn := func(wrong bool, v float64) {
		if wrong {
			q.Warn(annotations.NewInvalidQuantileWarning(v, q.Position))
		}
	}
	warn(p.AnyNaN, math.NaN())
	warn(p.Most > 1, p.Most)
	warn(p.Least < 0, p.Least)
}

// members returns the series of each group.
func (q *Quantiles) members(in *block.Block) [][]*block.Series {
	var members [][]*block.Series
	for i := range in.Series {
		s := &in.Series[i]
		number, isNew := q.of(s.Labels, false)
		if isNew {
			members = append(members, nil)
		}
		members[number] = append(members[number], s)
	}
	return members
}

// stepsAtOnce is how many steps of a group are gathered together, so that the values of a series
// are read in a row.
const stepsAtOnce = 32

func (q *Quantiles) group(e *operator.Evaluation, b *block.Block, members []*block.Series, p operator.Parameter) error {
	values, err := b.Memory.Take(q.Grid.Steps)
	if err != nil {
		return err
	}
	if err := e.Account.Take(int64(len(members)) * stepsAtOnce * 8 * 2); err != nil {
		return err
	}
	defer e.Account.Give(int64(len(members)) * stepsAtOnce * 8 * 2)
	chunks := (q.Grid.Steps + stepsAtOnce - 1) / stepsAtOnce
	err = e.InParallel(b, chunks, len(members)*q.Grid.Steps, func(l *operator.Lane, k int) error {
		from := k * stepsAtOnce
		to := min(from+stepsAtOnce, q.Grid.Steps)
		l.Columns = gather(l.Columns, members, from, to)
		for step := from; step < to; step++ {
			values[step] = block.Absent
			if column := l.Columns[step-from]; len(column) > 0 {
				values[step] = floats.Quantile(p.Steps[step], column)
			}
		}
		return nil
	})
	dropName := false
	for _, m := range members {
		dropName = dropName || m.DropName
	}
	s := block.Series{Labels: q.labelsOf(members[0].Labels, false), DropName: dropName, Values: values}
	s.Trim()
	b.Series = append(b.Series, s)
	return err
}

// gather appends the values of some steps to one column for each step.
func gather(columns [][]float64, members []*block.Series, from, to int) [][]float64 {
	for len(columns) < to-from {
		columns = append(columns, nil)
	}
	for i := range columns {
		columns[i] = columns[i][:0]
	}
	for _, m := range members {
		for step := max(from, m.From); step < min(to, m.To()); step++ {
			if v := m.Values[step-m.From]; !block.IsAbsent(v) {
				columns[step-from] = append(columns[step-from], v)
			}
		}
	}
	return columns
}
