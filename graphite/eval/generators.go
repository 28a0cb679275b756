package eval

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// generatorFamily returns the functions that make series from nothing but the time, and from
// events.
func generatorFamily() []Function {
	name, step := need("name", typeString), with("step", typeInteger, int64(60))
	list := []Function{{
		Name: "identity", Group: "Calculate", Signature: "name", Params: []Param{name}, call: identity, Doc: "Draws each time as its value.",
	}, {
		Name: "events", Group: "Special", Signature: "*tags", Params: []Param{need("tags", typeString).many()}, call: events, Doc: "Draws the number of events with all tags in each second.",
	}}
	for _, f := range [...]string{"time", "timeFunction"} {
		list = append(list, Function{
			Name: f, Group: "Transform", Signature: "name, step=60", Params: []Param{name, step}, call: timeFunction, Doc: "Draws each time as its value.",
		})
	}
	for _, f := range [...]string{"sin", "sinFunction"} {
		list = append(list, Function{
			Name: f, Group: "Transform", Signature: "name, amplitude=1, step=60", call: sinFunction, Doc: "Draws the sine of each time.",
			Params: []Param{name, with("amplitude", typeInteger, int64(1)), step},
		})
	}
	for _, f := range [...]string{"randomWalk", "randomWalkFunction"} {
		list = append(list, Function{
			Name: f, Group: "Special", Signature: "name, step=60", Params: []Param{name, step}, call: randomWalk, Doc: "Draws a random walk from 0 on.",
		})
	}
	return list
}

// generate makes a series over the window with f's value for each slot's time, as the window's
// clock shows it.
func generate(c *call, start, end int64, f func(at int64) float64) ([]*series.Series, error) {
	name, seconds, w := c.string("name"), c.float("step"), c.scope.window
	if c.err != nil {
		return nil, nil
	}
	step := int64(min(max(seconds, 0), math.MaxInt32))
	if float64(step) != seconds { // graphite-web takes parts of a second, too
		return nil, python.Crash("a step of %v is no whole number of seconds", seconds)
	}
	if step <= 0 || (w.until-w.from)/step > maxMade {
		return nil, python.Crash("a step of %d does not fit", step)
	}
	if !c.reserve(8 * max(0, (w.until-w.from)/step+1)) {
		return nil, c.err
	}
	values := make([]float64, 0, max(0, (w.until-w.from)/step+1))
	first := c.wallFrom(w)
	for at := w.from; at < w.until; at += step {
		values = append(values, f(first+at-w.from))
	}
	return []*series.Series{c.create(name, start, end, step, values)}, nil
}

func timeFunction(c *call) ([]*series.Series, error) {
	w := c.scope.window
	return generate(c, c.wallFrom(w), c.wallUntil(w), func(at int64) float64 { return float64(at) })
}

func sinFunction(c *call) ([]*series.Series, error) {
	amplitude, w := c.float("amplitude"), c.scope.window
	return generate(c, w.from, w.until, func(at int64) float64 { return math.Sin(float64(at)) * amplitude })
}

func randomWalk(c *call) ([]*series.Series, error) {
	w, at := c.scope.window, 0.0
	return generate(c, w.from, w.until, func(int64) float64 {
		v := at
		at += rand.Float64() - 0.5
		return v
	})
}

func identity(c *call) ([]*series.Series, error) {
	name, w := python.Text(c.value("name")), c.scope.window
	if (w.until-w.from)/int64(timespec.Minute) > maxMade {
		return nil, python.Invalid("more than %d points", maxMade)
	}
	if !c.reserve(8 * max(0, (w.until-w.from)/int64(timespec.Minute)+1)) {
		return nil, c.err
	}
	values := make([]float64, 0, max(0, (w.until-w.from)/int64(timespec.Minute)+1))
	for at := w.from; at < w.until; at += int64(timespec.Minute) {
		values = append(values, float64(at))
	}
	s := c.create(name, w.from, w.until, int64(timespec.Minute), values)
	s.PathExpression, s.Ints = `identity("`+name+`")`, true
	return []*series.Series{s}, nil
}

// events counts in slots of one second. An event at the very end has no slot: it is left out, where
// graphite-web fails.
func events(c *call) ([]*series.Series, error) {
	tags := []string{}
	for _, v := range c.rest("tags") {
		tags = append(tags, python.Text(v))
	}
	name := `events("` + strings.Join(tags, `", "`) + `")`
	if len(tags) == 1 && tags[0] == "*" {
		tags = nil
	}
	w := c.scope.window
	if w.until-w.from > maxMade {
		return nil, python.Invalid("more than %d points", maxMade)
	}
	if !c.reserve(8 * (w.until - w.from)) {
		return nil, c.err
	}
	values := make([]float64, w.until-w.from)
	for i := range values {
		values[i] = python.None()
	}
	times, err := c.targets.events(tags)
	if err != nil {
		return nil, err
	}
	for _, at := range times {
		i := at - w.from
		if i < 0 || i >= int64(len(values)) {
			continue
		}
		if python.IsNone(values[i]) {
			values[i] = 0
		}
		values[i]++
	}
	s := c.create(name, w.from, w.until, 1, values)
	s.ConsolidationFunc, s.Ints = "sum", true
	return []*series.Series{s}, nil
}
