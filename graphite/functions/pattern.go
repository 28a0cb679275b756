package functions

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/expr"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// patternFamily returns the functions that choose series by name.
func patternFamily() []call.Function {
	pattern := []call.Param{seriesParam("seriesList"), need("pattern", call.TypeString)}
	return []call.Function{{
		Name: "grep", Group: "Filter Series", Signature: "seriesList, pattern", Params: pattern, Doc: "Keeps the series whose name matches.",
		Call: func(c *call.Call) ([]*series.Series, error) { return matching(c, true) },
	}, {
		Name: "exclude", Group: "Filter Series", Signature: "seriesList, pattern", Params: pattern, Doc: "Leaves out the series whose name matches.",
		Call: func(c *call.Call) ([]*series.Series, error) { return matching(c, false) },
	}, {
		Name: "unique", Group: "Filter Series", Signature: "*seriesLists", Params: []call.Param{seriesParam("seriesLists").Many()}, Call: unique,
		Doc: "Leaves out series whose name was there before.",
	}, {
		Name: "fallbackSeries", Group: "Special", Signature: "seriesList, fallback", Params: []call.Param{seriesParam("seriesList"), seriesParam("fallback")},
		Doc: "Draws the fallback when there is no series.", Call: fallbackSeries,
	}, {
		Name: "useSeriesAbove", Group: "Filter Series", Signature: "seriesList, value, search, replace", Call: perSeries(useSeriesAbove),
		Doc:    "For each series whose greatest value is above a value, draws the series with the name that a replacement gives.",
		Params: []call.Param{seriesParam("seriesList"), need("value", call.TypeFloat), need("search", call.TypeString), need("replace", call.TypeString)},
	}}
}

func matching(c *call.Call, want bool) ([]*series.Series, error) {
	re := c.Regexp("pattern")
	var out []*series.Series
	for s := range c.Over(c.Series("seriesList")) {
		ok, err := re.Search(s.Name)
		if err != nil {
			return nil, python.Crash("%s", err)
		}
		if ok == want {
			out = append(out, s)
		}
	}
	return out, nil
}

func unique(c *call.Call) ([]*series.Series, error) {
	seen := map[string]bool{}
	var out []*series.Series
	for s := range c.Over(flatten(c.SeriesLists())) {
		if !seen[s.Name] {
			seen[s.Name] = true
			out = append(out, s)
		}
	}
	return out, nil
}

func fallbackSeries(c *call.Call) ([]*series.Series, error) {
	if list := c.Series("seriesList"); len(list) > 0 {
		return list, nil
	}
	return c.Series("fallback"), nil
}

// useSeriesAbove cannot compare nulls in graphite-web, so a series with one fails.
func useSeriesAbove(c *call.Call) ([]*series.Series, error) {
	list, value, re, replace := c.Series("seriesList"), c.Float("value"), c.Regexp("search"), c.Text("replace")
	var names []string
	bytes := 0
	for s := range c.Over(list) {
		name, err := re.Sub(replace, s.Name)
		if err != nil {
			return nil, python.Crash("%s", err)
		}
		if len(s.Values) == 0 || series.CountPresent(s.Values) < len(s.Values) {
			return nil, python.Crash("a null cannot be compared with %s", python.General(value))
		}
		if series.Maximum(s.Values) > value {
			if bytes += len(name) + 1; bytes > expr.MaxTarget {
				return nil, python.Invalid("the names make a target of more than %d bytes", expr.MaxTarget)
			}
			names = append(names, name)
		}
	}
	if len(names) == 0 || c.Err != nil {
		return nil, nil
	}
	out, err := c.EvaluateText("group(" + strings.Join(names, ",") + ")")
	return slices.DeleteFunc(out, func(s *series.Series) bool { return len(s.Values) == 0 }), err
}
