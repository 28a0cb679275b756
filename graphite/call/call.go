// Package call is what Graphite's functions see: their signature, a call of one with its bound arguments, the
// window in which it is made, and the memory and time that it takes. It knows no function; what it evaluates
// comes from who calls (see Targets).
package call

import (
	"errors"
	"maps"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// Call is one call of a function: its bound arguments, where it is made, and what it costs. The methods that
// read arguments by name remember the first that does not fit, as Python would raise a TypeError; dispatch
// returns it.
type Call struct {
	arguments
	Scope   *Scope
	Targets Targets
	// The first argument as written, for functions that evaluate it again in another window.
	first expr.Node

	evaluated [][]*series.Series // What the function has evaluated itself.
	Sliding   int64              // Reserved bytes that are for sliders.
}

// Scope is graphite-web's requestContext. Functions that evaluate something again do so in a copy,
// so that what is set there (by setXFilesFactor, by stacked) is lost with it.
type Scope struct {
	Request      *Request
	Window       Window
	XFilesFactor float64
	Stacks       map[string][]float64
}

// NewScope returns the scope of the targets of a request.
func NewScope(request *Request) Scope {
	return Scope{Request: request, Window: request.window(), XFilesFactor: request.XFilesFactor}
}

// Targets evaluates for functions, in the scope of their call.
type Targets interface {
	// EvalAgain computes a first argument in another window.
	EvalAgain(n expr.Node, w Window) ([]*series.Series, error)
	// EvalMade computes a target that a function has made up.
	EvalMade(n expr.Node) ([]*series.Series, error)
	// Functions returns all functions by name.
	Functions() map[string]*Function
	// Events returns the times, in epoch seconds, of the events in the window that have all tags; with nil
	// tags, of all events.
	Events(tags []string) ([]int64, error)
}

// New returns a call of a function in a scope; first is its first argument as written.
func New(fn *Function, first expr.Node, in *Scope, of *Resources, by Targets) *Call {
	return &Call{arguments: arguments{effort: effort{Resources: of}, fn: fn}, Scope: in, Targets: by, first: first}
}

// Evaluate computes the first argument again in another window.
func (c *Call) Evaluate(w Window) ([]*series.Series, error) {
	if c.first == nil {
		return nil, python.Crash("%s has no first argument", c.fn.Name)
	}
	return c.own(c.Targets.EvalAgain(c.first, w))
}

// own notes series that the function has evaluated, and reserves as much as they hold for what it
// makes of them.
func (c *Call) own(list []*series.Series, err error) ([]*series.Series, error) {
	if err != nil {
		return nil, err
	}
	c.evaluated = append(c.evaluated, list)
	if !c.reserveLike([][]*series.Series{list}) {
		return nil, c.Err
	}
	return list, nil
}

// EvaluateText computes a target that a function has made up.
func (c *Call) EvaluateText(target string) ([]*series.Series, error) {
	n, err := c.parse(target)
	if err != nil {
		return nil, err
	}
	return c.own(c.Targets.EvalMade(n))
}

// parse reads a target that is not the request's. What parsing costs is borrowed.
func (c *Call) parse(target string) (expr.Node, error) {
	giveBack, err := c.Borrow(parseBytes * int64(min(len(target), expr.MaxTarget)))
	if err != nil {
		return nil, err
	}
	defer giveBack()
	n, err := c.Scope.Request.parser().Parse(target)
	if err != nil {
		return nil, python.Crash("%s", err)
	}
	return n, nil
}

// Create makes a series that stems from no other.
func (c *Call) Create(name string, start, end, step int64, values []float64) *series.Series {
	return &series.Series{
		Name: name, PathExpression: name, Tags: series.TagsOf(name), Start: start, End: end, Step: step, Values: values,
		ConsolidationFunc: "average", XFilesFactor: c.Scope.XFilesFactor,
	}
}

// run calls the function and gives its first error.
func (c *Call) run() (any, error) {
	var out any
	var err error
	if c.fn.Lists != nil {
		out, err = c.fn.Lists(c)
	} else {
		out, err = c.fn.Call(c)
	}
	if c.Err != nil {
		return nil, c.Err
	}
	return out, err
}

// Dispatch validates, binds and calls.
func (c *Call) Dispatch(args []any, kwargs map[string]any) (any, error) {
	if a, k, err := c.fn.Validate(args, kwargs); err == nil {
		args, kwargs = a, k
	}
	bound, err := c.fn.Bind(args, kwargs)
	if err != nil {
		return nil, err
	}
	c.Args = bound
	given := seriesLists(args, kwargs)
	if !c.reserveLike(given) {
		return nil, c.Err
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
func (c *Call) count(list []*series.Series) error {
	if c.Scope.Request.Limits.Points == 0 {
		return nil
	}
	points := 0
	for _, s := range list {
		points += len(s.Values)
	}
	if points > c.Scope.Request.Limits.Points {
		return python.Invalid("more than %d points (--query.max-samples)", c.Scope.Request.Limits.Points)
	}
	return nil
}

// Apply calls a function on a list of series as a callback does: without validation, in the
// caller's place.
func (c *Call) Apply(name string, args ...any) ([]*series.Series, error) {
	fn, ok := c.Targets.Functions()[name]
	if !ok {
		return nil, python.Unknown(python.Crash("Function %q not found", name), name, slices.Collect(maps.Keys(c.Targets.Functions())))
	}
	bound, err := fn.Bind(args, nil)
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
func (c *Call) inner(fn *Function, bound []any) *Call {
	inner := New(fn, c.first, c.Scope, c.Resources, c.Targets)
	inner.Args = bound
	return inner
}
