package eval

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// families returns all functions, one list for each file that has some.
func families() [][]Function {
	return [][]Function{
		aggregateFamily(), aggregateListFamily(), wildcardFamily(), groupFamily(), percentFamily(), divideFamily(),
		mathFamily(), powerFamily(), gapFamily(), derivativeFamily(), integralFamily(), summarizeFamily(),
		hitcountFamily(), movingFamily(), deviationFamily(), holtWintersFamily(), regressionFamily(), shiftFamily(),
		filterFamily(), patternFamily(), percentileFamily(), sortFamily(), aliasFamily(), substringFamily(), legendFamily(), graphFamily(),
		lineFamily(), specialFamily(), generatorFamily(),
	}
}

func seriesParam(name string) Param { return Param{Name: name, Type: typeSeriesList, Required: true} }

func need(name string, t ParamType) Param {
	return Param{Name: name, Type: t, Required: true}
}
func opt(name string, t ParamType) Param { return Param{Name: name, Type: t} }
func with(name string, t ParamType, value any) Param {
	return Param{Name: name, Type: t, Default: value}
}

func (p Param) many() Param {
	p.Multiple = true
	return p
}

func (p Param) options(values ...any) Param {
	p.Options = values
	return p
}

func (p Param) suggest(values ...any) Param {
	p.Suggestions = values
	return p
}

func anys[T any](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = v
	}
	return out
}

// completeOptions adds to each parameter the options that its type has, sorted as graphite-web
// shows them.
func (e *Evaluator) completeOptions() {
	callbacks := anys(series.AggregatorNames())
	for name, f := range e.functions {
		if f.aggregator {
			callbacks = append(callbacks, name)
		}
	}
	for _, f := range e.functions {
		for i, p := range f.Params {
			switch p.Type {
			case typeAggFunc:
				p.Options = append(p.Options, anys(series.AggregatorNames())...)
			case typeAggOrSeriesFunc:
				p.Options = append(p.Options, callbacks...)
			}
			slices.SortFunc(p.Options, func(a, b any) int { return strings.Compare(python.Text(a), python.Text(b)) })
			p.Options = slices.CompactFunc(p.Options, func(a, b any) bool { return python.Text(a) == python.Text(b) })
			f.Params[i] = p
		}
	}
}

// perSeries is for functions that look at their further arguments only when there is a series:
// without one, even a bad argument is not an error.
func perSeries(f func(*call) ([]*series.Series, error)) func(*call) ([]*series.Series, error) {
	return func(c *call) ([]*series.Series, error) {
		if len(c.series("seriesList")) == 0 {
			return nil, nil
		}
		return f(c)
	}
}

// first is list[0], which Python refuses for an empty list.
func first(list []*series.Series, err error) (*series.Series, error) {
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, python.Crash("no series where one is needed")
	}
	return list[0], nil
}
