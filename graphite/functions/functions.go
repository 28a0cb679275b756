// Package functions has Graphite's functions, a file for each family. A family is a list of call.Function: what
// /functions shows of each, its signature, and the code, which is a function of a call.
package functions

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// All returns all functions by name. They are not to be changed.
func All() map[string]*call.Function {
	all := map[string]*call.Function{}
	for _, family := range families() {
		for _, f := range family {
			f.ParseSignature()
			all[f.Name] = &f
		}
	}
	completeOptions(all)
	return all
}

// families returns all functions, one list for each file that has some.
func families() [][]call.Function {
	return [][]call.Function{
		aggregateFamily(), aggregateListFamily(), wildcardFamily(), groupFamily(), percentFamily(), divideFamily(),
		mathFamily(), powerFamily(), gapFamily(), derivativeFamily(), integralFamily(), summarizeFamily(),
		hitcountFamily(), movingFamily(), deviationFamily(), holtWintersFamily(), regressionFamily(), shiftFamily(),
		filterFamily(), patternFamily(), percentileFamily(), sortFamily(), aliasFamily(), substringFamily(), legendFamily(), graphFamily(),
		lineFamily(), specialFamily(), generatorFamily(),
	}
}

func seriesParam(name string) call.Param {
	return call.Param{Name: name, Type: call.TypeSeriesList, Required: true}
}

func need(name string, t call.ParamType) call.Param {
	return call.Param{Name: name, Type: t, Required: true}
}
func opt(name string, t call.ParamType) call.Param { return call.Param{Name: name, Type: t} }
func with(name string, t call.ParamType, value any) call.Param {
	return call.Param{Name: name, Type: t, Default: value}
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
func completeOptions(all map[string]*call.Function) {
	callbacks := anys(series.AggregatorNames())
	for name, f := range all {
		if f.Aggregator {
			callbacks = append(callbacks, name)
		}
	}
	for _, f := range all {
		for i, p := range f.Params {
			switch p.Type {
			case call.TypeAggFunc:
				p.Options = append(p.Options, anys(series.AggregatorNames())...)
			case call.TypeAggOrSeriesFunc:
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
func perSeries(f func(*call.Call) ([]*series.Series, error)) func(*call.Call) ([]*series.Series, error) {
	return func(c *call.Call) ([]*series.Series, error) {
		if len(c.Series("seriesList")) == 0 {
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
