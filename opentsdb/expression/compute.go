package expression

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/java"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// Means are what a computation may use. Pause is called from time to time, and Take before memory is
// used; their errors end the computation.
type Means struct {
	Pause func() error
	Take  func(bytes int64) error
}

// valueBytes is what Take is asked for of each value of a table, which grows by doubling.
const valueBytes = 16

// pauseAfter is about how many operations are computed between two pauses.
const pauseAfter = 1 << 20

// A computation is what is known of the expressions of a request.
type computation struct {
	means    Means
	request  *Request
	metrics  map[string]*measured
	byID     map[string]*Expression
	computed map[string]*computed
}

// measured is a metric with its series.
type measured struct {
	*Metric
	series    []query.Series
	queryKeys map[string]bool
}

// computed is an expression with its joined series. Its table is nil until it is computed.
type computed struct {
	*Expression
	names  []string // of the variables
	series []joined
	table  *table

	variables []variable // nil after the table was computed
}

// newComputation joins the series of all expressions. series are those of the metrics.
func newComputation(r *Request, series [][]query.Series, means Means) (*computation, error) {
	c := &computation{means, r, map[string]*measured{}, r.expressions(), map[string]*computed{}}
	for i, m := range r.Metrics {
		keys := map[string]bool{}
		if f := r.filter(orEmpty(m.Filter)); f != nil {
			for _, tag := range f.Tags {
				keys[tag.TagKey] = true
			}
		}
		c.metrics[string(m.ID)] = &measured{m, series[i], keys}
	}
	for _, e := range r.Expressions {
		if _, err := c.expression(e); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// expression joins the series of an expression, after those of the expressions that it needs.
func (c *computation) expression(e *Expression) (*computed, error) {
	if done := c.computed[string(e.ID)]; done != nil {
		return done, nil
	}
	out := &computed{Expression: e, names: e.script.Variables()}
	for _, name := range out.names {
		if !slices.Contains(out.names, strings.ToLower(name)) {
			return nil, refused("Missing results for variable %s", name)
		}
		v, err := c.variable(name)
		if err != nil {
			return nil, err
		}
		out.variables = append(out.variables, v)
	}
	var err error
	if out.series, err = e.Join.checked(out.variables, c.filled(out.names)); err != nil {
		return nil, err
	}
	c.computed[string(e.ID)] = out
	return out, nil
}

// filled returns the places of variables in the order in which a TSD adds them to an expression: first the
// metrics, in the order of its map of them, and then the expressions.
func (c *computation) filled(names []string) (order []int) {
	metrics := make([]string, len(c.request.Metrics))
	for i, m := range c.request.Metrics {
		metrics[i] = string(m.ID)
	}
	for _, name := range append(java.InMapOrder(metrics, len(metrics)), java.InMapOrder(names, java.DefaultCapacity)...) {
		if i := slices.Index(names, name); i >= 0 && !slices.Contains(order, i) {
			order = append(order, i)
		}
	}
	return order
}

// variable returns a metric or an expression for an expression that needs it.
func (c *computation) variable(name string) (variable, error) {
	if inner := c.byID[name]; inner != nil {
		of, err := c.expression(inner)
		if err != nil {
			return variable{}, err
		}
		v := variable{name: name, source: &nested{computation: c, of: of}}
		for _, s := range of.series {
			v.subjects = append(v.subjects, s.subject)
		}
		return v, nil
	}
	m := c.metrics[name]
	fill := 0.0
	if m.FillPolicy != nil {
		fill = m.FillPolicy.Value
	}
	v := variable{name: name, queryKeys: m.queryKeys, source: newColumns(spansOf(m.series), fill)}
	for i := range m.series {
		if m.series[i].Points.Len() == 0 {
			return v, refused("A series of variable %s has no values", name)
		}
		v.subjects = append(v.subjects, subjectOfSeries(&m.series[i]))
	}
	return v, nil
}

// subjectOfSeries describes a series.
func subjectOfSeries(s *query.Series) subject {
	return subject{metrics: []query.ID{s.MetricID}, tags: s.Pairs, aggregated: s.Aggregated}
}

func spansOf(series []query.Series) []aggregate.Span {
	spans := make([]aggregate.Span, len(series))
	for i := range series {
		spans[i] = series[i].Points
	}
	return spans
}

// checked joins the series of variables, and refuses an intersection that is empty.
func (j Join) checked(variables []variable, order []int) ([]joined, error) {
	some := slices.ContainsFunc(variables, func(v variable) bool { return len(v.subjects) > 0 })
	if !some {
		return nil, nil
	}
	series := j.join(variables, order)
	if len(series) == 0 {
		return nil, refused("No intersections found")
	}
	return series, nil
}

// compute computes the table of an expression.
func (c *computation) compute(e *computed) (*table, error) {
	if e.table != nil {
		return e.table, nil
	}
	t := &table{width: len(e.series)}
	now := make([][]float64, len(e.variables))
	inputs := make([]float64, len(e.variables))
	perRow := (1 + t.width) * (1 + len(e.Expr)/4) // operations, about
	for since := pauseAfter; ; since += perRow {
		if since >= pauseAfter {
			if err := c.means.Pause(); err != nil {
				return nil, err
			}
			since = 0
		}
		at := nextOf(e.variables)
		if at == never {
			break
		}
		if err := c.means.Take(int64(1+t.width) * valueBytes); err != nil {
			return nil, err
		}
		for i, v := range e.variables {
			var err error
			if now[i], err = v.source.step(at); err != nil {
				return nil, err
			}
		}
		t.times = append(t.times, at)
		for _, s := range e.series {
			value, err := e.value(s, now, inputs)
			if err != nil {
				return nil, err
			}
			t.values = append(t.values, value)
		}
	}
	e.table, e.variables = t, nil
	return t, nil
}

// nextOf returns the next instant of variables.
func nextOf(variables []variable) int64 {
	t := int64(never)
	for _, v := range variables {
		t = min(t, v.source.next())
	}
	return t
}

// value computes a series at an instant at which the series of the variables have the values now.
func (e *computed) value(s joined, now [][]float64, inputs []float64) (float64, error) {
	for i, place := range s.of {
		inputs[i] = 0 // of a series that a variable lacks
		if place != absent {
			inputs[i] = now[i][place]
		}
		if inputs[i] != inputs[i] {
			var err error
			if inputs[i], err = e.variables[i].source.fill(); err != nil {
				return 0, err
			}
		}
	}
	v, err := e.script.Eval(inputs)
	if err != nil {
		return 0, query.RequestError{Message: err.Error()}
	}
	n, ok := v.Number()
	if !ok {
		return 0, refused("Expression returned a result of type: %s for expression %s: %s", v.Kind(), e.ID, e.Expr)
	}
	return n, nil
}
