package eval

// powerFamily returns the functions built on powers, whose failures are null.
func powerFamily() []Function {
	one := []Param{seriesParam("seriesList")}
	return []Function{{
		Name: "pow", Group: "Transform", Signature: "seriesList, factor", call: perSeries(pow), Doc: "Raises values to a power.",
		Params: []Param{seriesParam("seriesList"), need("factor", typeFloat)},
	}, {
		Name: "squareRoot", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws square roots.",
		call: func(c *call) ([]*Series, error) {
			return c.each("squareRoot", int64(1), func(v float64) float64 { return power(v, 0.5) })
		},
	}, {
		Name: "invert", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws 1 divided by each value.",
		call: func(c *call) ([]*Series, error) {
			return c.each("invert", int64(1), func(v float64) float64 { return power(v, -1) })
		},
	}}
}

func pow(c *call) ([]*Series, error) {
	list, factor := c.series("seriesList"), c.float("factor")
	for s := range c.over(list) {
		s.Tags["pow"] = text(c.value("factor"))
		s.wrap("pow(" + s.Name + "," + general(factor) + ")")
		s.ints = false
		c.change(s, func(v float64) float64 { return power(v, factor) })
	}
	return list, nil
}
