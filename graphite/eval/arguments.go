package eval

import (
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/pyregexp"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// arguments are those of a call, bound to the parameters of its function.
type arguments struct {
	effort
	fn   *Function
	args []any
}

func (a *arguments) value(name string) any {
	i := slices.IndexFunc(a.fn.formal, func(f formal) bool { return f.name == name })
	if i < 0 {
		a.fail(python.Crash("%s has no parameter %s", a.fn.Name, name))
		return nil
	}
	return a.args[i]
}

func (a *arguments) has(name string) bool { return a.value(name) != nil }

// series returns a list of series.
func (a *arguments) series(name string) []*series.Series {
	list, ok := a.value(name).([]*series.Series)
	if !ok {
		a.fail(python.Crash("seriesLists is not a list of series"))
	}
	return list
}

// seriesLists returns the lists that a variadic parameter took.
func (a *arguments) seriesLists() [][]*series.Series {
	given := a.rest("seriesLists")
	if len(given) == 1 && given[0] == nil {
		return [][]*series.Series{nil} // sumSeries(none) returns no series; with anything else it fails.
	}
	var lists [][]*series.Series
	for _, v := range given {
		list, ok := v.([]*series.Series)
		if !ok {
			a.fail(python.Crash("seriesLists is not a list of series"))
		}
		lists = append(lists, list)
	}
	return lists
}

// rest returns what a variadic parameter took.
func (a *arguments) rest(name string) []any {
	list, _ := a.value(name).([]any)
	return list
}

func (a *arguments) float(name string) float64 {
	f, ok := number(a.value(name))
	if !ok {
		a.fail(python.Crash("%s is not a number", name))
	}
	return f
}

// integer returns a value that may stand in a slice or a range: no float.
func (a *arguments) integer(name string) int64 {
	v := a.value(name)
	if _, isFloat := v.(float64); isFloat {
		a.fail(python.Crash("%s is not an integer", name))
	}
	return int64(a.float(name))
}

// toInt is Python's int(): floats are cut, texts are read.
func (a *arguments) toInt(name string) int64 {
	switch v := a.value(name).(type) {
	case string:
		n, ok := python.ParseInt(v)
		if !ok {
			a.fail(python.Crash("%s is not an integer", name))
		}
		return n
	case float64:
		if math.IsNaN(v) || math.Abs(v) > 1<<62 {
			a.fail(python.Crash("%s is not an integer", name))
			return 0
		}
	}
	return int64(a.float(name))
}

func (a *arguments) string(name string) string {
	s, ok := a.value(name).(string)
	if !ok {
		a.fail(python.Crash("%s is not a string", name))
	}
	return s
}

func (a *arguments) truth(name string) bool { return truth(a.value(name)) }

// offset returns an interval in seconds; nothing is 0.
func (a *arguments) offset(name string) int64 {
	if !a.truth(name) {
		return 0
	}
	n, err := timespec.ParseOffset(a.string(name))
	if err != nil {
		a.fail(python.Crash("%s", err))
	}
	return n
}

// interval returns an offset that series can be cut into. graphite-web loops for ever on others, if
// there is a series.
func (a *arguments) interval(list []*series.Series) int64 {
	const name = "intervalString"
	n := a.offset(name)
	if n <= 0 && len(list) > 0 {
		a.fail(python.Crash("%s must be positive", name))
	}
	return max(n, 1)
}

func (a *arguments) aggregator(name string) series.Aggregator {
	shown := a.string(name)
	found, err := series.FindAggregator(shown, shown)
	if err != nil {
		a.fail(err)
	}
	return found
}

func (a *arguments) regexp(name string) *pyregexp.Regexp {
	pattern := a.string(name)
	if len(pattern) <= 4*pyregexp.MaxPattern {
		a.reserve(regexpBytes * int64(len(pattern)))
	}
	re, err := pyregexp.Compile(pattern)
	if err != nil {
		a.fail(python.Crash("%s", err))
		re, _ = pyregexp.Compile("")
	}
	return re
}
