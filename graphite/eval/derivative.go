package eval

// derivativeFamily returns the functions on differences of neighbours.
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
	for s := range c.over(c.series("seriesList")) {
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
	limits := c.counterLimits()
	for s := range c.over(c.series("seriesList")) {
		if s.Step == 0 {
			return nil, crash("a series has no step")
		}
		values := make([]float64, len(s.Values))
		before := None()
		for i, v := range s.Values {
			if IsNone(v) && (limits.hasMax || limits.hasMin) {
				// graphite-web fails too.
				return nil, crash("a null cannot be compared with a limit")
			}
			var d float64
			if d, before = limits.increase(v, before); !IsNone(d) {
				d = shown(s, d)
			}
			values[i] = d
		}
		s.Tags[name] = "1"
		d := s.derive(name+"("+s.Name+")", values)
		d.ints = s.ints && name != "perSecond" && !limits.hasMax && !limits.hasMin
		out = append(out, d)
	}
	return out, nil
}

// counterLimits are where a counter wraps, and to what. Values beyond are left out.
type counterLimits struct {
	hasMax, hasMin bool
	high, low      float64
}

func (c *call) counterLimits() counterLimits {
	l := counterLimits{hasMax: c.has("maxValue"), hasMin: c.has("minValue")}
	if len(c.series("seriesList")) == 0 {
		return l
	}
	if l.hasMax {
		l.high = c.float("maxValue")
	}
	if l.hasMin {
		l.low = c.float("minValue")
	}
	return l
}

// increase returns by how much a counter grew since the value before, and the value to compare
// next.
func (l counterLimits) increase(v, before float64) (grown, next float64) {
	switch {
	case l.hasMax && v > l.high, l.hasMin && v < l.low:
		return None(), None()
	case IsNone(before), IsNone(v):
		return None(), v
	case v >= before:
		return v - before, v
	case l.hasMax:
		return l.high + 1 + v - before - l.low, v
	case l.hasMin:
		return v - l.low, v
	}
	return None(), v
}
