package functions

import (
	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// percentFamily returns the functions that draw parts of a whole.
func percentFamily() []call.Function {
	list := []call.Function{{
		Name: "weightedAverage", Group: "Combine", Signature: "seriesListAvg, seriesListWeight, *nodes", Call: weightedAverage,
		Doc:    "Averages series with weights from other series that have nodes in common with them.",
		Params: []call.Param{seriesParam("seriesListAvg"), seriesParam("seriesListWeight"), opt("nodes", call.TypeNodeOrTag).Many()},
	}}
	for _, name := range [...]string{"asPercent", "pct"} {
		list = append(list, call.Function{
			Name: name, Group: "Combine", Signature: "seriesList, total=None, *nodes", Aggregator: true, Call: asPercent,
			Doc:    "Draws each series as a percentage of a total: their sum, a number, a series, or a series each.",
			Params: []call.Param{seriesParam("seriesList"), opt("total", call.TypeAny), opt("nodes", call.TypeNodeOrTag).Many()},
		})
	}
	return list
}

func asPercent(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	if _, _, _, ok, err := series.Normalize(list); err != nil || !ok || c.Err != nil {
		return nil, err
	}
	if nodes := c.Rest("nodes"); len(nodes) > 0 {
		return percentByNode(c, list, nodes)
	}
	total := c.Value("total")
	switch t := total.(type) {
	case nil:
		return percentOfSum(c, list)
	case []*series.Series:
		return percentOfSeries(c, list, t)
	case [][]*series.Series:
		return nil, python.Crash("total is not a list of series")
	}
	n, ok := python.Number(total)
	if !ok {
		return nil, python.Crash("total is not a number")
	}
	totals := make([]float64, len(list[0].Values))
	for i := range totals {
		totals[i] = n
	}
	return percentOf(c, list, totals, python.Text(total))
}

func percentOfSum(c *call.Call, list []*series.Series) ([]*series.Series, error) {
	totals, err := c.PerRow(list, series.Present(series.Sum))
	if err != nil {
		return nil, err
	}
	return percentOf(c, list, totals, c.Called("sumSeries", pathExpressions(c, list)))
}

func percentOfSeries(c *call.Call, list, total []*series.Series) ([]*series.Series, error) {
	switch len(total) {
	case len(list):
		return percentPairs(c, list, total)
	case 1:
	default:
		return nil, python.Invalid("asPercent second argument must be missing, a single digit, reference exactly 1 series or " +
			"reference the same number of series as the first argument")
	}
	if _, _, _, _, err := series.Normalize(append(append([]*series.Series{}, list...), total...)); err != nil {
		return nil, err
	}
	totals, err := total[0].Iteration()
	if err != nil {
		return nil, err
	}
	return percentOf(c, list, totals, total[0].Name)
}

// percentPairs matches series by the order of their names.
func percentPairs(c *call.Call, list, total []*series.Series) ([]*series.Series, error) {
	var out []*series.Series
	totals := sortedByName(total)
	for i, s := range sortedByName(list) {
		p, err := percentPair(c, s, totals[i])
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

func percentPair(c *call.Call, s, total *series.Series) (*series.Series, error) {
	pair := []*series.Series{s, total}
	start, end, step, _, err := series.Normalize(pair)
	if err != nil {
		return nil, err
	}
	values, err := c.PerRow(pair, percentOfRow)
	return c.Create(c.Called("asPercent", s.Name, total.Name), start, end, step, values), err
}

func percentOfRow(row []float64) float64 { return series.Times(series.Quotient(row[0], row[1]), 100) }

// percentOf keeps the grid of each series, also when it was joined to a coarser one, as
// graphite-web does.
func percentOf(c *call.Call, list []*series.Series, totals []float64, name string) ([]*series.Series, error) {
	var out []*series.Series
	for s := range c.Over(list) {
		own, err := s.Iteration()
		if err != nil {
			return nil, err
		}
		values := make([]float64, max(len(own), len(totals)))
		for i := range values {
			values[i] = percentOfRow([]float64{at(own, i), at(totals, i)})
		}
		out = append(out, c.Create(c.Called("asPercent", s.Name, name), s.Start, s.End, s.Step, values))
	}
	return out, nil
}

// at returns a value, null after the end.
func at(values []float64, i int) float64 {
	if i < len(values) {
		return values[i]
	}
	return python.None()
}

// percentByNode takes as total of each group the sum of the totals with the same key, or of the
// group itself.
func percentByNode(c *call.Call, list []*series.Series, nodes []any) ([]*series.Series, error) {
	key := func(s *series.Series) string { return c.NodeKey(s, nodes) }
	groups := groupBy(c, list, key)
	totals := groups
	if c.Has("total") {
		given, ok := c.Value("total").([]*series.Series)
		if !ok {
			return nil, python.Invalid("total must be None or a seriesList")
		}
		totals = groupBy(c, given, key)
	}
	if c.Err != nil {
		return nil, nil
	}
	p := &percentGroups{Call: c, totals: map[string]*series.Series{}}
	for _, g := range totals {
		if err := p.addTotal(g); err != nil {
			return nil, err
		}
	}
	return p.compute(groups, totals)
}

// percentGroups also keeps the grid of the latest computation: graphite-web draws totals without
// series on it.
type percentGroups struct {
	*call.Call
	totals           map[string]*series.Series
	start, end, step int64
	known            bool
}

func (p *percentGroups) grid(list []*series.Series) (err error) {
	p.start, p.end, p.step, p.known, err = series.Normalize(list)
	return err
}

func (p *percentGroups) addTotal(g keyed) error {
	if len(g.list) == 1 {
		p.totals[g.key] = g.list[0]
		return nil
	}
	if err := p.grid(g.list); err != nil {
		return err
	}
	values, err := p.PerRow(g.list, series.Present(series.Sum))
	p.totals[g.key] = p.Create(p.Called("sumSeries", pathExpressions(p.Call, g.list)), p.start, p.end, p.step, values)
	return err
}

func (p *percentGroups) compute(groups, totals []keyed) ([]*series.Series, error) {
	var out []*series.Series
	has := map[string]bool{}
	for _, g := range groups {
		has[g.key] = true
		for _, s := range g.list {
			drawn, err := p.one(s, p.totals[g.key])
			if err != nil {
				return nil, err
			}
			out = append(out, drawn)
		}
	}
	for _, g := range totals {
		if has[g.key] {
			continue
		}
		drawn, err := p.missing(p.totals[g.key], p.Called("asPercent", "MISSING", p.totals[g.key].Name))
		if err != nil {
			return nil, err
		}
		out = append(out, drawn)
	}
	return out, nil
}

func (p *percentGroups) one(s, total *series.Series) (*series.Series, error) {
	if total == nil {
		return p.missing(s, p.Called("asPercent", s.Name, "MISSING"))
	}
	if err := p.grid([]*series.Series{s, total}); err != nil {
		return nil, err
	}
	return percentPair(p.Call, s, total)
}

func (p *percentGroups) missing(s *series.Series, name string) (*series.Series, error) {
	if !p.known {
		return nil, python.Crash("no series has both a value and a total")
	}
	values, err := s.Iteration()
	nulls := make([]float64, len(values))
	for i := range nulls {
		nulls[i] = python.None()
	}
	return p.Create(name, p.start, p.end, p.step, nulls), err
}

func weightedAverage(c *call.Call) ([]*series.Series, error) {
	list, weights, nodes := c.Series("seriesListAvg"), c.Series("seriesListWeight"), c.Rest("nodes")
	if c.Err != nil {
		return nil, nil
	}
	if len(list) != len(weights) {
		return nil, python.Invalid("weightedAverage must receive the same number of series for seriesListAvg and seriesListWeight but received respectively %d and %d", len(list), len(weights))
	}
	products := weighted(c, list, weights, nodes)
	if len(products) == 0 || c.Err != nil {
		return nil, nil
	}
	sums, err := first(join(c, [][]*series.Series{products}, "sum", nil))
	if err != nil {
		return nil, err
	}
	total, err := first(join(c, [][]*series.Series{weights}, "sum", nil))
	if err != nil {
		return nil, err
	}
	values, err := c.PerRow([]*series.Series{sums, total}, func(row []float64) float64 { return series.Quotient(row[0], row[1]) })
	name := c.Joined([]string{"weightedAverage(", sortedPaths(c, list), ", ", sortedPaths(c, weights), ", ", joinTexts(nodes), ")"}, "")
	return []*series.Series{c.Create(name, sums.Start, sums.End, sums.Step, values)}, err
}

// weighted multiplies the series that have a key in common; of several with one key the last
// counts.
func weighted(c *call.Call, list, weights []*series.Series, nodes []any) []*series.Series {
	type pair struct{ value, weight *series.Series }
	pairs := map[string]*pair{}
	var order []*pair
	find := func(s *series.Series) *pair {
		key := c.NodeKey(s, nodes)
		if pairs[key] == nil {
			pairs[key] = &pair{}
			order = append(order, pairs[key])
		}
		return pairs[key]
	}
	for i := range list {
		if c.Stopped() {
			return nil
		}
		find(list[i]).value = list[i]
		find(weights[i]).weight = weights[i]
	}
	var out []*series.Series
	for _, p := range order {
		if p.value == nil || p.weight == nil {
			continue
		}
		values := make([]float64, max(len(p.value.Values), len(p.weight.Values)))
		for i := range values {
			values[i] = series.Times(at(p.value.Values, i), at(p.weight.Values, i))
		}
		name := c.Called("product", p.weight.Name, p.value.Name)
		out = append(out, c.Create(name, p.value.Start, p.value.End, p.value.Step, values))
	}
	return out
}
