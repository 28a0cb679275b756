package expression

import (
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/opentsdb/aggregate"
	"github.com/tsdbridge/tsdbridge/opentsdb/query"
)

// movingAverage averages the points before each point in the time of the request, which counts too. The
// average is 0 as long as there are too few.
func movingAverage(c call) ([]line, error) {
	w, err := parseWindow(c.params)
	if err != nil {
		return nil, err
	}
	lines := c.lines()
	for n, l := range lines {
		points := l.points.Within(c.Start, c.End)
		if err := c.use(points.Len()); err != nil {
			return nil, err
		}
		a := averager{points: points, window: w, pause: c.Pause}
		if lines[n].points, err = a.averages(); err != nil {
			return nil, err
		}
		lines[n].uncounted = false
	}
	return lines, nil
}

// An averager averages windows. Each sum begins anew with the newest point, as a TSD's does, so that it
// has the same bits; the work grows with the points times the window.
type averager struct {
	points aggregate.Span
	window window
	pause  func() error
	oldest int // the oldest point that still counts
	since  int // operations since the last pause
}

func (a *averager) averages() (out aggregate.Span, err error) {
	for i, t := range a.points.Times {
		v := a.average(i)
		if math.IsInf(v, 0) {
			return out, fmt.Errorf("%w: %s", aggregate.ErrInfinite, query.AppendDouble(nil, v))
		}
		out.Add(t, v)
		if a.since > pauseAfter {
			a.since = 0
			if err := a.pause(); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

func (a *averager) average(i int) float64 {
	if a.window.timed && i == 0 {
		return 0 // how long the window is, is not known yet
	}
	sum, count, full := 0.0, int64(0), false
	k := i
	for ; k >= a.oldest && !full; k-- {
		if a.window.timed && a.points.Times[i]-a.points.Times[k] >= a.window.size {
			full = true
			continue
		}
		if v := a.points.Values[k]; v == v {
			sum += v
			count++
		}
		full = !a.window.timed && count >= a.window.size
	}
	a.oldest = k + 1
	a.since += i - k
	if !full || count == 0 {
		return 0
	}
	return sum / float64(count)
}
