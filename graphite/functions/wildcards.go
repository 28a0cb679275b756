package functions

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// wildcardFamily returns the functions that group series by their names without some nodes.
func wildcardFamily() []call.Function {
	position := opt("position", call.TypeNode).Many()
	list := []call.Function{{
		Name: "aggregateWithWildcards", Group: "Combine", Signature: "seriesList, func, *positions",
		Doc:    "Joins the series whose names are equal but for the nodes at the given positions.",
		Params: []call.Param{seriesParam("seriesList"), need("func", call.TypeAggFunc), position},
		Call: perSeries(func(c *call.Call) ([]*series.Series, error) {
			return joinWithout(c, c.Series("seriesList"), c.Text("func"), c.Rest("positions"))
		}),
	}}
	for _, f := range [...]struct{ name, aggregator, doc string }{
		{"sumSeriesWithWildcards", "sum", "Adds the series whose names are equal but for the nodes at the given positions."},
		{"averageSeriesWithWildcards", "average", "Averages the series whose names are equal but for the nodes at the given positions."},
		{"multiplySeriesWithWildcards", "multiply", "Multiplies the series whose names are equal but for the nodes at the given positions."},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Combine", Signature: "seriesList, *position", Doc: f.doc, Aggregator: true,
			Params: []call.Param{seriesParam("seriesList"), position},
			Call: func(c *call.Call) ([]*series.Series, error) {
				return joinWithout(c, c.Series("seriesList"), f.aggregator, c.Rest("position"))
			},
		})
	}
	return list
}

func joinWithout(c *call.Call, list []*series.Series, aggregator string, positions []any) ([]*series.Series, error) {
	groups := groupBy(c, list, func(s *series.Series) string {
		var kept []string
		for i, node := range strings.Split(s.Name, ".") {
			if !c.Tick(1 + len(positions)) {
				break
			}
			if !slices.ContainsFunc(positions, func(p any) bool { return python.Equal(p, int64(i)) }) {
				kept = append(kept, node)
			}
		}
		return strings.Join(kept, ".")
	})
	return joinGroups(c, groups, func(list []*series.Series) ([]*series.Series, error) {
		return join(c, [][]*series.Series{list}, aggregator, nil)
	})
}

// keyed is a group of series with the key that they have in common.
type keyed struct {
	key  string
	list []*series.Series
}

// groupBy groups series by key, in the order in which the keys first occur, until the call has failed.
func groupBy(c *call.Call, list []*series.Series, key func(*series.Series) string) []keyed {
	var groups []keyed
	index := map[string]int{}
	for s := range c.Over(list) {
		k := key(s)
		i, ok := index[k]
		if !ok {
			i = len(groups)
			index[k], groups = i, append(groups, keyed{key: k})
		}
		groups[i].list = append(groups[i].list, s)
	}
	return groups
}

// joinGroups makes one series of each group and names it after the key.
func joinGroups(c *call.Call, groups []keyed, join func([]*series.Series) ([]*series.Series, error)) ([]*series.Series, error) {
	if c.Err != nil {
		return nil, nil
	}
	var out []*series.Series
	for _, g := range groups {
		s, err := first(join(g.list))
		if err != nil {
			return nil, err
		}
		s.Rename(g.key)
		out = append(out, s)
	}
	return out, nil
}
