package eval

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// wildcardFamily returns the functions that group series by their names without some nodes.
func wildcardFamily() []Function {
	position := opt("position", typeNode).many()
	list := []Function{{
		Name: "aggregateWithWildcards", Group: "Combine", Signature: "seriesList, func, *positions",
		Doc:    "Joins the series whose names are equal but for the nodes at the given positions.",
		Params: []Param{seriesParam("seriesList"), need("func", typeAggFunc), position},
		call: perSeries(func(c *call) ([]*series.Series, error) {
			return joinWithout(c, c.series("seriesList"), c.string("func"), c.rest("positions"))
		}),
	}}
	for _, f := range [...]struct{ name, aggregator, doc string }{
		{"sumSeriesWithWildcards", "sum", "Adds the series whose names are equal but for the nodes at the given positions."},
		{"averageSeriesWithWildcards", "average", "Averages the series whose names are equal but for the nodes at the given positions."},
		{"multiplySeriesWithWildcards", "multiply", "Multiplies the series whose names are equal but for the nodes at the given positions."},
	} {
		list = append(list, Function{
			Name: f.name, Group: "Combine", Signature: "seriesList, *position", Doc: f.doc, aggregator: true,
			Params: []Param{seriesParam("seriesList"), position},
			call: func(c *call) ([]*series.Series, error) {
				return joinWithout(c, c.series("seriesList"), f.aggregator, c.rest("position"))
			},
		})
	}
	return list
}

func joinWithout(c *call, list []*series.Series, aggregator string, positions []any) ([]*series.Series, error) {
	groups := groupBy(c, list, func(s *series.Series) string {
		var kept []string
		for i, node := range strings.Split(s.Name, ".") {
			if !c.tick(1 + len(positions)) {
				break
			}
			if !slices.ContainsFunc(positions, func(p any) bool { return equal(p, int64(i)) }) {
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
func groupBy(c *call, list []*series.Series, key func(*series.Series) string) []keyed {
	var groups []keyed
	index := map[string]int{}
	for s := range c.over(list) {
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
func joinGroups(c *call, groups []keyed, join func([]*series.Series) ([]*series.Series, error)) ([]*series.Series, error) {
	if c.err != nil {
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
