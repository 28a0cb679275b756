package rangeql

import (
	"math"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/tsdbridge/tsdbridge/budget"
)

// aggregates reports whether an aggregation is known here.
func aggregates(op parser.ItemType) bool {
	switch op {
	case parser.SUM, parser.AVG, parser.MIN, parser.MAX, parser.COUNT, parser.GROUP:
		return true
	}
	return false
}

// groups are the unfinished aggregations. Series are added in their order, because a sum of floats
// depends on it.
type groups struct {
	plan    *plan
	room    int // cells that may be allocated
	account *budget.Account
	byKey   map[uint64]int
	list    []group // by first appearance
	buffer  []byte
	names   []string // of the grouping, as the hash functions want them
	drop    bool     // whether keys are made of labels without the name of the metric
}

// group is one series of the answer while it is computed: a cell for each step.
type group struct {
	labels    labels.Labels
	dropsName bool
	cells     []cell
	means     map[int]*mean // of the steps whose sum would overflow
}

// cell is the state of a group at a step.
type cell struct {
	value, c float64
	count    float64 // 0: nothing yet
}

// cellBytes is the size of a cell.
const cellBytes = 24

func newGroups(p *plan, room int) *groups {
	g := &groups{plan: p, room: room, byKey: map[uint64]int{}, names: p.aggregate.grouping}
	for _, name := range g.names {
		g.drop = g.drop || isMetadata(name)
	}
	g.drop = p.dropsName() && !p.delayed && (g.drop || p.aggregate.without)
	return g
}

// add adds the points of a series, at least one.
func (g *groups) add(metric labels.Labels, points []promql.FPoint) error {
	into, err := g.of(metric)
	if err != nil {
		return err
	}
	p := g.plan
	into.dropsName = into.dropsName || p.dropsName()
	if len(points) == p.steps {
		for i := range points {
			into.add(p.aggregate.op, i, points[i].F)
		}
		return nil
	}
	for i := range points {
		into.add(p.aggregate.op, int((points[i].T-p.start)/p.interval), points[i].F)
	}
	return nil
}

// of returns the group of a series. Like the library, it treats label sets with the same hash as
// equal.
func (g *groups) of(metric labels.Labels) (*group, error) {
	if g.drop {
		metric = metric.DropReserved(isMetadata)
	}
	var key uint64
	a := g.plan.aggregate
	switch {
	case a.without:
		key, g.buffer = metric.HashWithoutLabels(g.buffer, g.names...)
	case len(g.names) > 0:
		key, g.buffer = metric.HashForLabels(g.buffer, g.names...)
	}
	i, ok := g.byKey[key]
	if !ok {
		if g.room -= g.plan.steps; g.room < 0 {
			return nil, ErrHandOver
		}
		if err := g.account.Take(g.groupBytes()); err != nil {
			return nil, err
		}
		i = len(g.list)
		g.byKey[key] = i
		g.list = append(g.list, group{labels: g.labels(metric), cells: make([]cell, g.plan.steps)})
	}
	return &g.list[i], nil
}

// groupBytes returns the memory of a group: its cells, and the points that they become.
func (g *groups) groupBytes() int64 { return 128 + int64(g.plan.steps)*(cellBytes+pointBytes) }

// bytes returns the memory of all groups.
func (g *groups) bytes() int64 { return int64(len(g.list)) * g.groupBytes() }

func (g *groups) labels(metric labels.Labels) labels.Labels {
	a := g.plan.aggregate
	if !a.without && len(a.grouping) == 0 {
		return labels.EmptyLabels()
	}
	b := labels.NewBuilder(metric)
	if a.without {
		b.Del(a.grouping...)
		b.Del(model.MetricNameLabel)
	} else {
		b.Keep(a.grouping...)
	}
	return b.Labels()
}

func (g *group) add(op parser.ItemType, step int, f float64) {
	c := &g.cells[step]
	if c.count == 0 {
		c.count, c.value = 1, f
		return
	}
	switch op {
	case parser.SUM:
		c.value, c.c = kahansum.Inc(f, c.value, c.c)
	case parser.AVG:
		g.addMean(c, step, f)
	case parser.MAX:
		if c.value < f || math.IsNaN(c.value) {
			c.value = f
		}
	case parser.MIN:
		if c.value > f || math.IsNaN(c.value) {
			c.value = f
		}
	case parser.COUNT:
		c.count++
	}
}

func (g *group) addMean(c *cell, step int, f float64) {
	m := mean{sum: c.value, c: c.c, count: c.count}
	over := g.means[step]
	if over != nil {
		m = *over
	}
	m.add(f)
	c.value, c.c, c.count = m.sum, m.c, m.count
	if !m.incremental {
		return
	}
	if over == nil {
		if g.means == nil {
			g.means = map[int]*mean{}
		}
		over = new(mean)
		g.means[step] = over
	}
	*over = m
}

// result returns the value of a group at a step, and false if it has none.
func (g *group) result(op parser.ItemType, step int) (float64, bool) {
	c := &g.cells[step]
	if c.count == 0 {
		return 0, false
	}
	switch op {
	case parser.SUM:
		return c.value + c.c, true
	case parser.AVG:
		if m := g.means[step]; m != nil {
			return m.value(), true
		}
		return c.value/c.count + c.c/c.count, true
	case parser.COUNT:
		return c.count, true
	case parser.GROUP:
		return 1, true
	}
	return c.value, true
}

// matrix returns the groups that have points.
func (g *groups) matrix(s *slabs) promql.Matrix {
	m := make(promql.Matrix, 0, len(g.list))
	for i := range g.list {
		in := &g.list[i]
		points := s.take(g.plan.steps)
		for step := range in.cells {
			if f, ok := in.result(g.plan.aggregate.op, step); ok {
				points = append(points, promql.FPoint{T: g.plan.time(step), F: f})
			}
		}
		s.give(points)
		m = append(m, promql.Series{Metric: in.labels, Floats: points, DropName: in.dropsName})
	}
	return m
}
