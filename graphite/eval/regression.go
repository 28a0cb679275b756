package eval

import (
	"strconv"
	"time"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// regressionFamily is linearRegression alone.
func regressionFamily() []Function {
	return []Function{{
		Name: "linearRegression", Group: "Calculate", Signature: "seriesList, startSourceAt=None, endSourceAt=None", call: linearRegression, windows: regressionWindows,
		Doc:    "Draws the straight line closest to the points of a time range, by default the graph's.",
		Params: []Param{seriesParam("seriesList"), opt("startSourceAt", typeDate), opt("endSourceAt", typeDate)},
	}}
}

// localTime parses a time in the server's zone and ignores the zone of the request: graphite-web
// does so in timeSlice and linearRegression.
func localTime(c *call, name string) time.Time {
	t, err := timespec.ParseTime(c.string(name), c.scope.request.local(), c.scope.request.clock())
	if err != nil {
		c.fail(python.Crash("%s", err))
	}
	return t
}

func regressionWindows(c *call) ([]window, error) {
	w := c.scope.window
	if c.has("startSourceAt") {
		t := localTime(c, "startSourceAt")
		_, offset := t.Zone()
		w.from, w.fromOffset = t.Unix(), int64(offset)
	}
	if c.has("endSourceAt") {
		t := localTime(c, "endSourceAt")
		_, offset := t.Zone()
		w.until, w.untilOffset = t.Unix(), int64(offset)
	}
	return []window{w}, nil
}

func linearRegression(c *call) ([]*series.Series, error) {
	list := c.series("seriesList")
	windows, err := regressionWindows(c)
	if err != nil || c.err != nil {
		return nil, err
	}
	w := windows[0]
	sources, err := c.evaluate(w)
	if err != nil {
		return nil, err
	}
	from := strconv.FormatInt(c.wallFrom(w), 10)
	until := strconv.FormatInt(c.wallUntil(w), 10)
	var out []*series.Series
	for i, s := range list[:min(len(list), len(sources))] {
		if !c.tick(100 + 2*len(s.Values)) {
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
