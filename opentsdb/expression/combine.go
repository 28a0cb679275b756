package expression

import (
	"math"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
	"github.com/tsdbridge/tsdbridge/storage"
)

func add(a, b float64) float64      { return a + b }
func subtract(a, b float64) float64 { return a - b }
func multiply(a, b float64) float64 { return a * b }

// divide returns 0 for what is divided by 0.
func divide(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}

// mostCombined bounds the arguments: a TSD names them a to z.
const mostCombined = 26

// combine returns a function that joins the lines of its arguments by their tags, and computes one
// line of those with equal tags. A line that an argument lacks counts as 0, and so does what is no
// number.
func combine(operate func(a, b float64) float64) function {
	return func(c call) ([]line, error) {
		n := len(c.arguments)
		if n < 2 || n > mostCombined {
			return nil, refused("Must have 2 to 26 series, got %d instead", n)
		}
		variables := make([]variable, n)
		for i, lines := range c.arguments {
			variables[i].name = string(rune('a' + i))
			for _, l := range lines {
				if l.points.Len() == 0 {
					return nil, refused("A series of argument %d has no values", i+1)
				}
				variables[i].subjects = append(variables[i].subjects, l.subject)
			}
		}
		var out []line
		for _, s := range (Join{Operator: union}).join(variables, upTo(n)) {
			points, err := c.combined(s.of, operate)
			if err != nil {
				return nil, err
			}
			out = append(out, newCombined(s.subject, points))
		}
		return out, nil
	}
}

// newCombined returns a line that was computed of others.
func newCombined(s subject, points aggregate.Span) line {
	g := query.Group{
		Metric: s.metrics[0].Name, AggregatedTags: namesOf(s.aggregated), Tags: []storage.Tag{},
	}
	for _, tag := range s.tags {
		g.Tags = append(g.Tags, storage.Tag{Key: tag.Key.Name, Value: tag.Value.Name})
	}
	return line{shown: g, subject: s, points: points, uncounted: true, unannotated: true, unnamed: s.metrics[0].UID == ""}
}

// combined computes one line of a line of each argument; places tells which. As with a TSD the first
// point of each belongs to the first of the others, and so on, whatever their instants; the result has
// the earliest one. All must have as many points.
func (c call) combined(places []int, operate func(a, b float64) float64) (out aggregate.Span, err error) {
	lines := make([]*aggregate.Span, len(places))
	most := 0
	for i, place := range places {
		if place != absent {
			lines[i] = &c.arguments[i][place].points
			most = max(most, lines[i].Len())
		}
	}
	if err := c.use(most); err != nil {
		return out, err
	}
	for k := range most {
		t, total := int64(math.MaxInt64), 0.0
		for i, l := range lines {
			v := 0.0
			if l != nil {
				if k == l.Len() {
					return out, refused("No more elements")
				}
				t, v = min(t, l.Times[k]), l.Values[k]
			}
			if v != v {
				v = 0
			}
			if i == 0 {
				total = v
			} else {
				total = operate(total, v)
			}
		}
		out.Add(t, total)
	}
	return out, nil
}
