package functions

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// aggregateListFamily returns the functions that join the first series of two lists, the second
// ones, and so on.
func aggregateListFamily() []call.Function {
	pair := []call.Param{seriesParam("seriesListFirstPos"), seriesParam("seriesListSecondPos")}
	list := []call.Function{{
		Name: "aggregateSeriesLists", Group: "Combine", Signature: "seriesListFirstPos, seriesListSecondPos, func, xFilesFactor=None",
		Doc:    "Joins two lists of series pair by pair with an aggregation function.",
		Params: []call.Param{pair[0], pair[1], need("func", call.TypeAggFunc), opt("xFilesFactor", call.TypeFloat)},
		Call: func(c *call.Call) ([]*series.Series, error) {
			if len(c.Series("seriesListFirstPos")) == 0 && len(c.Series("seriesListSecondPos")) == 0 {
				return nil, nil
			}
			var xff *float64
			if c.Has("xFilesFactor") {
				f := c.Float("xFilesFactor")
				xff = &f
			}
			return joinPairs(c, c.Text("func"), xff)
		},
	}}
	for _, f := range [...]struct{ name, aggregator, doc string }{
		{"sumSeriesLists", "sum", "Adds two lists of series pair by pair."},
		{"diffSeriesLists", "diff", "Subtracts the series of the second list from those of the first, pair by pair."},
		{"multiplySeriesLists", "multiply", "Multiplies two lists of series pair by pair."},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Combine", Signature: "seriesListFirstPos, seriesListSecondPos", Doc: f.doc, Aggregator: true, Params: pair,
			Call: func(c *call.Call) ([]*series.Series, error) { return joinPairs(c, f.aggregator, nil) },
		})
	}
	return list
}

func joinPairs(c *call.Call, name string, xff *float64) ([]*series.Series, error) {
	firsts, seconds := c.Series("seriesListFirstPos"), c.Series("seriesListSecondPos")
	if c.Err != nil {
		return nil, nil
	}
	if len(firsts) != len(seconds) {
		return nil, python.Invalid("seriesListFirstPos and seriesListSecondPos argument must have equal length")
	}
	var out []*series.Series
	for i, a := range firsts {
		b := seconds[i]
		joined, err := join(c, [][]*series.Series{{a, b}}, name, xff)
		if err != nil {
			return nil, err
		}
		for s := range c.Over(joined) {
			function, _, _ := strings.Cut(s.Name, "Series(")
			s.Rename(c.Called(function+"Series", a.Name, b.Name))
			out = append(out, s)
		}
	}
	return out, nil
}
