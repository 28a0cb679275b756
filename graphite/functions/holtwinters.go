package functions

import (
	"math"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// holtWintersFamily returns the seasonal forecasts. They read the bootstrap interval before the
// graph.
func holtWintersFamily() []call.Function {
	bootstrap := with("bootstrapInterval", call.TypeInterval, "7d").Suggesting("7d", "30d")
	seasonality := with("seasonality", call.TypeInterval, "1d").Suggesting("1d", "7d")
	delta := with("delta", call.TypeInteger, int64(3))
	list := []call.Function{{
		Name: "holtWintersForecast", Group: "Calculate", Signature: "seriesList, bootstrapInterval='7d', seasonality='1d'",
		Doc: "Draws a Holt-Winters forecast.", Params: []call.Param{seriesParam("seriesList"), bootstrap, seasonality}, Call: holtWintersForecast, Windows: bootstrapWindows,
	}}
	for _, f := range [...]struct {
		name, doc string
		call      func(*call.Call) ([]*series.Series, error)
	}{
		{"holtWintersAberration", "Draws how far values are outside of the confidence bands.", holtWintersAberration},
		{"holtWintersConfidenceArea", "Fills the area between the confidence bands.", holtWintersConfidenceArea},
		{"holtWintersConfidenceBands", "Draws the lower and the upper bound in which values are expected.", holtWintersConfidenceBands},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Calculate", Signature: "seriesList, delta=3, bootstrapInterval='7d', seasonality='1d'", Doc: f.doc,
			Params: []call.Param{seriesParam("seriesList"), delta, bootstrap, seasonality}, Call: f.call, Windows: bootstrapWindows,
		})
	}
	return list
}

func bootstrapWindows(c *call.Call) ([]call.Window, error) {
	return []call.Window{c.Scope.Window.Moved(-c.Offset("bootstrapInterval"), 0)}, nil
}

// analysis is what Holt-Winters makes of a series: for each slot what was expected, and how far off
// that was before.
type analysis struct {
	predictions, deviations []float64
}

// analyze uses graphite-web's constants: 0.1 for level and season, 0.0035 for the trend.
func analyze(c *call.Call, s *series.Series, season int64) (analysis, error) {
	if s.Step <= 0 {
		return analysis{}, python.Crash("a series has no step")
	}
	h := &holtWinters{season: python.FloorDivide(season, s.Step), next: python.None()}
	if h.season <= 1 && series.CountPresent(s.Values) > 0 {
		return analysis{}, python.Crash("seasonality is shorter than two steps")
	}
	// Five lists, which grow to up to twice their length.
	giveBack, err := c.Borrow(2 * 8 * 5 * int64(len(s.Values)))
	if err != nil {
		return analysis{}, err
	}
	defer giveBack()
	for i, v := range s.Values {
		if !c.Tick(4) {
			return analysis{}, c.Err
		}
		h.add(i, v)
	}
	return h.analysis, nil
}

// holtWinters are the components so far, one item for each slot.
type holtWinters struct {
	analysis
	season                       int64
	intercepts, slopes, seasonal []float64
	next                         float64
}

func (h *holtWinters) add(i int, actual float64) {
	const alpha, beta, gamma = 0.1, 0.0035, 0.1
	if python.IsNone(actual) {
		h.push(python.None(), 0, 0, h.next, 0)
		h.next = python.None()
		return
	}
	intercept, slope, prediction := actual, 0.0, actual
	if i > 0 {
		slope, prediction = h.slopes[i-1], h.next
		if before := h.intercepts[i-1]; !python.IsNone(before) {
			intercept = before
		}
	}
	season := before(h.seasonal, int64(i)-h.season)
	level := float64(alpha*(actual-season)) + float64((1-alpha)*(intercept+slope))
	trend := float64(beta*(level-intercept)) + float64((1-beta)*slope)
	seasonal := float64(gamma*(actual-level)) + float64((1-gamma)*season)
	expected := prediction
	if python.IsNone(expected) {
		expected = 0
	}
	deviation := float64(gamma*math.Abs(actual-expected)) + float64((1-gamma)*before(h.deviations, int64(i)-h.season))
	next := int64(i) + 1 - h.season
	h.push(level, trend, seasonal, prediction, deviation)
	h.next = level + trend + before(h.seasonal, next)
}

func (h *holtWinters) push(intercept, slope, seasonal, prediction, deviation float64) {
	h.intercepts = append(h.intercepts, intercept)
	h.slopes = append(h.slopes, slope)
	h.seasonal = append(h.seasonal, seasonal)
	h.predictions = append(h.predictions, prediction)
	h.deviations = append(h.deviations, deviation)
}

// before returns the component of a season ago, 0 in the first season.
func before(values []float64, i int64) float64 {
	if i < 0 || i >= int64(len(values)) {
		return 0
	}
	return values[i]
}

// bootstrapped computes the argument from the bootstrap interval on and analyzes each series. skip
// is the number of slots before the graph.
func bootstrapped(c *call.Call, f func(s *series.Series, a analysis, seconds int64, skip int)) error {
	seconds, season := c.Offset("bootstrapInterval"), c.Offset("seasonality")
	if c.Err != nil {
		return nil
	}
	list, err := widened(c, seconds)
	if err != nil {
		return err
	}
	for s := range c.Over(list) {
		a, err := analyze(c, s, season)
		if err != nil {
			return err
		}
		s.Tags["holtWintersForecast"], s.Tags["holtWintersDeviation"] = "1", "1"
		skip, _ := python.Bounds(python.FloorDivide(seconds, s.Step), 0, len(s.Values))
		f(s, a, seconds, skip)
	}
	return nil
}

func holtWintersForecast(c *call.Call) ([]*series.Series, error) {
	var out []*series.Series
	err := bootstrapped(c, func(s *series.Series, a analysis, seconds int64, skip int) {
		f := s.Derive("holtWintersForecast("+s.Name+")", a.predictions[skip:])
		f.Start, f.ConsolidationFunc = s.Start+seconds, "average"
		out = append(out, f)
	})
	return out, err
}

func holtWintersConfidenceBands(c *call.Call) ([]*series.Series, error) {
	var out []*series.Series
	err := bootstrapped(c, func(s *series.Series, a analysis, seconds int64, skip int) {
		delta := c.Float("delta")
		forecast, deviation := a.predictions[skip:], a.deviations[skip:]
		s.Tags["holtWintersConfidenceUpper"], s.Tags["holtWintersConfidenceLower"] = "1", "1"
		for _, band := range [...]struct {
			name string
			sign float64
		}{{"Lower", -1}, {"Upper", 1}} {
			values := make([]float64, len(forecast))
			for i, v := range forecast {
				values[i] = v
				if !python.IsNone(v) {
					values[i] = v + float64(band.sign*(delta*deviation[i]))
				}
			}
			b := s.Derive("holtWintersConfidence"+band.name+"("+s.Name+")", values)
			b.Start, b.ConsolidationFunc, b.PathExpression = s.Start+seconds, "average", s.PathExpression
			out = append(out, b)
		}
	})
	return out, err
}

func holtWintersAberration(c *call.Call) ([]*series.Series, error) {
	bands, err := holtWintersConfidenceBands(c)
	if err != nil || c.Err != nil {
		return nil, err
	}
	byName := map[string]*series.Series{}
	for _, b := range bands {
		byName[b.Name] = b
	}
	var out []*series.Series
	for s := range c.Over(c.Series("seriesList")) {
		lower, upper := byName["holtWintersConfidenceLower("+s.Name+")"], byName["holtWintersConfidenceUpper("+s.Name+")"]
		if lower == nil || upper == nil {
			return nil, python.Crash("no confidence bands for %s", s.Name)
		}
		values := make([]float64, len(s.Values))
		for i, v := range s.Values {
			if !python.IsNone(v) && i >= len(lower.Values) {
				return nil, python.Crash("the confidence bands of %s are too short", s.Name)
			}
			values[i] = outside(v, at(lower.Values, i), at(upper.Values, i))
		}
		s.Tags["holtWintersAberration"] = "1"
		a := s.Derive("holtWintersAberration("+s.Name+")", values)
		a.ConsolidationFunc = "average"
		out = append(out, a)
	}
	return out, nil
}

// outside returns how far a value is above the upper or below the lower band, 0 between them and
// for nulls.
func outside(v, lower, upper float64) float64 {
	switch {
	case python.IsNone(v):
		return 0
	case !python.IsNone(upper) && v > upper:
		return v - upper
	case !python.IsNone(lower) && v < lower:
		return v - lower
	}
	return 0
}

func holtWintersConfidenceArea(c *call.Call) ([]*series.Series, error) {
	bands, err := holtWintersConfidenceBands(c)
	if err != nil || c.Err != nil {
		return nil, err
	}
	if bands, err = areaBetween(bands); err != nil {
		return nil, err
	}
	for s := range c.Over(bands) {
		delete(s.Tags, "areaBetween")
		s.Tags["holtWintersConfidenceArea"] = "1"
		s.Wrap(strings.ReplaceAll(s.Name, "areaBetween", "holtWintersConfidenceArea"))
	}
	return bands, nil
}
