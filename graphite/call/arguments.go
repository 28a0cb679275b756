package call

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
	Args []any
}

func (a *arguments) Value(name string) any {
	i := slices.IndexFunc(a.fn.formal, func(f formal) bool { return f.name == name })
	if i < 0 {
		a.Fail(python.Crash("%s has no parameter %s", a.fn.Name, name))
		return nil
	}
	return a.Args[i]
}

func (a *arguments) Has(name string) bool { return a.Value(name) != nil }

// Series returns a list of series.
func (a *arguments) Series(name string) []*series.Series {
	list, ok := a.Value(name).([]*series.Series)
	if !ok {
		a.Fail(python.Crash("seriesLists is not a list of series"))
	}
	return list
}

// SeriesLists returns the lists that a variadic parameter took.
func (a *arguments) SeriesLists() [][]*series.Series {
	given := a.Rest("seriesLists")
	if len(given) == 1 && given[0] == nil {
		return [][]*series.Series{nil} // sumSeries(none) returns no series; with anything else it fails.
	}
	var lists [][]*series.Series
	for _, v := range given {
		list, ok := v.([]*series.Series)
		if !ok {
			a.Fail(python.Crash("seriesLists is not a list of series"))
		}
		lists = append(lists, list)
	}
	return lists
}

// Rest returns what a variadic parameter took.
func (a *arguments) Rest(name string) []any {
	list, _ := a.Value(name).([]any)
	return list
}

func (a *arguments) Float(name string) float64 {
	f, ok := python.Number(a.Value(name))
	if !ok {
		a.Fail(python.Crash("%s is not a number", name))
	}
	return f
}

// Integer returns a value that may stand in a slice or a range: no float.
func (a *arguments) Integer(name string) int64 {
	v := a.Value(name)
	if _, isFloat := v.(float64); isFloat {
		a.Fail(python.Crash("%s is not an integer", name))
	}
	return int64(a.Float(name))
}

// ToInt is Python's int(): floats are cut, texts are read.
func (a *arguments) ToInt(name string) int64 {
	switch v := a.Value(name).(type) {
	case string:
		n, ok := python.ParseInt(v)
		if !ok {
			a.Fail(python.Crash("%s is not an integer", name))
		}
		return n
	case float64:
		if math.IsNaN(v) || math.Abs(v) > 1<<62 {
			a.Fail(python.Crash("%s is not an integer", name))
			return 0
		}
	}
	return int64(a.Float(name))
}

func (a *arguments) Text(name string) string {
	s, ok := a.Value(name).(string)
	if !ok {
		a.Fail(python.Crash("%s is not a string", name))
	}
	return s
}

func (a *arguments) Truth(name string) bool { return truth(a.Value(name)) }

// Offset returns an interval in seconds; nothing is 0.
func (a *arguments) Offset(name string) int64 {
	if !a.Truth(name) {
		return 0
	}
	n, err := timespec.ParseOffset(a.Text(name))
	if err != nil {
		a.Fail(python.Crash("%s", err))
	}
	return n
}

// Interval returns an offset that series can be cut into. graphite-web loops for ever on others, if
// there is a series.
func (a *arguments) Interval(list []*series.Series) int64 {
	const name = "intervalString"
	n := a.Offset(name)
	if n <= 0 && len(list) > 0 {
		a.Fail(python.Crash("%s must be positive", name))
	}
	return max(n, 1)
}

func (a *arguments) Aggregator(name string) series.Aggregator {
	shown := a.Text(name)
	found, err := series.FindAggregator(shown, shown)
	if err != nil {
		a.Fail(err)
	}
	return found
}

func (a *arguments) Regexp(name string) *pyregexp.Regexp {
	pattern := a.Text(name)
	if len(pattern) <= 4*pyregexp.MaxPattern {
		a.Reserve(regexpBytes * int64(len(pattern)))
	}
	re, err := pyregexp.Compile(pattern)
	if err != nil {
		a.Fail(python.Crash("%s", err))
		re, _ = pyregexp.Compile("")
	}
	return re
}
