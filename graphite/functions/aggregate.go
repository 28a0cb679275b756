package functions

import (
	"maps"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// aggregateFamily returns the functions that make one series of many, slot by slot.
func aggregateFamily() []call.Function {
	all := seriesParam("seriesLists").Many()
	list := []call.Function{{
		Name: "aggregate", Group: "Combine", Signature: "seriesList, func, xFilesFactor=None", Call: aggregate,
		Doc:    "Joins series slot by slot with an aggregation function.",
		Params: []call.Param{seriesParam("seriesList"), need("func", call.TypeAggFunc), opt("xFilesFactor", call.TypeFloat)},
	}, {
		Name: "countSeries", Group: "Combine", Signature: "*seriesLists", Aggregator: true, Call: countSeries,
		Doc:    "Draws the number of series, whether they have points or not.",
		Params: []call.Param{opt("seriesLists", call.TypeSeriesList).Many()},
	}, {
		Name: "multiplySeries", Group: "Combine", Signature: "*seriesLists", Aggregator: true, Call: multiplySeries,
		Doc: "Draws the product of series; a slot is null when any of them is.", Params: []call.Param{all},
	}, {
		Name: "powSeries", Group: "Combine", Signature: "*seriesLists", Aggregator: true, Call: powSeries,
		Doc: "Raises the first series to the power of the second, that to the power of the third and so on.", Params: []call.Param{seriesParam("seriesList").Many()},
	}, {
		Name: "percentileOfSeries", Group: "Combine", Signature: "seriesList, n, interpolate=False", Call: percentileOfSeries,
		Doc:    "Draws the n-th percentile of the series' values in each slot.",
		Params: []call.Param{seriesParam("seriesList"), need("n", call.TypeFloat), with("interpolate", call.TypeBoolean, false)},
	}}
	for _, f := range [...]struct{ name, aggregator, doc string }{
		{"sumSeries", "sum", "Draws the sum of series."},
		{"sum", "sum", "Draws the sum of series."},
		{"averageSeries", "average", "Draws the average of series."},
		{"avg", "average", "Draws the average of series."},
		{"minSeries", "min", "Draws the least value of series."},
		{"maxSeries", "max", "Draws the greatest value of series."},
		{"diffSeries", "diff", "Draws the first series less all others."},
		{"rangeOfSeries", "rangeOf", "Draws the difference between the greatest and the least value of series."},
		{"stddevSeries", "stddev", "Draws the standard deviation of series."},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Combine", Signature: "*seriesLists", Doc: f.doc, Aggregator: true, Params: []call.Param{all},
			Call: func(c *call.Call) ([]*series.Series, error) { return join(c, c.SeriesLists(), f.aggregator, nil) },
		})
	}
	return list
}

func aggregate(c *call.Call) ([]*series.Series, error) {
	var lists [][]*series.Series
	switch v := c.Value("seriesList").(type) {
	case []*series.Series:
		lists = [][]*series.Series{v}
	case [][]*series.Series: // mapSeries' result; only this function takes it.
		lists = v
	default:
		c.Fail(python.Crash("seriesList is not a list of series"))
	}
	var xff *float64
	if c.Has("xFilesFactor") {
		f := c.Float("xFilesFactor")
		xff = &f
	}
	return join(c, lists, c.Text("func"), xff)
}

// join aggregates all series of all lists into one; without series it gives none.
func join(c *call.Call, lists [][]*series.Series, name string, xff *float64) ([]*series.Series, error) {
	if c.Err != nil {
		return nil, nil
	}
	short := series.ShortName(name)
	agg, err := series.FindAggregator(short, name)
	if err != nil {
		return nil, err
	}
	list := flatten(lists)
	start, end, step, ok, err := series.Normalize(list)
	if err != nil || !ok {
		return nil, err
	}
	factor := c.Scope.XFilesFactor
	if xff != nil {
		factor = *xff
	}
	values, err := c.PerRow(list, func(row []float64) float64 {
		if !series.Enough(series.CountPresent(row), len(row), factor) {
			return python.None()
		}
		return agg.Of(row)
	})
	if err != nil {
		return nil, err
	}
	out := c.Create(c.Called(short+"Series", pathExpressions(c, list)), start, end, step, values)
	out.Tags, out.XFilesFactor, out.Ints = joinedTags(list, out.Name, short), factor, agg.IntsOf(list)
	return []*series.Series{out}, nil
}

func flatten(lists [][]*series.Series) []*series.Series {
	var list []*series.Series
	for _, l := range lists {
		list = append(list, l...)
	}
	return list
}

// joinedTags returns the tags that all series agree on, and how they were joined.
func joinedTags(list []*series.Series, name, aggregator string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, list[0].Tags)
	for _, s := range list[1:] {
		for k, v := range tags {
			if other, ok := s.Tags[k]; !ok || other != v {
				delete(tags, k)
			}
		}
	}
	if _, ok := tags["name"]; !ok {
		tags["name"] = name
	}
	tags["aggregatedBy"] = aggregator
	return tags
}

// pathExpressions joins the distinct path expressions in order: what an aggregate is named after.
func pathExpressions(c *call.Call, list []*series.Series) string {
	seen := map[string]bool{}
	var paths []string
	for _, s := range list {
		if !seen[s.PathExpression] {
			seen[s.PathExpression] = true
			paths = append(paths, s.PathExpression)
		}
	}
	return c.Joined(paths, ",")
}

func multiplySeries(c *call.Call) ([]*series.Series, error) {
	lists := c.SeriesLists()
	if len(lists) == 1 && len(lists[0]) == 1 {
		return lists[0], nil
	}
	return join(c, lists, "multiply", nil)
}

func countSeries(c *call.Call) ([]*series.Series, error) {
	lists := c.SeriesLists()
	if c.Err != nil {
		return nil, nil
	}
	if len(lists) == 0 {
		zero := constant(c, int64(0))
		zero.PathExpression = "countSeries()"
		return []*series.Series{zero}, nil
	}
	list := flatten(lists)
	start, end, step, ok, err := series.Normalize(list)
	if err != nil || !ok {
		return nil, err
	}
	values, err := c.PerRow(list, func(row []float64) float64 { return float64(len(row)) })
	if err != nil {
		return nil, err
	}
	out := c.Create(c.Called("countSeries", pathExpressions(c, list)), start, end, step, values)
	out.Ints = true
	return []*series.Series{out}, nil
}

func powSeries(c *call.Call) ([]*series.Series, error) {
	list := flatten(c.SeriesLists())
	start, end, step, ok, err := series.Normalize(list)
	if err != nil || !ok {
		return nil, err
	}
	values, err := c.PerRow(list, func(row []float64) float64 {
		p := row[0]
		for _, v := range row[1:] {
			p = series.Power(p, v)
		}
		return p
	})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Name
	}
	return []*series.Series{c.Create(c.Called("powSeries", names...), start, end, step, values)}, nil
}

func percentileOfSeries(c *call.Call) ([]*series.Series, error) {
	n, interpolate, list := c.Float("n"), c.Truth("interpolate"), c.Series("seriesList")
	if c.Err != nil {
		return nil, nil
	}
	if n <= 0 {
		return nil, python.Invalid("The requested percent is required to be greater than 0")
	}
	if len(list) == 0 {
		return nil, nil
	}
	name := "percentileOfSeries(" + list[0].PathExpression + "," + python.General(n) + ")"
	start, end, step, _, err := series.Normalize(list)
	if err != nil {
		return nil, err
	}
	values, err := c.PerRow(list, func(row []float64) float64 {
		v, err := percentile(c, row, n, interpolate)
		if err != nil {
			c.Fail(err)
		}
		return v
	})
	if err != nil {
		return nil, err
	}
	return []*series.Series{c.Create(name, start, end, step, values)}, nil
}
