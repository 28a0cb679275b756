package eval

import (
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// powerFamily returns the functions built on powers, whose failures are null.
func powerFamily() []Function {
	one := []Param{seriesParam("seriesList")}
	return []Function{{
		Name: "pow", Group: "Transform", Signature: "seriesList, factor", call: perSeries(pow), Doc: "Raises values to a power.",
		Params: []Param{seriesParam("seriesList"), need("factor", typeFloat)},
	}, {
		Name: "squareRoot", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws square roots.",
		call: func(c *call) ([]*series.Series, error) {
			return eachSeries(c, "squareRoot", int64(1), func(v float64) float64 { return series.Power(v, 0.5) })
		},
	}, {
		Name: "invert", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws 1 divided by each value.",
		call: func(c *call) ([]*series.Series, error) {
			return eachSeries(c, "invert", int64(1), func(v float64) float64 { return series.Power(v, -1) })
		},
	}}
}

func pow(c *call) ([]*series.Series, error) {
	list, factor := c.series("seriesList"), c.float("factor")
	for s := range c.over(list) {
		s.Tags["pow"] = python.Text(c.value("factor"))
		s.Wrap("pow(" + s.Name + "," + python.General(factor) + ")")
		s.Ints = false
		c.change(s, func(v float64) float64 { return series.Power(v, factor) })
	}
	return list, nil
}
