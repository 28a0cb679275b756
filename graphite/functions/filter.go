package functions

import (
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// filterFamily returns the functions that choose series by their values.
func filterFamily() []call.Function {
	n := need("n", call.TypeInteger)
	operators := []any{"!=", "<", "<=", "=", ">", ">="}
	ranked := []call.Param{seriesParam("seriesList"), n, with("func", call.TypeAggFunc, "average")}
	list := []call.Function{{
		Name: "filterSeries", Group: "Filter Series", Signature: "seriesList, func, operator, threshold",
		Doc:    "Keeps the series of which an aggregate compares to a threshold.",
		Params: []call.Param{seriesParam("seriesList"), need("func", call.TypeAggFunc), need("operator", call.TypeString).WithOptions(operators...), need("threshold", call.TypeFloat)},
		Call: func(c *call.Call) ([]*series.Series, error) {
			return filtered(c, c.Text("func"), c.Text("operator"), c.Value("threshold"))
		},
	}, {
		Name: "highest", Group: "Filter Series", Signature: "seriesList, n=1, func='average'", Params: slices.Clone(ranked),
		Doc:  "Keeps the n series with the highest aggregate.",
		Call: func(c *call.Call) ([]*series.Series, error) { return rankedBy(c, c.Text("func"), true) },
	}, {
		Name: "lowest", Group: "Filter Series", Signature: "seriesList, n=1, func='average'", Params: slices.Clone(ranked),
		Doc:  "Keeps the n series with the lowest aggregate.",
		Call: func(c *call.Call) ([]*series.Series, error) { return rankedBy(c, c.Text("func"), false) },
	}, {
		Name: "limit", Group: "Filter Series", Signature: "seriesList, n", Params: []call.Param{seriesParam("seriesList"), n}, Call: limit,
		Doc: "Keeps the first n series.",
	}, {
		Name: "mostDeviant", Group: "Filter Series", Signature: "seriesList, n", Params: []call.Param{seriesParam("seriesList"), n}, Call: mostDeviant,
		Doc: "Keeps the n series that vary most.",
	}}
	return append(append(list, thresholds()...), rankings()...)
}

// thresholds returns the filters that compare one aggregate with n.
func thresholds() []call.Function {
	params := []call.Param{seriesParam("seriesList"), need("n", call.TypeFloat)}
	var list []call.Function
	for _, f := range [...]struct{ name, aggregator, operator, doc string }{
		{"averageAbove", "average", ">", "Keeps the series whose average is above n."},
		{"averageBelow", "average", "<=", "Keeps the series whose average is at most n."},
		{"currentAbove", "last", ">", "Keeps the series whose last value is above n."},
		{"currentBelow", "last", "<=", "Keeps the series whose last value is at most n."},
		{"maximumAbove", "max", ">", "Keeps the series whose greatest value is above n."},
		{"maximumBelow", "max", "<=", "Keeps the series whose greatest value is at most n."},
		{"minimumAbove", "min", ">", "Keeps the series whose least value is above n."},
		{"minimumBelow", "min", "<=", "Keeps the series whose least value is at most n."},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Filter Series", Signature: "seriesList, n", Doc: f.doc, Params: params,
			Call: func(c *call.Call) ([]*series.Series, error) {
				return filtered(c, f.aggregator, f.operator, c.Value("n"))
			},
		})
	}
	return list
}

// rankings returns the filters that keep the n first by one aggregate.
func rankings() []call.Function {
	params := []call.Param{seriesParam("seriesList"), need("n", call.TypeInteger)}
	var list []call.Function
	for _, f := range [...]struct {
		name, aggregator string
		highest          bool
		doc              string
	}{
		{"highestAverage", "average", true, "Keeps the n series with the highest average."},
		{"highestCurrent", "current", true, "Keeps the n series with the highest last value."},
		{"highestMax", "max", true, "Keeps the n series with the highest greatest value."},
		{"lowestAverage", "average", false, "Keeps the n series with the lowest average."},
		{"lowestCurrent", "current", false, "Keeps the n series with the lowest last value."},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Filter Series", Signature: "seriesList, n", Doc: f.doc, Params: params,
			Call: func(c *call.Call) ([]*series.Series, error) { return rankedBy(c, f.aggregator, f.highest) },
		})
	}
	return list
}

func filtered(c *call.Call, function, operator string, threshold any) ([]*series.Series, error) {
	list := c.Series("seriesList")
	if c.Err != nil {
		return nil, nil
	}
	agg, err := series.FindAggregator(function, function)
	if err != nil {
		return nil, err
	}
	compare, ok := comparison(operator)
	if !ok {
		return nil, python.Invalid("Unsupported operator: %s", operator)
	}
	limit, isNumber := python.Number(threshold)
	var out []*series.Series
	for s := range c.Over(list) {
		v := agg.Of(s.Values)
		if !isNumber && !python.IsNone(v) && operator != "=" && operator != "!=" {
			return nil, python.Crash("the threshold is not a number")
		}
		if compare(v, limit) {
			out = append(out, s)
		}
	}
	return out, nil
}

// comparison takes null for less than everything.
func comparison(operator string) (func(v, limit float64) bool, bool) {
	switch operator {
	case "=":
		return func(v, limit float64) bool { return !python.IsNone(v) && v == limit }, true
	case "!=":
		return func(v, limit float64) bool { return python.IsNone(v) || v != limit }, true
	case ">":
		return func(v, limit float64) bool { return !python.IsNone(v) && v > limit }, true
	case ">=":
		return func(v, limit float64) bool { return !python.IsNone(v) && v >= limit }, true
	case "<":
		return func(v, limit float64) bool { return python.IsNone(v) || v < limit }, true
	case "<=":
		return func(v, limit float64) bool { return python.IsNone(v) || v <= limit }, true
	}
	return nil, false
}

func rankedBy(c *call.Call, function string, highest bool) ([]*series.Series, error) {
	list, err := sortedList(c, function, highest)
	n := c.ToInt("n")
	if err != nil || c.Err != nil {
		return nil, err
	}
	_, high := python.Bounds(0, n, len(list))
	return list[:high], nil
}

// sortedList orders series by an aggregate, null below everything; equals stay in order, also
// downwards.
func sortedList(c *call.Call, function string, down bool) ([]*series.Series, error) {
	agg, err := series.FindAggregator(function, function)
	if err != nil {
		return nil, err
	}
	return sortedBy(c.Series("seriesList"), agg.Of, down), nil
}

func sortedBy(list []*series.Series, of func([]float64) float64, down bool) []*series.Series {
	type ranked struct {
		s   *series.Series
		key float64
	}
	items := make([]ranked, len(list))
	for i, s := range list {
		items[i] = ranked{s, of(s.Values)}
		if python.IsNone(items[i].key) {
			items[i].key = math.Inf(-1)
		}
	}
	pythonSort(items, func(a, b ranked) bool { return a.key < b.key }, down)
	out := make([]*series.Series, len(items))
	for i, it := range items {
		out[i] = it.s
	}
	return out
}

func limit(c *call.Call) ([]*series.Series, error) {
	return headOf(c, c.Series("seriesList"), "n"), nil
}

func mostDeviant(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	variance := func(values []float64) float64 {
		mean, total, count := series.Average(values), 0.0, 0
		for _, v := range values {
			if python.IsNone(v) {
				continue
			}
			sq, err := series.Square(v - mean)
			if err != nil {
				c.Fail(err)
			}
			total, count = total+sq, count+1
		}
		return series.Quotient(total, float64(count))
	}
	list = slices.DeleteFunc(list, func(s *series.Series) bool { return python.IsNone(series.Average(s.Values)) })
	return headOf(c, sortedBy(list, variance, true), "n"), nil
}

// headOf is list[:n], in which none means all.
func headOf(c *call.Call, list []*series.Series, name string) []*series.Series {
	if !c.Has(name) {
		return list
	}
	_, high := python.Bounds(0, c.Integer(name), len(list))
	return list[:high]
}
