package eval

import (
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// aggregateListFamily returns the functions that join the first series of two lists, the second
// ones, and so on.
func aggregateListFamily() []Function {
	pair := []Param{seriesParam("seriesListFirstPos"), seriesParam("seriesListSecondPos")}
	list := []Function{{
		Name: "aggregateSeriesLists", Group: "Combine", Signature: "seriesListFirstPos, seriesListSecondPos, func, xFilesFactor=None",
		Doc:    "Joins two lists of series pair by pair with an aggregation function.",
		Params: []Param{pair[0], pair[1], need("func", typeAggFunc), opt("xFilesFactor", typeFloat)},
		call: func(c *call) ([]*series.Series, error) {
			if len(c.series("seriesListFirstPos")) == 0 && len(c.series("seriesListSecondPos")) == 0 {
				return nil, nil
			}
			var xff *float64
			if c.has("xFilesFactor") {
				f := c.float("xFilesFactor")
				xff = &f
			}
			return joinPairs(c, c.string("func"), xff)
		},
	}}
	for _, f := range [...]struct{ name, aggregator, doc string }{
		{"sumSeriesLists", "sum", "Adds two lists of series pair by pair."},
		{"diffSeriesLists", "diff", "Subtracts the series of the second list from those of the first, pair by pair."},
		{"multiplySeriesLists", "multiply", "Multiplies two lists of series pair by pair."},
	} {
		list = append(list, Function{
			Name: f.name, Group: "Combine", Signature: "seriesListFirstPos, seriesListSecondPos", Doc: f.doc, aggregator: true, Params: pair,
			call: func(c *call) ([]*series.Series, error) { return joinPairs(c, f.aggregator, nil) },
		})
	}
	return list
}

func joinPairs(c *call, name string, xff *float64) ([]*series.Series, error) {
	firsts, seconds := c.series("seriesListFirstPos"), c.series("seriesListSecondPos")
	if c.err != nil {
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
		for s := range c.over(joined) {
			function, _, _ := strings.Cut(s.Name, "Series(")
			s.Rename(c.called(function+"Series", a.Name, b.Name))
			out = append(out, s)
		}
	}
	return out, nil
}
