package eval

import (
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// specialFamily returns the functions that change how points are joined, and seriesByTag.
func specialFamily() []Function {
	list := []Function{{
		Name: "consolidateBy", Group: "Special", Signature: "seriesList, consolidationFunc",
		Doc: "Sets how points are joined when there are more than maxDataPoints.",
		Params: []Param{
			seriesParam("seriesList"), need("consolidationFunc", typeString).options("sum", "average", "avg", "avg_zero", "min", "max", "first", "last"),
		},
		call: func(c *call) ([]*series.Series, error) {
			return consolidateBy(c, python.Text(c.value("consolidationFunc")))
		},
	}, {
		Name: "cumulative", Group: "Special", Signature: "seriesList", Params: []Param{seriesParam("seriesList")},
		Doc:  "Adds points up when there are more than maxDataPoints.",
		call: func(c *call) ([]*series.Series, error) { return consolidateBy(c, "sum") },
	}, {
		// What it stands for is fetched, not called; this is for /functions.
		Name: "seriesByTag", Group: "Special", Signature: "*tagExpressions", Params: []Param{need("tagExpressions", typeString).many()},
		Doc:  "Finds series by their tags.",
		call: func(*call) ([]*series.Series, error) { return nil, python.Crash("seriesByTag cannot be a callback") },
	}}
	for _, name := range [...]string{"setXFilesFactor", "xFilesFactor"} {
		list = append(list, Function{
			Name: name, Group: "Special", Signature: "seriesList, xFilesFactor", call: setXFilesFactor,
			Doc:    "Sets the part of a bucket's points that must be there for a result, here and in all that follows.",
			Params: []Param{seriesParam("seriesList"), need("xFilesFactor", typeFloat)},
		})
	}
	return list
}

// consolidateBy takes any word: Consolidate finds those that do not exist.
func consolidateBy(c *call, name string) ([]*series.Series, error) {
	list := c.series("seriesList")
	for s := range c.over(list) {
		s.ConsolidationFunc = name
		s.Tags["consolidateBy"] = name
		s.Wrap("consolidateBy(" + s.Name + `,"` + name + `")`)
	}
	return list, nil
}

// setXFilesFactor holds for the rest of the request, as graphite-web's does.
func setXFilesFactor(c *call) ([]*series.Series, error) {
	list := c.series("seriesList")
	// What is not a number fails in graphite-web only when it is used.
	factor, _ := number(c.value("xFilesFactor"))
	c.scope.xff = factor
	for s := range c.over(list) {
		s.XFilesFactor = factor
		s.Tags["xFilesFactor"] = python.Text(c.value("xFilesFactor"))
	}
	return list, nil
}
