package functions

import (
	"math"
	"math/rand/v2"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// generatorFamily returns the functions that make series from nothing but the time, and from
// events.
func generatorFamily() []call.Function {
	name, step := need("name", call.TypeString), with("step", call.TypeInteger, int64(60))
	list := []call.Function{{
		Name: "identity", Group: "Calculate", Signature: "name", Params: []call.Param{name}, Call: identity, Doc: "Draws each time as its value.",
	}, {
		Name: "events", Group: "Special", Signature: "*tags", Params: []call.Param{need("tags", call.TypeString).Many()}, Call: events, Doc: "Draws the number of events with all tags in each second.",
	}}
	for _, f := range [...]string{"time", "timeFunction"} {
		list = append(list, call.Function{
			Name: f, Group: "Transform", Signature: "name, step=60", Params: []call.Param{name, step}, Call: timeFunction, Doc: "Draws each time as its value.",
		})
	}
	for _, f := range [...]string{"sin", "sinFunction"} {
		list = append(list, call.Function{
			Name: f, Group: "Transform", Signature: "name, amplitude=1, step=60", Call: sinFunction, Doc: "Draws the sine of each time.",
			Params: []call.Param{name, with("amplitude", call.TypeInteger, int64(1)), step},
		})
	}
	for _, f := range [...]string{"randomWalk", "randomWalkFunction"} {
		list = append(list, call.Function{
			Name: f, Group: "Special", Signature: "name, step=60", Params: []call.Param{name, step}, Call: randomWalk, Doc: "Draws a random walk from 0 on.",
		})
	}
	return list
}

// generate makes a series over the window with f's value for each slot's time, as the window's
// clock shows it.
func generate(c *call.Call, start, end int64, f func(at int64) float64) ([]*series.Series, error) {
	name, seconds, w := c.Text("name"), c.Float("step"), c.Scope.Window
	if c.Err != nil {
		return nil, nil
	}
	step := int64(min(max(seconds, 0), math.MaxInt32))
	if float64(step) != seconds { // graphite-web takes parts of a second, too
		return nil, python.Crash("a step of %v is no whole number of seconds", seconds)
	}
	if step <= 0 || (w.Until-w.From)/step > maxMade {
		return nil, python.Crash("a step of %d does not fit", step)
	}
	if !c.Reserve(8 * max(0, (w.Until-w.From)/step+1)) {
		return nil, c.Err
	}
	values := make([]float64, 0, max(0, (w.Until-w.From)/step+1))
	first := c.WallFrom(w)
	for at := w.From; at < w.Until; at += step {
		values = append(values, f(first+at-w.From))
	}
	return []*series.Series{c.Create(name, start, end, step, values)}, nil
}

func timeFunction(c *call.Call) ([]*series.Series, error) {
	w := c.Scope.Window
	return generate(c, c.WallFrom(w), c.WallUntil(w), func(at int64) float64 { return float64(at) })
}

func sinFunction(c *call.Call) ([]*series.Series, error) {
	amplitude, w := c.Float("amplitude"), c.Scope.Window
	return generate(c, w.From, w.Until, func(at int64) float64 { return math.Sin(float64(at)) * amplitude })
}

func randomWalk(c *call.Call) ([]*series.Series, error) {
	w, at := c.Scope.Window, 0.0
	return generate(c, w.From, w.Until, func(int64) float64 {
		v := at
		at += rand.Float64() - 0.5
		return v
	})
}

func identity(c *call.Call) ([]*series.Series, error) {
	name, w := python.Text(c.Value("name")), c.Scope.Window
	if (w.Until-w.From)/int64(timespec.Minute) > maxMade {
		return nil, python.Invalid("more than %d points", maxMade)
	}
	if !c.Reserve(8 * max(0, (w.Until-w.From)/int64(timespec.Minute)+1)) {
		return nil, c.Err
	}
	values := make([]float64, 0, max(0, (w.Until-w.From)/int64(timespec.Minute)+1))
	for at := w.From; at < w.Until; at += int64(timespec.Minute) {
		values = append(values, float64(at))
	}
	s := c.Create(name, w.From, w.Until, int64(timespec.Minute), values)
	s.PathExpression, s.Ints = `identity("`+name+`")`, true
	return []*series.Series{s}, nil
}

// events counts in slots of one second. An event at the very end has no slot: it is left out, where
// graphite-web fails.
func events(c *call.Call) ([]*series.Series, error) {
	tags := []string{}
	for _, v := range c.Rest("tags") {
		tags = append(tags, python.Text(v))
	}
	name := `events("` + strings.Join(tags, `", "`) + `")`
	if len(tags) == 1 && tags[0] == "*" {
		tags = nil
	}
	w := c.Scope.Window
	if w.Until-w.From > maxMade {
		return nil, python.Invalid("more than %d points", maxMade)
	}
	if !c.Reserve(8 * (w.Until - w.From)) {
		return nil, c.Err
	}
	values := make([]float64, w.Until-w.From)
	for i := range values {
		values[i] = python.None()
	}
	times, err := c.Targets.Events(tags)
	if err != nil {
		return nil, err
	}
	for _, at := range times {
		i := at - w.From
		if i < 0 || i >= int64(len(values)) {
			continue
		}
		if python.IsNone(values[i]) {
			values[i] = 0
		}
		values[i]++
	}
	s := c.Create(name, w.From, w.Until, 1, values)
	s.ConsolidationFunc, s.Ints = "sum", true
	return []*series.Series{s}, nil
}
