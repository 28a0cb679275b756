package functions

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// divideFamily returns the functions that divide series.
func divideFamily() []call.Function {
	return []call.Function{{
		Name: "divideSeries", Group: "Combine", Signature: "dividendSeriesList, divisorSeries", Call: divideSeries,
		Doc:    "Divides each series by one other.",
		Params: []call.Param{seriesParam("dividendSeriesList"), seriesParam("divisorSeries")},
	}, {
		Name: "divideSeriesLists", Group: "Combine", Signature: "dividendSeriesList, divisorSeriesList", Call: divideSeriesLists,
		Doc:    "Divides two lists of series pair by pair.",
		Params: []call.Param{seriesParam("dividendSeriesList"), seriesParam("divisorSeriesList")},
	}}
}

func divideSeries(c *call.Call) ([]*series.Series, error) {
	dividends, divisors := c.Series("dividendSeriesList"), c.Series("divisorSeries")
	if c.Err != nil {
		return nil, nil
	}
	if len(divisors) > 1 {
		return nil, python.Invalid("divideSeries second argument must reference exactly 1 series (got %d)", len(divisors))
	}
	if len(divisors) == 0 {
		for s := range c.Over(dividends) {
			s.Wrap("divideSeries(" + s.Name + ",MISSING)")
			c.Replace(s, func(float64) float64 { return python.None() })
		}
		return dividends, nil
	}
	var out []*series.Series
	for s := range c.Over(dividends) {
		q, err := divided(c, s, divisors[0])
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

func divideSeriesLists(c *call.Call) ([]*series.Series, error) {
	dividends, divisors := c.Series("dividendSeriesList"), c.Series("divisorSeriesList")
	if c.Err != nil {
		return nil, nil
	}
	if len(dividends) != len(divisors) {
		return nil, python.Invalid("dividendSeriesList and divisorSeriesList argument must have equal length")
	}
	var out []*series.Series
	for i, s := range dividends {
		q, err := divided(c, s, divisors[i])
		if err != nil {
			return nil, err
		}
		out = append(out, q)
	}
	return out, nil
}

func divided(c *call.Call, dividend, divisor *series.Series) (*series.Series, error) {
	pair := []*series.Series{dividend, divisor}
	start, end, step, _, err := series.Normalize(pair)
	if err != nil {
		return nil, err
	}
	values, err := c.PerRow(pair, func(row []float64) float64 { return series.Quotient(row[0], row[1]) })
	return c.Create(c.Called("divideSeries", dividend.Name, divisor.Name), start, end, step, values), err
}

func sortedByName(list []*series.Series) []*series.Series {
	return slices.SortedStableFunc(slices.Values(list), func(a, b *series.Series) int { return strings.Compare(a.Name, b.Name) })
}

// sortedPaths joins the distinct path expressions by alphabet.
func sortedPaths(c *call.Call, list []*series.Series) string {
	var paths []string
	for _, s := range list {
		paths = append(paths, s.PathExpression)
	}
	slices.Sort(paths)
	return c.Joined(slices.Compact(paths), ",")
}

func joinTexts(list []any) string {
	texts := make([]string, len(list))
	for i, v := range list {
		texts[i] = python.Text(v)
	}
	return strings.Join(texts, ",")
}
