package functions

import (
	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// powerFamily returns the functions built on powers, whose failures are null.
func powerFamily() []call.Function {
	one := []call.Param{seriesParam("seriesList")}
	return []call.Function{{
		Name: "pow", Group: "Transform", Signature: "seriesList, factor", Call: perSeries(pow), Doc: "Raises values to a power.",
		Params: []call.Param{seriesParam("seriesList"), need("factor", call.TypeFloat)},
	}, {
		Name: "squareRoot", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws square roots.",
		Call: func(c *call.Call) ([]*series.Series, error) {
			return eachSeries(c, "squareRoot", int64(1), func(v float64) float64 { return series.Power(v, 0.5) })
		},
	}, {
		Name: "invert", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws 1 divided by each value.",
		Call: func(c *call.Call) ([]*series.Series, error) {
			return eachSeries(c, "invert", int64(1), func(v float64) float64 { return series.Power(v, -1) })
		},
	}}
}

func pow(c *call.Call) ([]*series.Series, error) {
	list, factor := c.Series("seriesList"), c.Float("factor")
	for s := range c.Over(list) {
		s.Tags["pow"] = python.Text(c.Value("factor"))
		s.Wrap("pow(" + s.Name + "," + python.General(factor) + ")")
		s.Ints = false
		c.Change(s, func(v float64) float64 { return series.Power(v, factor) })
	}
	return list, nil
}
