// Package aggregate has the operators of aggregations: those with a cell for each group and step, rankings,
// quantiles and count_values. They take one series after the other, in the order of the series.
package aggregate

import (
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/annotation"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/block"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
	"github.com/tsdbridge/tsdbridge/prometheus/promql/operator"
)

// Accumulates reports whether an aggregation needs no more of a step than a cell.
func Accumulates(op parser.ItemType) bool {
	switch op {
	case parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.COUNT, parser.GROUP, parser.STDVAR, parser.STDDEV:
		return true
	}
	return false
}

// An Aggregation is an aggregation with a cell for each group and step. Series are added in their
// order, because a sum of floats depends on it.
type Aggregation struct {
	Input operator.Input
	Grid  block.Grid
	Op    parser.ItemType
	// Position is that of the input.
	Position posrange.PositionRange
	*Grouping

	annotation.Notes
	groups []group
	rest   []cell // allocated, not used
	taken  int64  // bytes
}

// group is one series of the answer while it is computed.
type group struct {
	labels   labels.Labels
	dropName bool
	cells    []cell               // of the steps
	means    map[int]*floats.Mean // of the steps whose sum would overflow
	sums     map[int]*histogramSum
}

// cell is the state of a group at a step.
type cell struct {
	value, c float64
	count    float64 // 0: nothing yet
}

// cellBytes is the size of a cell.
const cellBytes = 24

// cellsAtOnce is how many cells are allocated together.
const cellsAtOnce = 4 << 10

// Begin implements sink.
func (a *Aggregation) Begin(*operator.Evaluation) error { return nil }

// Add implements sink.
func (a *Aggregation) Add(e *operator.Evaluation, s *block.Series, named bool) error {
	number, isNew := a.of(s.Labels, named)
	if isNew {
		cells, err := a.cells(e)
		if err != nil {
			return err
		}
		a.groups = append(a.groups, group{labels: a.labelsOf(s.Labels, named), cells: cells})
	}
	g := &a.groups[number]
	g.dropName = g.dropName || s.DropName
	g.add(a.Op, g.cells[s.From:s.To()], s)
	if s.Hists != nil {
		name := s.Labels.Get(model.MetricNameLabel)
		if named {
			name = "" // to the library it is gone
		}
		g.addHistograms(a, s, name)
	}
	return nil
}

// cells returns the cells of a new group.
func (a *Aggregation) cells(e *operator.Evaluation) ([]cell, error) {
	n := a.Grid.Steps
	if err := e.Hold(n); err != nil { // a cell is more than a sample
		return nil, err
	}
	if err := e.Account.Take(block.SeriesBytes); err != nil {
		return nil, err
	}
	a.taken += block.SeriesBytes
	if len(a.rest) < n {
		count := max(n, min(cellsAtOnce, 2*len(a.groups)*n))
		if err := e.Account.Take(int64(count) * cellBytes); err != nil {
			return nil, err
		}
		a.taken += int64(count) * cellBytes
		a.rest = make([]cell, count)
	}
	cells := a.rest[:n:n]
	a.rest = a.rest[n:]
	return cells, nil
}

// add adds the values of a series to the cells of the same steps.
func (g *group) add(op parser.ItemType, cells []cell, s *block.Series) {
	cells = cells[:len(s.Values)]
	switch op {
	case parser.SUM:
		for i, v := range s.Values {
			c := &cells[i]
			switch sum, rest := floats.Add(c.value, c.c, v); {
			case c.count != 0 && floats.IsFinite(sum):
				c.value, c.c = sum, rest
			case v != v && block.IsAbsent(v):
			case c.count == 0:
				c.count, c.value = 1, v
			default:
				c.value, c.c = kahansum.Inc(v, c.value, c.c)
			}
		}
	case parser.AVG:
		for i, v := range s.Values {
			c := &cells[i]
			switch sum, rest := floats.Add(c.value, c.c, v); {
			case c.count != 0 && g.means == nil && floats.IsFinite(sum):
				c.count, c.value, c.c = c.count+1, sum, rest
			case v != v && block.IsAbsent(v):
			case c.count == 0:
				c.begin(op, v)
			default:
				g.addMean(c, s.From+i, v)
			}
		}
	case parser.COUNT, parser.GROUP:
		for i, v := range s.Values {
			if !block.IsAbsent(v) {
				cells[i].count++
			}
		}
	default:
		for i, v := range s.Values {
			switch c := &cells[i]; {
			case v != v && block.IsAbsent(v):
			case c.count == 0:
				c.begin(op, v)
			default:
				c.next(op, v)
			}
		}
	}
}

// begin takes the first value of a step.
func (c *cell) begin(op parser.ItemType, v float64) {
	c.count, c.value = 1, v
	if op == parser.STDVAR || op == parser.STDDEV {
		c.c, c.value = v, 0 // the mean, the sum of squares
		if math.IsNaN(v) || math.IsInf(v, 0) {
			c.value = math.NaN()
		}
	}
}

// next takes a further value of a step.
func (c *cell) next(op parser.ItemType, v float64) {
	switch op {
	case parser.MAX:
		if c.value < v || math.IsNaN(c.value) {
			c.value = v
		}
	case parser.MIN:
		if c.value > v || math.IsNaN(c.value) {
			c.value = v
		}
	case parser.STDVAR, parser.STDDEV:
		c.count++
		delta := v - c.c
		c.c += delta / c.count
		c.value += delta * (v - c.c)
	}
}

func (g *group) addMean(c *cell, step int, v float64) {
	m := floats.Mean{Sum: c.value, Rest: c.c, Count: c.count}
	over := g.means[step]
	if over != nil {
		m = *over
	}
	m.Add(v)
	c.value, c.c, c.count = m.Sum, m.Rest, m.Count
	if !m.Incremental {
		return
	}
	if over == nil {
		if g.means == nil {
			g.means = map[int]*floats.Mean{}
		}
		over = new(floats.Mean)
		g.means[step] = over
	}
	*over = m
}

// result returns the value of a group at a step.
func (g *group) result(op parser.ItemType, step int) float64 {
	c := &g.cells[step]
	if c.count == 0 {
		return block.Absent
	}
	switch op {
	case parser.SUM:
		return c.value + c.c
	case parser.AVG:
		if m := g.means[step]; m != nil {
			return m.Value()
		}
		return c.value/c.count + c.c/c.count
	case parser.COUNT:
		return c.count
	case parser.GROUP:
		return 1
	case parser.STDVAR:
		return c.value / c.count
	case parser.STDDEV:
		return math.Sqrt(c.value / c.count)
	}
	return c.value
}

// Inputs implements operator.Operator.
func (a *Aggregation) Inputs() []*operator.Node { return []*operator.Node{a.Input.Node} }

// Eval adds all series, and returns the groups that have values.
func (a *Aggregation) Eval(e *operator.Evaluation) (*block.Block, error) {
	if err := a.Input.Feed(e, a); err != nil {
		return nil, err
	}
	b := e.NewBlock(a.Grid)
	b.Series = make([]block.Series, len(a.groups))
	err := e.InParallel(b, len(a.groups), len(a.groups)*a.Grid.Steps, func(l *operator.Lane, i int) error {
		g := &a.groups[i]
		values, err := l.Memory.Take(a.Grid.Steps)
		if err != nil {
			return err
		}
		for step := range values {
			values[step] = g.result(a.Op, step)
		}
		b.Series[i] = block.Series{Labels: g.labels, DropName: g.dropName, Values: values}
		g.histograms(a, &b.Series[i])
		b.Series[i].Trim()
		return nil
	})
	e.Unhold(len(a.groups) * a.Grid.Steps)
	e.Account.Give(a.taken)
	a.groups, a.rest = nil, nil
	if err == nil {
		err = e.Seal(b)
	}
	return b, err
}
