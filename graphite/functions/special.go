package functions

import (
	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// specialFamily returns the functions that change how points are joined, and seriesByTag.
func specialFamily() []call.Function {
	list := []call.Function{{
		Name: "consolidateBy", Group: "Special", Signature: "seriesList, consolidationFunc",
		Doc: "Sets how points are joined when there are more than maxDataPoints.",
		Params: []call.Param{
			seriesParam("seriesList"), need("consolidationFunc", call.TypeString).WithOptions("sum", "average", "avg", "avg_zero", "min", "max", "first", "last"),
		},
		Call: func(c *call.Call) ([]*series.Series, error) {
			return consolidateBy(c, python.Text(c.Value("consolidationFunc")))
		},
	}, {
		Name: "cumulative", Group: "Special", Signature: "seriesList", Params: []call.Param{seriesParam("seriesList")},
		Doc:  "Adds points up when there are more than maxDataPoints.",
		Call: func(c *call.Call) ([]*series.Series, error) { return consolidateBy(c, "sum") },
	}, {
		// What it stands for is fetched, not called; this is for /functions.
		Name: "seriesByTag", Group: "Special", Signature: "*tagExpressions", Params: []call.Param{need("tagExpressions", call.TypeString).Many()},
		Doc: "Finds series by their tags.",
		Call: func(*call.Call) ([]*series.Series, error) {
			return nil, python.Crash("seriesByTag cannot be a callback")
		},
	}}
	for _, name := range [...]string{"setXFilesFactor", "xFilesFactor"} {
		list = append(list, call.Function{
			Name: name, Group: "Special", Signature: "seriesList, xFilesFactor", Call: setXFilesFactor,
			Doc:    "Sets the part of a bucket's points that must be there for a result, here and in all that follows.",
			Params: []call.Param{seriesParam("seriesList"), need("xFilesFactor", call.TypeFloat)},
		})
	}
	return list
}

// consolidateBy takes any word: Consolidate finds those that do not exist.
func consolidateBy(c *call.Call, name string) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.ConsolidationFunc = name
		s.Tags["consolidateBy"] = name
		s.Wrap("consolidateBy(" + s.Name + `,"` + name + `")`)
	}
	return list, nil
}

// setXFilesFactor holds for the rest of the request, as graphite-web's does.
func setXFilesFactor(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	// What is not a number fails in graphite-web only when it is used.
	factor, _ := python.Number(c.Value("xFilesFactor"))
	c.Scope.XFilesFactor = factor
	for s := range c.Over(list) {
		s.XFilesFactor = factor
		s.Tags["xFilesFactor"] = python.Text(c.Value("xFilesFactor"))
	}
	return list, nil
}
