package rangeql

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/annotations"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// quantiles is the aggregation quantile. It needs all values of a step at once.
type quantiles struct {
	input    *node
	grid     block.Grid
	argument *node
	position posrange.PositionRange // of the argument
	vector   posrange.PositionRange // of the input
	*grouping

	notes annotation.Notes
}

func (q *quantiles) noted() []*annotation.Notes { return []*annotation.Notes{&q.notes} }

func (q *quantiles) inputs() []*node { return []*node{q.input, q.argument} }

func (*quantiles) name() string { return "quantile" }

func (q *quantiles) eval(e *evaluation) (*block.Block, error) {
	p, err := e.parameter(q.argument)
	if err != nil {
		return nil, err
	}
	in, err := q.input.block(e)
	if err != nil {
		return nil, err
	}
	defer e.release(in)
	q.check(p)
	for i := range in.Series {
		// Operators that may give histograms have a place for them in all their series.
		if slices.ContainsFunc(in.Series[i].Hists, func(h *histogram.FloatHistogram) bool { return h != nil }) {
			q.notes.Warn(annotations.NewHistogramIgnoredInAggregationInfo("quantile", q.vector))
		}
	}
	members := q.members(in)
	b := e.newBlock(q.grid)
	for _, m := range members {
		if err := q.group(e, b, m, p); err != nil {
			return b, err
		}
	}
	return b, e.seal(b)
}

// check warns about quantiles outside of 0 to 1.
func (q *quantiles) check(p parameter) {
	warn := func(wrong bool, v float64) {
		if wrong {
			q.notes.Warn(annotations.NewInvalidQuantileWarning(v, q.position))
		}
	}
	warn(p.anyNaN, math.NaN())
	warn(p.most > 1, p.most)
	warn(p.least < 0, p.least)
}

// members returns the series of each group.
func (q *quantiles) members(in *block.Block) [][]*block.Series {
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

func (q *quantiles) group(e *evaluation, b *block.Block, members []*block.Series, p parameter) error {
	values, err := b.Memory.Take(q.grid.Steps)
	if err != nil {
		return err
	}
	if err := e.account.Take(int64(len(members)) * stepsAtOnce * 8 * 2); err != nil {
		return err
	}
	defer e.account.Give(int64(len(members)) * stepsAtOnce * 8 * 2)
	chunks := (q.grid.Steps + stepsAtOnce - 1) / stepsAtOnce
	err = e.inParallel(b, chunks, len(members)*q.grid.Steps, func(l *lane, k int) error {
		from := k * stepsAtOnce
		to := min(from+stepsAtOnce, q.grid.Steps)
		l.columns = gather(l.columns, members, from, to)
		for step := from; step < to; step++ {
			values[step] = block.Absent
			if column := l.columns[step-from]; len(column) > 0 {
				values[step] = floats.Quantile(p.steps[step], column)
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
