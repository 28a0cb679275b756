package eval

import (
	"strings"
	"unicode"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// aliasFamily returns the functions that name series.
func aliasFamily() []Function {
	one := seriesParam("seriesList")
	search, replace := need("search", typeString), need("replace", typeString)
	return []Function{{
		Name: "alias", Group: "Alias", Signature: "seriesList, newName", Params: []Param{one, need("newName", typeString)}, call: alias,
		Doc: "Names all series alike.",
	}, {
		Name: "aliasByMetric", Group: "Alias", Signature: "seriesList", Params: []Param{one}, Doc: "Names series after the last node.",
		call: func(c *call) ([]*series.Series, error) { return substring(c.series("seriesList"), -1, 0), nil },
	}, {
		Name: "aliasByNode", Group: "Alias", Signature: "seriesList, *nodes", Params: []Param{one, need("nodes", typeNodeOrTag).many()},
		Doc:  "Names series after nodes of their names, counted from 0 or from the end with -1, and tags.",
		call: func(c *call) ([]*series.Series, error) { return aliasByNode(c, c.rest("nodes")) },
	}, {
		Name: "aliasByTags", Group: "Alias", Signature: "seriesList, *tags", Params: []Param{one, need("tags", typeNodeOrTag).many()},
		Doc:  "Names series after tags and nodes.",
		call: func(c *call) ([]*series.Series, error) { return aliasByNode(c, c.rest("tags")) },
	}, {
		Name: "aliasQuery", Group: "Alias", Signature: "seriesList, search, replace, newName", call: perSeries(aliasQuery),
		Doc:    "Names each series after the last value of the series that a replacement in its name gives.",
		Params: []Param{one, search, replace, need("newName", typeString)},
	}, {
		Name: "aliasSub", Group: "Alias", Signature: "seriesList, search, replace", Params: []Param{one, search, replace}, call: perSeries(aliasSub),
		Doc: "Replaces what a regular expression matches in the names.",
	}, {
		Name: "lower", Group: "Alias", Signature: "seriesList, *pos", Params: []Param{one, opt("pos", typeInteger).many()},
		Doc:  "Makes names lower case, or only the letters at some positions.",
		call: func(c *call) ([]*series.Series, error) { return letters(c, unicode.ToLower) },
	}, {
		Name: "upper", Group: "Alias", Signature: "seriesList, *pos", Params: []Param{one, opt("pos", typeInteger).many()},
		Doc: "Makes names upper case, or only the letters at some positions.",
		call: func(c *call) ([]*series.Series, error) {
			for s := range c.over(c.series("seriesList")) {
				if len(c.rest("pos")) == 0 {
					// The one letter that grows; unicode.ToUpper keeps it.
					s.Name = strings.ReplaceAll(s.Name, "ß", "SS")
				}
			}
			return letters(c, unicode.ToUpper)
		},
	}}
}

func alias(c *call) ([]*series.Series, error) {
	list := c.series("seriesList")
	for s := range c.over(list) {
		c.rename(s, python.Text(c.value("newName")))
		s.Unnamed = !c.has("newName")
	}
	return list, nil
}

func aliasByNode(c *call, nodes []any) ([]*series.Series, error) {
	list := c.series("seriesList")
	for s := range c.over(list) {
		c.rename(s, c.nodeKey(s, nodes))
	}
	return list, nil
}

func aliasSub(c *call) ([]*series.Series, error) {
	list, re, replace := c.series("seriesList"), c.regexp("search"), c.string("replace")
	for s := range c.over(list) {
		if s.Unnamed {
			return nil, python.Crash("a series has no name")
		}
		name, err := re.Sub(replace, s.Name)
		if err != nil {
			return nil, python.Crash("%s", err)
		}
		c.rename(s, name)
	}
	return list, nil
}

func aliasQuery(c *call) ([]*series.Series, error) {
	list, re, replace, format := c.series("seriesList"), c.regexp("search"), c.string("replace"), c.string("newName")
	if c.err != nil {
		return nil, nil
	}
	for s := range c.over(list) {
		query, err := re.Sub(replace, s.Name)
		if err != nil {
			return nil, python.Crash("%s", err)
		}
		found, err := c.evaluateText(query)
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
		c.rename(s, name)
	}
	return list, nil
}

// letters changes whole names, or the characters at positions, which may be counted from the end.
func letters(c *call, change func(rune) rune) ([]*series.Series, error) {
	list, positions := c.series("seriesList"), c.rest("pos")
	for s := range c.over(list) {
		name := []rune(s.Name)
		if len(positions) == 0 {
			c.rename(s, strings.Map(change, s.Name))
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
		c.rename(s, string(name))
	}
	return list, nil
}
