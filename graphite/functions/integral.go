package functions

import (
	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// integralFamily returns the functions that add up over time.
func integralFamily() []call.Function {
	return []call.Function{{
		Name: "integral", Group: "Transform", Signature: "seriesList", Params: []call.Param{seriesParam("seriesList")}, Call: integral,
		Doc: "Draws the sum of all values so far.",
	}, {
		Name: "integralByInterval", Group: "Transform", Signature: "seriesList, intervalUnit", Call: perSeries(integralByInterval),
		Doc:    "Draws the sum of all values so far, from 0 again in each interval.",
		Params: []call.Param{seriesParam("seriesList"), need("intervalUnit", call.TypeString)},
	}}
}

func integral(c *call.Call) ([]*series.Series, error) {
	var out []*series.Series
	for s := range c.Over(c.Series("seriesList")) {
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
func integralByInterval(c *call.Call) ([]*series.Series, error) {
	interval := c.Offset("intervalUnit")
	if interval = max(interval, -interval); interval == 0 {
		return nil, python.Crash("intervalUnit must not be zero")
	}
	unit, origin := c.Text("intervalUnit"), c.WallFrom(c.Scope.Window)
	var out []*series.Series
	for s := range c.Over(c.Series("seriesList")) {
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
