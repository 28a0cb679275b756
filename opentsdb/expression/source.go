package expression

import (
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
)

// never is the next instant of what has no more values.
const never = math.MaxInt64

// A source gives the values of the series of a variable, instant by instant.
type source interface {
	// next returns the next instant, or never.
	next() int64
	// step goes to an instant, which is not after the next one, and returns the value of each series.
	step(t int64) ([]float64, error)
	// drop leaves out a series.
	drop(series int)
	// fill returns what stands for values that are not numbers.
	fill() (float64, error)
}

// columns are the source of a metric. Where a series has no value it has the fill value.
type columns struct {
	spans []aggregate.Span
	at    []int
	now   []float64
	value float64
}

func newColumns(spans []aggregate.Span, fill float64) *columns {
	return &columns{slices.Clone(spans), make([]int, len(spans)), make([]float64, len(spans)), fill}
}

func (c *columns) next() int64 {
	t := int64(never)
	for i := range c.spans {
		if times := c.spans[i].Times; c.at[i] < len(times) {
			t = min(t, times[c.at[i]])
		}
	}
	return t
}

func (c *columns) step(t int64) ([]float64, error) {
	for i := range c.spans {
		s := &c.spans[i]
		if at := c.at[i]; at < len(s.Times) && s.Times[at] <= t {
			c.now[i] = s.Values[at]
			c.at[i]++
		} else {
			c.now[i] = c.value
		}
	}
	return c.now, nil
}

func (c *columns) drop(series int) { c.spans[series] = aggregate.Span{} }

func (c *columns) fill() (float64, error) { return c.value, nil }

// nested is the source of an expression that another one needs. As with a TSD each step takes the next
// row, whatever its instant, and must find one. The table is computed when it is read first.
type nested struct {
	computation *computation
	of          *computed
	table       *table
	at          int
	err         error
}

func (n *nested) begin() error {
	if n.table == nil && n.err == nil {
		n.table, n.err = n.computation.compute(n.of)
	}
	return n.err
}

func (n *nested) next() int64 {
	switch {
	case n.begin() != nil:
		return 0 // the step fails
	case n.at < len(n.table.times):
		return n.table.times[n.at]
	}
	return never
}

func (n *nested) step(int64) ([]float64, error) {
	if err := n.begin(); err != nil {
		return nil, err
	}
	if n.at == len(n.table.times) {
		return nil, refused("No more data")
	}
	n.at++
	return n.table.row(n.at - 1), nil
}

func (n *nested) drop(int) {}

func (n *nested) fill() (float64, error) {
	return 0, refused("Expression %s, which another one needs, has a value that is not a number", n.of.ID)
}

// A table is the values of an expression.
type table struct {
	times  []int64
	values []float64 // row by row
	width  int
}

func (t *table) row(i int) []float64 { return t.values[i*t.width : (i+1)*t.width] }
