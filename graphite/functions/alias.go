package functions

import (
	"strings"
	"unicode"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// aliasFamily returns the functions that name series.
func aliasFamily() []call.Function {
	one := seriesParam("seriesList")
	search, replace := need("search", call.TypeString), need("replace", call.TypeString)
	return []call.Function{{
		Name: "alias", Group: "Alias", Signature: "seriesList, newName", Params: []call.Param{one, need("newName", call.TypeString)}, Call: alias,
		Doc: "Names all series alike.",
	}, {
		Name: "aliasByMetric", Group: "Alias", Signature: "seriesList", Params: []call.Param{one}, Doc: "Names series after the last node.",
		Call: func(c *call.Call) ([]*series.Series, error) { return substring(c.Series("seriesList"), -1, 0), nil },
	}, {
		Name: "aliasByNode", Group: "Alias", Signature: "seriesList, *nodes", Params: []call.Param{one, need("nodes", call.TypeNodeOrTag).Many()},
		Doc:  "Names series after nodes of their names, counted from 0 or from the end with -1, and tags.",
		Call: func(c *call.Call) ([]*series.Series, error) { return aliasByNode(c, c.Rest("nodes")) },
	}, {
		Name: "aliasByTags", Group: "Alias", Signature: "seriesList, *tags", Params: []call.Param{one, need("tags", call.TypeNodeOrTag).Many()},
		Doc:  "Names series after tags and nodes.",
		Call: func(c *call.Call) ([]*series.Series, error) { return aliasByNode(c, c.Rest("tags")) },
	}, {
		Name: "aliasQuery", Group: "Alias", Signature: "seriesList, search, replace, newName", Call: perSeries(aliasQuery),
		Doc:    "Names each series after the last value of the series that a replacement in its name gives.",
		Params: []call.Param{one, search, replace, need("newName", call.TypeString)},
	}, {
		Name: "aliasSub", Group: "Alias", Signature: "seriesList, search, replace", Params: []call.Param{one, search, replace}, Call: perSeries(aliasSub),
		Doc: "Replaces what a regular expression matches in the names.",
	}, {
		Name: "lower", Group: "Alias", Signature: "seriesList, *pos", Params: []call.Param{one, opt("pos", call.TypeInteger).Many()},
		Doc:  "Makes names lower case, or only the letters at some positions.",
		Call: func(c *call.Call) ([]*series.Series, error) { return letters(c, unicode.ToLower) },
	}, {
		Name: "upper", Group: "Alias", Signature: "seriesList, *pos", Params: []call.Param{one, opt("pos", call.TypeInteger).Many()},
		Doc: "Makes names upper case, or only the letters at some positions.",
		Call: func(c *call.Call) ([]*series.Series, error) {
			for s := range c.Over(c.Series("seriesList")) {
				if len(c.Rest("pos")) == 0 {
					// The one letter that grows; unicode.ToUpper keeps it.
					s.Name = strings.ReplaceAll(s.Name, "ß", "SS")
				}
			}
			return letters(c, unicode.ToUpper)
		},
	}}
}

func alias(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		c.Rename(s, python.Text(c.Value("newName")))
		s.Unnamed = !c.Has("newName")
	}
	return list, nil
}

func aliasByNode(c *call.Call, nodes []any) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		c.Rename(s, c.NodeKey(s, nodes))
	}
	return list, nil
}

func aliasSub(c *call.Call) ([]*series.Series, error) {
	list, re, replace := c.Series("seriesList"), c.Regexp("search"), c.Text("replace")
	for s := range c.Over(list) {
		if s.Unnamed {
			return nil, python.Crash("a series has no name")
		}
		name, err := re.Sub(replace, s.Name)
		if err != nil {
			return nil, python.Crash("%s", err)
		}
		c.Rename(s, name)
	}
	return list, nil
}

func aliasQuery(c *call.Call) ([]*series.Series, error) {
	list, re, replace, format := c.Series("seriesList"), c.Regexp("search"), c.Text("replace"), c.Text("newName")
	if c.Err != nil {
		return nil, nil
	}
	for s := range c.Over(list) {
		query, err := re.Sub(replace, s.Name)
		if err != nil {
			return nil, python.Crash("%s", err)
		}
		found, err := c.EvaluateText(query)
		if err != nil {
			return nil, err
		}
		if len(found) == 0 {
			return nil, python.Invalid("No series found with query: %s", query)
		}
		value := series.Last(found[0].Values)
		if python.IsNone(value) {
			return nil, python.Crash("Cannot get last value of series: %s", found[0].Name)
		}
		name, err := python.Format(format, value, found[0].Ints)
		if err != nil {
			return nil, err
		}
		c.Rename(s, name)
	}
	return list, nil
}

// letters changes whole names, or the characters at positions, which may be counted from the end.
func letters(c *call.Call, change func(rune) rune) ([]*series.Series, error) {
	list, positions := c.Series("seriesList"), c.Rest("pos")
	for s := range c.Over(list) {
		name := []rune(s.Name)
		if len(positions) == 0 {
			c.Rename(s, strings.Map(change, s.Name))
			continue
		}
		for _, p := range positions {
			i, ok := p.(int64)
			if !ok {
				return nil, python.Crash("%s is not an integer", python.Text(p))
			}
			if i < 0 {
				i += int64(len(name))
			}
			if i >= 0 && i < int64(len(name)) {
				name[i] = change(name[i])
			}
		}
		c.Rename(s, string(name))
	}
	return list, nil
}
