package expression

import (
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
)

// A peak is what the values of lines are compared by. Its places are not those of the lines: at each
// instant the lines that have values there take the first places, as with a TSD, and the others have 0.
type peak struct {
	longs            []int64
	doubles          []float64
	anyLong, anyReal bool
	only             bool // the last instant counts, not all
}

func newPeak(lines int, only bool) *peak {
	return &peak{
		longs: slices.Repeat([]int64{math.MinInt64}, lines), doubles: slices.Repeat([]float64{math.SmallestNonzeroFloat64}, lines),
		only: only,
	}
}

func (p *peak) addDoubles(values []float64) float64 {
	p.anyReal = true
	for i := range p.doubles {
		v := 0.0
		if i < len(values) {
			v = values[i]
		}
		if p.only {
			p.doubles[i] = v
		} else {
			p.doubles[i] = greater(p.doubles[i], v)
		}
	}
	return 0
}

func (p *peak) addLongs(values []int64) int64 {
	p.anyLong = true
	for i := range p.longs {
		v := int64(0)
		if i < len(values) {
			v = values[i]
		}
		if p.only {
			p.longs[i] = v
		} else {
			p.longs[i] = max(p.longs[i], v)
		}
	}
	return 0
}

// at returns the peak at a place; there is none if there were no instants.
func (p *peak) at(i int) (v float64, ok bool) {
	switch {
	case p.anyReal && p.anyLong:
		return greater(float64(p.longs[i]), p.doubles[i]), true
	case p.anyLong:
		return float64(p.longs[i]), true
	}
	return p.doubles[i], p.anyReal
}

// greater returns the greater of two numbers, and NaN if one is none.
func greater(a, b float64) float64 {
	if a != a || b != b {
		return math.NaN()
	}
	return max(a, b)
}

func highestMax(c call) ([]line, error)     { return c.highest(false) }
func highestCurrent(c call) ([]line, error) { return c.highest(true) }

// highest returns so many lines with the highest peaks, the highest first.
func (c call) highest(only bool) ([]line, error) {
	n, err := parseCount(c.params)
	if err != nil {
		return nil, err
	}
	lines := c.lines()
	if only {
		lines = slices.DeleteFunc(lines, func(l line) bool { return l.points.Len() == 0 })
	}
	if len(lines) == 0 {
		return nil, nil
	}
	p := newPeak(len(lines), only)
	g := aggregate.Group{Aggregator: aggregate.NewAggregator(aggregate.Linear, p.addDoubles, p.addLongs), Start: c.Start, End: c.End}
	for i := range lines {
		if err := c.use(lines[i].points.Len()); err != nil {
			return nil, err
		}
		lines[i].uncounted = false
		g.Add(lines[i].points)
	}
	if _, err := g.Result(c.Pause); err != nil {
		return nil, err
	}
	values := make([]float64, len(lines))
	for i := range values {
		var ok bool
		if values[i], ok = p.at(i); !ok {
			return nil, refused("No series has values in the time of the query")
		}
	}
	order := upTo(len(lines))
	slices.SortStableFunc(order, func(a, b int) int { return compareJava(values[b], values[a]) })
	out := make([]line, 0, min(n, len(lines)))
	for _, i := range order[:min(n, len(lines))] {
		out = append(out, lines[i])
	}
	return out, nil
}

// compareJava orders as Java's Double.compare does: -0 is less than 0, and NaN is the greatest.
func compareJava(a, b float64) int {
	switch {
	case a == 0 && b == 0:
		return cmp.Compare(math.Copysign(1, a), math.Copysign(1, b))
	case a != a || b != b:
		return cmp.Compare(boolInt(a != a), boolInt(b != b))
	}
	return cmp.Compare(a, b)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}
