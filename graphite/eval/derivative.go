package eval

// derivativeFamily are the functions on differences of neighbours.
func derivativeFamily() []Function {
	limits := []Param{seriesParam("seriesList"), opt("maxValue", typeFloat), opt("minValue", typeFloat)}
	return []Function{{
		Name: "derivative", Group: "Transform", Signature: "seriesList", Params: limits[:1], call: derivative, Doc: "Draws the difference to the value before.",
	}, {
		Name: "nonNegativeDerivative", Group: "Transform", Signature: "seriesList, maxValue=None, minValue=None", Params: limits,
		Doc: "Draws the increase of a counter; with maxValue its wraps are counted.",
		call: func(c *call) ([]*Series, error) {
			return c.increases("nonNegativeDerivative", func(_ *Series, d float64) float64 { return d })
		},
	}, {
		Name: "perSecond", Group: "Transform", Signature: "seriesList, maxValue=None, minValue=None", Params: limits,
		Doc: "Draws the increase of a counter for each second.",
		call: func(c *call) ([]*Series, error) {
			return c.increases("perSecond", func(s *Series, d float64) float64 { return roundTo(d/float64(s.Step), 6) })
		},
	}}
}

func derivative(c *call) ([]*Series, error) {
	var out []*Series
	for _, s := range c.series("seriesList") {
		values := make([]float64, len(s.Values))
		before := None()
		for i, v := range s.Values {
			values[i] = None()
			if !IsNone(v) && !IsNone(before) {
				values[i] = v - before
			}
			before = v
		}
		s.Tags["derivative"] = "1"
		d := s.derive("derivative("+s.Name+")", values)
		d.ints = s.ints
		out = append(out, d)
	}
	return out, nil
}

func (c *call) increases(name string, shown func(*Series, float64) float64) ([]*Series, error) {
	var out []*Series
	for _, s := range c.series("seriesList") {
		if s.Step == 0 {
			return nil, crash("a series has no step")
		}
		values := make([]float64, len(s.Values))
		before := None()
		for i, v := range s.Values {
			var d float64
			if d, before = c.increase(v, before); !IsNone(d) {
				d = shown(s, d)
			}
			values[i] = d
		}
		s.Tags[name] = "1"
		d := s.derive(name+"("+s.Name+")", values)
		d.ints = s.ints && name != "perSecond" && !c.has("maxValue") && !c.has("minValue")
		out = append(out, d)
	}
	return out, nil
}

// increase is what a counter grew by since the value before, and the value to go on with. Limits and nulls do not go
// together in graphite-web: it fails.
func (c *call) increase(v, before float64) (grown, next float64) {
	hasMax, hasMin := c.has("maxValue"), c.has("minValue")
	if IsNone(v) && (hasMax || hasMin) {
		c.fail(crash("a null cannot be compared with a limit"))
		return None(), None()
	}
	low := 0.0
	if hasMin {
		low = c.float("minValue")
	}
	switch {
	case hasMax && v > c.float("maxValue"), hasMin && v < low:
		return None(), None()
	case IsNone(before), IsNone(v):
		return None(), v
	case v >= before:
		return v - before, v
	case hasMax:
		return c.float("maxValue") + 1 + v - before - low, v
	case hasMin:
		return v - low, v
	}
	return None(), v
}
