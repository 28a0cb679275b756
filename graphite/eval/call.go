package eval

import (
	"errors"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// call is one call of a function: its bound arguments, where it is made, and what it costs. The methods that
// read arguments by name remember the first that does not fit, as Python would raise a TypeError; dispatch
// returns it.
type call struct {
	arguments
	scope   *callScope
	targets targets
	// The first argument as written, for functions that evaluate it again in another window.
	first expr.Node

	evaluated [][]*series.Series // What the function has evaluated itself.
	sliding   int64              // Reserved bytes that are for sliders.
}

// callScope is graphite-web's requestContext. Functions that evaluate something again do so in a copy,
// so that what is set there (by setXFilesFactor, by stacked) is lost with it.
type callScope struct {
	request *Request
	window  window
	xff     float64
	stacks  map[string][]float64
}

func newScope(request *Request) callScope {
	return callScope{request: request, window: request.window(), xff: request.XFilesFactor}
}

// targets evaluates for functions, in the scope of their call.
type targets interface {
	// evalAgain computes a first argument in another window.
	evalAgain(n expr.Node, w window) ([]*series.Series, error)
	// evalMade computes a target that a function has made up.
	evalMade(n expr.Node) ([]*series.Series, error)
	// functions returns all functions by name.
	functions() map[string]*Function
	// events returns the times, in epoch seconds, of the events in the window that have all tags; with nil
	// tags, of all events.
	events(tags []string) ([]int64, error)
}

// newCall returns a call of a function in a scope; first is its first argument as written.
func newCall(fn *Function, first expr.Node, in *callScope, of *resources, by targets) *call {
	return &call{arguments: arguments{effort: effort{resources: of}, fn: fn}, scope: in, targets: by, first: first}
}

// evaluate computes the first argument again in another window.
func (c *call) evaluate(w window) ([]*series.Series, error) {
	if c.first == nil {
		return nil, python.Crash("%s has no first argument", c.fn.Name)
	}
	return c.own(c.targets.evalAgain(c.first, w))
}

// own notes series that the function has evaluated, and reserves as much as they hold for what it
// makes of them.
func (c *call) own(list []*series.Series, err error) ([]*series.Series, error) {
	if err != nil {
		return nil, err
	}
	c.evaluated = append(c.evaluated, list)
	if !c.reserveLike([][]*series.Series{list}) {
		return nil, c.err
	}
	return list, nil
}

// evaluateText computes a target that a function has made up.
func (c *call) evaluateText(target string) ([]*series.Series, error) {
	n, err := c.parse(target)
	if err != nil {
		return nil, err
	}
	return c.own(c.targets.evalMade(n))
}

// parse reads a target that is not the request's. What parsing costs is borrowed.
func (c *call) parse(target string) (expr.Node, error) {
	giveBack, err := c.borrow(parseBytes * int64(min(len(target), expr.MaxTarget)))
	if err != nil {
		return nil, err
	}
	defer giveBack()
	n, err := c.scope.request.parser().Parse(target)
	if err != nil {
		return nil, python.Crash("%s", err)
	}
	return n, nil
}

// create makes a series that stems from no other.
func (c *call) create(name string, start, end, step int64, values []float64) *series.Series {
	return &series.Series{
		Name: name, PathExpression: name, Tags: series.TagsOf(name), Start: start, End: end, Step: step, Values: values,
		ConsolidationFunc: "average", XFilesFactor: c.scope.xff,
	}
}

// run calls the function and gives its first error.
func (c *call) run() (any, error) {
	var out any
	var err error
	if c.fn.lists != nil {
		out, err = c.fn.lists(c)
	} else {
		out, err = c.fn.call(c)
	}
	if c.err != nil {
		return nil, c.err
	}
	return out, err
}

// dispatch validates, binds and calls.
func (c *call) dispatch(args []any, kwargs map[string]any) (any, error) {
	if a, k, err := c.fn.validate(args, kwargs); err == nil {
		args, kwargs = a, k
	}
	bound, err := c.fn.bind(args, kwargs)
	if err != nil {
		return nil, err
	}
	c.args = bound
	given := seriesLists(args, kwargs)
	if !c.reserveLike(given) {
		return nil, c.err
	}
	out, err := c.run()
	var bad *python.InputError
	if errors.As(err, &bad) && bad.Func == "" {
		bad.Func = c.fn.Name
	}
	if list, ok := out.([]*series.Series); ok && err == nil {
		err = c.count(list)
	}
	if err == nil {
		err = c.settle(given, out)
	}
	return out, err
}

// count keeps the limits on what functions make: values that the run has not seen before.
func (c *call) count(list []*series.Series) error {
	if c.scope.request.Limits.Points == 0 {
		return nil
	}
	points := 0
	for _, s := range list {
		points += len(s.Values)
	}
	if points > c.scope.request.Limits.Points {
		return python.Invalid("more than %d points (--query.max-samples)", c.scope.request.Limits.Points)
	}
	return nil
}

// apply calls a function on a list of series as a callback does: without validation, in the
// caller's place.
func (c *call) apply(name string, args ...any) ([]*series.Series, error) {
	fn, ok := c.targets.functions()[name]
	if !ok {
		return nil, python.Unknown(python.Crash("Function %q not found", name), name, slices.Collect(maps.Keys(c.targets.functions())))
	}
	bound, err := fn.bind(args, nil)
	if err != nil {
		return nil, err
	}
	out, err := c.inner(fn, bound).run()
	if err != nil {
		return nil, err
	}
	list, ok := out.([]*series.Series)
	if !ok {
		return nil, python.Crash("%s gives no list of series", name)
	}
	return list, nil
}

// inner returns the call of another function in the same scope.
func (c *call) inner(fn *Function, bound []any) *call {
	inner := newCall(fn, c.first, c.scope, c.resources, c.targets)
	inner.args = bound
	return inner
}
