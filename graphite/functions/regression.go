package functions

import (
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// regressionFamily is linearRegression alone.
func regressionFamily() []call.Function {
	return []call.Function{{
		Name: "linearRegression", Group: "Calculate", Signature: "seriesList, startSourceAt=None, endSourceAt=None", Call: linearRegression, Windows: regressionWindows,
		Doc:    "Draws the straight line closest to the points of a time range, by default the graph's.",
		Params: []call.Param{seriesParam("seriesList"), opt("startSourceAt", call.TypeDate), opt("endSourceAt", call.TypeDate)},
	}}
}

// localTime parses a time in the server's zone and ignores the zone of the request: graphite-web
// does so in timeSlice and linearRegression.
func localTime(c *call.Call, name string) time.Time {
	t, err := timespec.ParseTime(c.Text(name), c.Scope.Request.ServerZone(), c.Scope.Request.WallClock())
	if err != nil {
		c.Fail(python.Crash("%s", err))
	}
	return t
}

func regressionWindows(c *call.Call) ([]call.Window, error) {
	w := c.Scope.Window
	if c.Has("startSourceAt") {
		t := localTime(c, "startSourceAt")
		_, offset := t.Zone()
		w.From, w.FromOffset = t.Unix(), int64(offset)
	}
	if c.Has("endSourceAt") {
		t := localTime(c, "endSourceAt")
		_, offset := t.Zone()
		w.Until, w.UntilOffset = t.Unix(), int64(offset)
	}
	return []call.Window{w}, nil
}

func linearRegression(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	windows, err := regressionWindows(c)
	if err != nil || c.Err != nil {
		return nil, err
	}
	w := windows[0]
	sources, err := c.Evaluate(w)
	if err != nil {
		return nil, err
	}
	from := strconv.FormatInt(c.WallFrom(w), 10)
	until := strconv.FormatInt(c.WallUntil(w), 10)
	var out []*series.Series
	for i, s := range list[:min(len(list), len(sources))] {
		if !c.Tick(100 + 2*len(s.Values)) {
			break
		}
		s.Tags["linearRegressions"] = from + ", " + until
		factor, offset, ok := regression(sources[i])
		if !ok {
			continue
		}
		values := make([]float64, len(s.Values))
		for j := range values {
			values[j] = offset + float64(float64(s.Start+int64(j)*s.Step)*factor)
		}
		r := s.Derive("linearRegression("+s.Name+", "+from+", "+until+")", values)
		r.ConsolidationFunc = "average"
		out = append(out, r)
	}
	return out, nil
}

// regression returns the line by least squares: its slope a second and its value at the epoch.
func regression(s *series.Series) (factor, offset float64, ok bool) {
	var n, sumI, sumV, sumII, sumIV float64
	for i, v := range s.Values {
		if python.IsNone(v) {
			continue
		}
		at := float64(i)
		n, sumI, sumV, sumII, sumIV = n+1, sumI+at, sumV+v, sumII+float64(at*at), sumIV+float64(at*v)
	}
	denominator := float64(n*sumII) - float64(sumI*sumI)
	if denominator == 0 {
		return 0, 0, false
	}
	factor = (float64(n*sumIV) - float64(sumI*sumV)) / denominator / float64(s.Step)
	return factor, (float64(sumII*sumV)-float64(sumIV*sumI))/denominator - float64(factor*float64(s.Start)), true
}
