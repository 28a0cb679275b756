package eval

import (
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// call is one call of a function: its bound arguments and where it stands. The methods that read
// arguments by name remember the first that does not fit, as Python would raise a TypeError; the
// dispatcher returns it.
type call struct {
	scope *scope
	fn    *Function
	args  []any
	// The first argument as written, for functions that evaluate it again in another window.
	first expr.Node
	err   error

	evaluated [][]*series.Series // What the function has evaluated itself.
	reserved  int64              // Bytes taken for what it makes.
	sliding   int64              // Of these, for sliders.
	work      int                // Since the last look at the request.
}

// fail remembers an error for the dispatcher.
func (c *call) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *call) value(name string) any {
	i := slices.IndexFunc(c.fn.formal, func(f formal) bool { return f.name == name })
	if i < 0 {
		c.fail(python.Crash("%s has no parameter %s", c.fn.Name, name))
		return nil
	}
	return c.args[i]
}

func (c *call) has(name string) bool { return c.value(name) != nil }

// series returns a list of series.
func (c *call) series(name string) []*series.Series {
	list, ok := c.value(name).([]*series.Series)
	if !ok {
		c.fail(python.Crash("seriesLists is not a list of series"))
	}
	return list
}

// seriesLists returns the lists that a variadic parameter took.
func (c *call) seriesLists() [][]*series.Series {
	given := c.rest("seriesLists")
	if len(given) == 1 && given[0] == nil {
		return [][]*series.Series{nil} // sumSeries(none) returns no series; with anything else it fails.
	}
	var lists [][]*series.Series
	for _, v := range given {
		list, ok := v.([]*series.Series)
		if !ok {
			c.fail(python.Crash("seriesLists is not a list of series"))
		}
		lists = append(lists, list)
	}
	return lists
}

// rest returns what a variadic parameter took.
func (c *call) rest(name string) []any {
	list, _ := c.value(name).([]any)
	return list
}

func (c *call) float(name string) float64 {
	f, ok := number(c.value(name))
	if !ok {
		c.fail(python.Crash("%s is not a number", name))
	}
	return f
}

// integer returns a value that may stand in a slice or a range: no float.
func (c *call) integer(name string) int64 {
	v := c.value(name)
	if _, isFloat := v.(float64); isFloat {
		c.fail(python.Crash("%s is not an integer", name))
	}
	return int64(c.float(name))
}

// toInt is Python's int(): floats are cut, texts are read.
func (c *call) toInt(name string) int64 {
	switch v := c.value(name).(type) {
	case string:
		n, ok := python.ParseInt(v)
		if !ok {
			c.fail(python.Crash("%s is not an integer", name))
		}
		return n
	case float64:
		if math.IsNaN(v) || math.Abs(v) > 1<<62 {
			c.fail(python.Crash("%s is not an integer", name))
			return 0
		}
	}
	return int64(c.float(name))
}

func (c *call) string(name string) string {
	s, ok := c.value(name).(string)
	if !ok {
		c.fail(python.Crash("%s is not a string", name))
	}
	return s
}

func (c *call) truth(name string) bool { return truth(c.value(name)) }

// offset returns an interval in seconds; nothing is 0.
func (c *call) offset(name string) int64 {
	if !c.truth(name) {
		return 0
	}
	n, err := timespec.ParseOffset(c.string(name))
	if err != nil {
		c.fail(python.Crash("%s", err))
	}
	return n
}

// interval returns an offset that series can be cut into. graphite-web loops for ever on others, if
// there is a series.
func (c *call) interval(list []*series.Series) int64 {
	const name = "intervalString"
	n := c.offset(name)
	if n <= 0 && len(list) > 0 {
		c.fail(python.Crash("%s must be positive", name))
	}
	return max(n, 1)
}

func (c *call) aggregator(name string) series.Aggregator {
	shown := c.string(name)
	a, err := series.FindAggregator(shown, shown)
	if err != nil {
		c.fail(err)
	}
	return a
}

func (c *call) regexp(name string) *pyregexp.Regexp {
	pattern := c.string(name)
	if len(pattern) <= 4*pyregexp.MaxPattern {
		c.reserve(regexpBytes * int64(len(pattern)))
	}
	re, err := pyregexp.Compile(pattern)
	if err != nil {
		c.fail(python.Crash("%s", err))
		re, _ = pyregexp.Compile("")
	}
	return re
}

// evaluate computes the first argument again in another window. Values of a template are not put in
// again: what stands for one is then a path without series, in graphite-web too.
func (c *call) evaluate(w window) ([]*series.Series, error) {
	if c.first == nil {
		return nil, python.Crash("%s has no first argument", c.fn.Name)
	}
	s := *c.scope
	s.window, s.again, s.values = w, true, nil
	return c.own(s.target(c.first))
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

// maxMadeTargets is how deep targets that functions make up may be nested: a name may be a target
// that makes up itself.
const maxMadeTargets = 10

// evaluateText computes a target that a function has made up.
func (c *call) evaluateText(target string) ([]*series.Series, error) {
	n, err := c.parse(target)
	if err != nil {
		return nil, err
	}
	s := *c.scope
	if s.made++; s.made > maxMadeTargets {
		return nil, python.Invalid("targets made up by functions nested deeper than %d", maxMadeTargets)
	}
	s.again, s.values = false, nil
	return c.own(s.target(n))
}

// parse reads a target that is not the request's. What parsing costs is borrowed.
func (c *call) parse(target string) (expr.Node, error) {
	giveBack, err := c.scope.borrow(parseBytes * int64(min(len(target), expr.MaxTarget)))
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
