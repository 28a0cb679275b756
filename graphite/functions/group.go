package functions

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// groupFamily returns the functions that group series by nodes or tags.
func groupFamily() []call.Function {
	nodes := opt("nodes", call.TypeNodeOrTag).Many()
	callback := need("callback", call.TypeAggOrSeriesFunc)
	list := []call.Function{{
		Name: "group", Group: "Combine", Signature: "*seriesLists", Params: []call.Param{opt("seriesLists", call.TypeSeriesList).Many()},
		Doc:  "Makes one list of several.",
		Call: func(c *call.Call) ([]*series.Series, error) { return flatten(c.SeriesLists()), nil },
	}, {
		Name: "groupByNode", Group: "Combine", Signature: "seriesList, nodeNum, callback='average'",
		Doc:    "Joins the series that have a node or a tag in common.",
		Params: []call.Param{seriesParam("seriesList"), need("nodeNum", call.TypeNodeOrTag), with("callback", call.TypeAggOrSeriesFunc, "average")},
		Call:   perSeries(func(c *call.Call) ([]*series.Series, error) { return groupByNodes(c, []any{c.Value("nodeNum")}) }),
	}, {
		Name: "groupByNodes", Group: "Combine", Signature: "seriesList, callback, *nodes", Params: []call.Param{seriesParam("seriesList"), callback, nodes},
		Doc:  "Joins the series that have several nodes or tags in common.",
		Call: perSeries(func(c *call.Call) ([]*series.Series, error) { return groupByNodes(c, c.Rest("nodes")) }),
	}, {
		Name: "groupByTags", Group: "Combine", Signature: "seriesList, callback, *tags", Call: groupByTags,
		Doc:    "Joins the series that have tags in common.",
		Params: []call.Param{seriesParam("seriesList"), callback, need("tags", call.TypeTag).Many()},
	}, {
		Name: "applyByNode", Group: "Combine", Signature: "seriesList, nodeNum, templateFunction, newName=None", Call: perSeries(applyByNode),
		Doc: "Computes a target for each beginning of the series' names, which stands for % in it.",
		Params: []call.Param{
			seriesParam("seriesList"), need("nodeNum", call.TypeNode), need("templateFunction", call.TypeString), opt("newName", call.TypeString),
		},
	}}
	for _, name := range [...]string{"map", "mapSeries"} {
		list = append(list, call.Function{
			Name: name, Group: "Combine", Signature: "seriesList, *mapNodes", Lists: mapSeries,
			Doc:    "Makes a list of each group of series that have nodes in common, for reduceSeries.",
			Params: []call.Param{seriesParam("seriesList"), need("mapNodes", call.TypeNodeOrTag).Many()},
		})
	}
	for _, name := range [...]string{"reduce", "reduceSeries"} {
		list = append(list, call.Function{
			Name: name, Group: "Combine", Signature: "seriesLists, reduceFunction, reduceNode, *reduceMatchers", Call: reduceSeries,
			Doc: "Calls a function on the series of each list whose node matches, in the order of the matchers.",
			Params: []call.Param{
				need("seriesLists", call.TypeSeriesLists), need("reduceFunction", call.TypeString), need("reduceNode", call.TypeNode), need("reduceMatchers", call.TypeString).Many(),
			},
		})
	}
	return list
}

// callbackOf joins a group with a function of that name, or else an aggregator.
func callbackOf(c *call.Call, name string) func([]*series.Series) ([]*series.Series, error) {
	return func(list []*series.Series) ([]*series.Series, error) {
		if _, ok := c.Targets.Functions()[name]; ok {
			return c.Apply(name, list)
		}
		return join(c, [][]*series.Series{list}, name, nil)
	}
}

func groupByNodes(c *call.Call, nodes []any) ([]*series.Series, error) {
	groups := groupBy(c, c.Series("seriesList"), func(s *series.Series) string { return c.NodeKey(s, nodes) })
	return joinGroups(c, groups, callbackOf(c, c.Text("callback")))
}

func groupByTags(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	if len(c.Rest("tags")) == 0 {
		return nil, python.Invalid("groupByTags(): no tags specified")
	}
	if len(list) == 0 {
		return nil, nil
	}
	callback := c.Text("callback")
	var tags []string
	for _, v := range c.Rest("tags") {
		tag, ok := v.(string)
		if !ok {
			return nil, python.Crash("%s is no tag", python.Text(v))
		}
		tags = append(tags, tag)
	}
	groups := groupBy(c, list, tagKey(c, list, callback, tags))
	out, err := joinGroups(c, groups, callbackOf(c, callback))
	if err != nil {
		return nil, err
	}
	for s := range c.Over(out) {
		s.PathExpression = s.Name
		if s.Tags, err = series.ParseTags(s.Name); err != nil {
			return nil, python.Crash("%s", err)
		}
	}
	return out, nil
}

// tagKey makes a tagged name of the tags grouped by. Its metric is the name that all series share,
// else the callback; grouped by name it is each series' own.
func tagKey(c *call.Call, list []*series.Series, callback string, tags []string) func(*series.Series) string {
	byName := slices.Contains(tags, "name")
	common := callback
	names := groupBy(c, list, func(s *series.Series) string {
		name, ok := s.Tags["name"]
		if !ok {
			c.Fail(python.Crash("a series has no tag name"))
		}
		return name
	})
	if len(names) == 1 {
		common = names[0].key
	}
	return func(s *series.Series) string {
		metric := common
		if byName {
			metric = s.Tags["name"]
		}
		var pairs []string
		c.Tick(100 + len(tags))
		bytes := len(metric)
		for _, t := range tags {
			if bytes += len(t) + 2 + len(s.Tags[t]); !c.Fits(bytes) {
				return ""
			}
			if t != "name" {
				pairs = append(pairs, t+"="+s.Tags[t])
			}
		}
		slices.Sort(pairs)
		return c.Key(append([]string{metric}, pairs...), ";")
	}
}

func mapSeries(c *call.Call) ([][]*series.Series, error) {
	var out [][]*series.Series
	for _, g := range groupBy(c, c.Series("seriesList"), func(s *series.Series) string { return c.NodeKey(s, c.Rest("mapNodes")) }) {
		out = append(out, g.list)
	}
	return out, nil
}

func reduceSeries(c *call.Call) ([]*series.Series, error) {
	lists, ok := c.Value("seriesLists").([][]*series.Series)
	if !ok {
		return nil, python.Crash("seriesLists is no list of lists; use mapSeries")
	}
	function, at, matchers := c.Text("reduceFunction"), c.Integer("reduceNode"), c.Rest("reduceMatchers")
	if c.Err != nil {
		return nil, nil
	}
	groups, err := reduceGroups(c, flatten(lists), function, at, matchers)
	if err != nil {
		return nil, err
	}
	return joinGroups(c, groups, func(list []*series.Series) ([]*series.Series, error) {
		args := make([]any, len(list))
		for i, s := range list {
			if s == nil {
				return nil, python.Crash("no series matches %s", python.Text(matchers[i]))
			}
			args[i] = []*series.Series{s}
		}
		return c.Apply(function, args...)
	})
}

// reduceGroups groups series by the nodes before the one that a matcher names; each group has a
// place for each matcher.
func reduceGroups(c *call.Call, list []*series.Series, function string, at int64, matchers []any) ([]keyed, error) {
	var groups []keyed
	index := map[string]int{}
	for s := range c.Over(list) {
		nodes := strings.Split(s.Name, ".")
		c.Tick(len(nodes) + len(matchers))
		node, ok := python.Item(nodes, at)
		if !ok {
			return nil, python.Crash("%s has no node %d", s.Name, at)
		}
		m := slices.IndexFunc(matchers, func(v any) bool { return python.Equal(v, node) })
		if m < 0 {
			continue
		}
		_, high := python.Bounds(0, at, len(nodes))
		key := c.Joined([]string{strings.Join(nodes[:high], "."), "reduce", function}, ".")
		i, ok := index[key]
		if !ok {
			if !c.Reserve(series.Bytes + 8*int64(len(matchers))) {
				return nil, c.Err
			}
			i = len(groups)
			index[key], groups = i, append(groups, keyed{key, make([]*series.Series, len(matchers))})
		}
		groups[i].list[m] = s
	}
	return groups, nil
}

func applyByNode(c *call.Call) ([]*series.Series, error) {
	list, at, template := c.Series("seriesList"), c.Integer("nodeNum"), c.Text("templateFunction")
	if c.Err != nil || strings.TrimSpace(template) == "" { // a target that is empty has no series
		return nil, nil
	}
	prefixes := groupBy(c, list, func(s *series.Series) string {
		nodes := strings.Split(s.Name, ".")
		_, high := python.Bounds(0, at+1, len(nodes))
		return strings.Join(nodes[:high], ".")
	})
	slices.SortFunc(prefixes, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	var out []*series.Series
	for _, p := range prefixes {
		if call.ReplacedBytes(template, "%", p.key) > expr.MaxTarget {
			return nil, python.Invalid("the template makes a target of more than %d bytes", expr.MaxTarget)
		}
		made, err := c.EvaluateText(strings.ReplaceAll(template, "%", p.key))
		if err != nil {
			return nil, err
		}
		for s := range c.Over(made) {
			if c.Truth("newName") {
				newName := c.Text("newName")
				if !c.Fits(call.ReplacedBytes(newName, "%", p.key)) {
					return nil, c.Err
				}
				c.Rename(s, strings.ReplaceAll(newName, "%", p.key))
			}
			last := list[len(list)-1]
			s.PathExpression, s.Start, s.End = p.key, last.Start, last.End
			out = append(out, s)
		}
	}
	return out, nil
}
