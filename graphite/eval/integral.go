package eval

import (
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// integralFamily returns the functions that add up over time.
func integralFamily() []Function {
	return []Function{{
		Name: "integral", Group: "Transform", Signature: "seriesList", Params: []Param{seriesParam("seriesList")}, call: integral,
		Doc: "Draws the sum of all values so far.",
	}, {
		Name: "integralByInterval", Group: "Transform", Signature: "seriesList, intervalUnit", call: perSeries(integralByInterval),
		Doc:    "Draws the sum of all values so far, from 0 again in each interval.",
		Params: []Param{seriesParam("seriesList"), need("intervalUnit", typeString)},
	}}
}

func integral(c *call) ([]*series.Series, error) {
	var out []*series.Series
	for s := range c.over(c.series("seriesList")) {
		values := make([]float64, len(s.Values))
		total := 0.0
		for i, v := range s.Values {
			values[i] = v
			if !python.IsNone(v) {
				total += v
				values[i] = total
			}
		}
		s.Tags["integral"] = "1"
		out = append(out, s.Derive("integral("+s.Name+")", values))
	}
	return out, nil
}

// integralByInterval counts intervals from the start of the request, as graphite-web computes it: by a clock of its own
// time zone that shows what one of the request's zone does.
func integralByInterval(c *call) ([]*series.Series, error) {
	interval := c.offset("intervalUnit")
	if interval = max(interval, -interval); interval == 0 {
		return nil, python.Crash("intervalUnit must not be zero")
	}
	unit, origin := c.string("intervalUnit"), c.wallFrom(c.scope.window)
	var out []*series.Series
	for s := range c.over(c.series("seriesList")) {
		values := make([]float64, len(s.Values))
		total, now := 0.0, s.Start
		for i, v := range s.Values {
			if python.FloorDivide(now-origin, interval) != python.FloorDivide(now-origin-s.Step, interval) {
				total = 0
			}
			if !python.IsNone(v) {
				total += v
			}
			values[i] = total
			now += s.Step
		}
		s.Tags["integralByInterval"] = unit
		out = append(out, s.Derive("integralByInterval("+s.Name+",'"+unit+"')", values))
	}
	return out, nil
}
