package functions

import (
	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// derivativeFamily returns the functions on differences of neighbours.
func derivativeFamily() []call.Function {
	limits := []call.Param{seriesParam("seriesList"), opt("maxValue", call.TypeFloat), opt("minValue", call.TypeFloat)}
	return []call.Function{{
		Name: "derivative", Group: "Transform", Signature: "seriesList", Params: limits[:1], Call: derivative, Doc: "Draws the difference to the value before.",
	}, {
		Name: "nonNegativeDerivative", Group: "Transform", Signature: "seriesList, maxValue=None, minValue=None", Params: limits,
		Doc: "Draws the increase of a counter; with maxValue its wraps are counted.",
		Call: func(c *call.Call) ([]*series.Series, error) {
			return increases(c, "nonNegativeDerivative", func(_ *series.Series, d float64) float64 { return d })
		},
	}, {
		Name: "perSecond", Group: "Transform", Signature: "seriesList, maxValue=None, minValue=None", Params: limits,
		Doc: "Draws the increase of a counter for each second.",
		Call: func(c *call.Call) ([]*series.Series, error) {
			return increases(c, "perSecond", func(s *series.Series, d float64) float64 { return python.Round(d/float64(s.Step), 6) })
		},
	}}
}

func derivative(c *call.Call) ([]*series.Series, error) {
	var out []*series.Series
	for s := range c.Over(c.Series("seriesList")) {
		values := make([]float64, len(s.Values))
		before := python.None()
		for i, v := range s.Values {
			values[i] = python.None()
			if !python.IsNone(v) && !python.IsNone(before) {
				values[i] = v - before
			}
			before = v
		}
		s.Tags["derivative"] = "1"
		d := s.Derive("derivative("+s.Name+")", values)
		d.Ints = s.Ints
		out = append(out, d)
	}
	return out, nil
}

func increases(c *call.Call, name string, shown func(*series.Series, float64) float64) ([]*series.Series, error) {
	var out []*series.Series
	limits := countersOf(c)
	for s := range c.Over(c.Series("seriesList")) {
		if s.Step == 0 {
			return nil, python.Crash("a series has no step")
		}
		values := make([]float64, len(s.Values))
		before := python.None()
		for i, v := range s.Values {
			if python.IsNone(v) && (limits.hasMax || limits.hasMin) {
				// graphite-web fails too.
				return nil, python.Crash("a null cannot be compared with a limit")
			}
			var d float64
			if d, before = limits.increase(v, before); !python.IsNone(d) {
				d = shown(s, d)
			}
			values[i] = d
		}
		s.Tags[name] = "1"
		d := s.Derive(name+"("+s.Name+")", values)
		d.Ints = s.Ints && name != "perSecond" && !limits.hasMax && !limits.hasMin
		out = append(out, d)
	}
	return out, nil
}

// counterLimits are where a counter wraps, and to what. Values beyond are left out.
type counterLimits struct {
	hasMax, hasMin bool
	high, low      float64
}

func countersOf(c *call.Call) counterLimits {
	l := counterLimits{hasMax: c.Has("maxValue"), hasMin: c.Has("minValue")}
	if len(c.Series("seriesList")) == 0 {
		return l
	}
	if l.hasMax {
		l.high = c.Float("maxValue")
	}
	if l.hasMin {
		l.low = c.Float("minValue")
	}
	return l
}

// increase returns by how much a counter grew since the value before, and the value to compare
// next.
func (l counterLimits) increase(v, before float64) (grown, next float64) {
	switch {
	case l.hasMax && v > l.high, l.hasMin && v < l.low:
		return python.None(), python.None()
	case python.IsNone(before), python.IsNone(v):
		return python.None(), v
	case v >= before:
		return v - before, v
	case l.hasMax:
		return l.high + 1 + v - before - l.low, v
	case l.hasMin:
		return v - l.low, v
	}
	return python.None(), v
}
