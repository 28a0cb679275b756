package functions

import (
	"slices"
	"strings"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// movingFamily returns the functions over a window that moves along. They read as much before the
// graph as the window is long, so that the first values are whole.
func movingFamily() []call.Function {
	size := need("windowSize", call.TypeIntOrInterval).Suggesting(int64(5), int64(7), int64(10), "1min", "5min", "10min", "30min", "1hour")
	list := []call.Function{{
		Name: "movingWindow", Group: "Calculate", Signature: "seriesList, windowSize, func='average', xFilesFactor=None", Windows: previewWindows,
		Doc:    "Draws an aggregate of the values in a moving window.",
		Params: []call.Param{seriesParam("seriesList"), size, with("func", call.TypeAggFunc, "average"), opt("xFilesFactor", call.TypeFloat)},
		Call:   perSeries(func(c *call.Call) ([]*series.Series, error) { return moving(c, c.Text("func")) }),
	}, {
		Name: "exponentialMovingAverage", Group: "Calculate", Signature: "seriesList, windowSize", Call: exponentialMovingAverage, Windows: previewWindows,
		Doc: "Draws an average in which older values count exponentially less.", Params: []call.Param{seriesParam("seriesList"), size},
	}}
	for _, f := range [...]struct{ name, aggregator, doc string }{
		{"movingAverage", "average", "Draws the average of a moving window."},
		{"movingMax", "max", "Draws the greatest value of a moving window."},
		{"movingMedian", "median", "Draws the median of a moving window."},
		{"movingMin", "min", "Draws the least value of a moving window."},
		{"movingSum", "sum", "Draws the sum of a moving window."},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Calculate", Signature: "seriesList, windowSize, xFilesFactor=None", Doc: f.doc, Windows: previewWindows,
			Params: []call.Param{seriesParam("seriesList"), size, opt("xFilesFactor", call.TypeFloat)},
			Call:   func(c *call.Call) ([]*series.Series, error) { return moving(c, f.aggregator) },
		})
	}
	return list
}

// previewWindows is known before anything is read only when the window is an interval.
func previewWindows(c *call.Call) ([]call.Window, error) {
	if _, ok := c.Value("windowSize").(string); !ok {
		return nil, nil
	}
	seconds := c.Offset("windowSize")
	return []call.Window{c.Scope.Window.Moved(-max(seconds, -seconds), 0)}, nil
}

// preview is how much is read before the graph: the interval's seconds, or so many points of the
// longest step.
type preview struct {
	seconds int64
	points  int64 // 0 for an interval.
	shown   string
	quoted  string // As it stands in names.
}

func previewOf(c *call.Call, list []*series.Series) preview {
	shown := python.Text(c.Value("windowSize"))
	if _, ok := c.Value("windowSize").(string); ok {
		seconds := c.Offset("windowSize")
		return preview{max(seconds, -seconds), 0, shown, `"` + shown + `"`}
	}
	points, step := c.ToInt("windowSize"), int64(0)
	for s := range c.Over(list) {
		step = max(step, s.Step)
	}
	if step > 0 && max(points, -points) > timespec.MaxOffset/step {
		c.Fail(python.Crash("a window of %d points is too long", points))
		points = 0
	}
	return preview{step * points, points, shown, shown}
}

// in returns the window's length in points of a series.
func (p preview) in(s *series.Series) int64 {
	if p.shown != p.quoted {
		return python.FloorDivide(p.seconds, max(s.Step, 1))
	}
	return p.points
}

// widened computes the argument from so much earlier on.
func widened(c *call.Call, seconds int64) ([]*series.Series, error) {
	return c.Evaluate(c.Scope.Window.Moved(-seconds, 0))
}

func moving(c *call.Call, name string) ([]*series.Series, error) {
	list := c.Series("seriesList")
	if len(list) == 0 || c.Err != nil {
		return nil, nil
	}
	p := previewOf(c, list)
	agg, err := series.FindAggregator(name, name)
	if err != nil || c.Err != nil {
		return nil, err
	}
	if list, err = widened(c, p.seconds); err != nil {
		return nil, err
	}
	tag := "moving" + strings.ToUpper(name[:1]) + strings.ToLower(name[1:])
	var out []*series.Series
	for s := range c.Over(list) {
		factor := s.XFilesFactor
		if c.Has("xFilesFactor") {
			factor = c.Float("xFilesFactor")
		}
		s.Tags[tag] = p.shown
		m := s.Derive(tag+"("+s.Name+","+p.quoted+")", movingValues(c, s.Values, p.in(s), agg, factor))
		m.Start, m.Ints = s.Start+p.seconds, agg.IntsOf([]*series.Series{s})
		out = append(out, m)
	}
	return out, nil
}

// movingValues begins with the window that ends in the point after the first whole one. Only
// windows with nulls are copied, and none with a slider; how many nulls there are is counted along.
func movingValues(c *call.Call, values []float64, points int64, agg series.Aggregator, factor float64) []float64 {
	n := int64(len(values))
	out := make([]float64, 0, max(0, n-points))
	scratch := make([]float64, 0, max(0, min(points, n)))
	slide, nulls, work := sliderOf(c, values, points, agg), 0, int(points)
	add := func(i int64) {
		if python.IsNone(values[i]) {
			nulls++
		} else if slide != nil {
			slide.add(int(i))
		}
	}
	if slide != nil {
		work = 1
	}
	for i := int64(0); i < min(points, n); i++ {
		add(i)
	}
	for i := points + 1; i <= n; i++ {
		if points <= 0 {
			out = append(out, python.None())
			continue
		}
		window := values[i-points : i]
		if left := i - points - 1; python.IsNone(values[left]) {
			nulls--
		} else if slide != nil {
			slide.drop(int(left))
		}
		add(i - 1)
		if !c.Tick(work) {
			break
		}
		if !series.Enough(int(points)-nulls, int(points), factor) {
			out = append(out, python.None())
			continue
		}
		if slide != nil && nulls < int(points) {
			out = append(out, slide.value())
			continue
		}
		if nulls > 0 || agg.Name == "median" {
			scratch = series.AppendPresent(scratch[:0], window)
			window = scratch
		}
		if agg.Name == "median" {
			slices.Sort(window)
			out = append(out, series.MiddleOf(window))
			continue
		}
		out = append(out, agg.Of(window))
	}
	return out
}

func exponentialMovingAverage(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	if len(list) == 0 || c.Err != nil {
		return nil, nil
	}
	p := previewOf(c, list)
	weight := 2 / float64(p.points+1)
	if p.shown != p.quoted {
		weight = 2 / float64(p.seconds+1)
	} else if p.points == -1 {
		return nil, python.Crash("float division by zero")
	}
	list, err := widened(c, p.seconds)
	if err != nil {
		return nil, err
	}
	var out []*series.Series
	for s := range c.Over(list) {
		s.Tags["exponentialMovingAverage"] = p.shown
		points := p.in(s)
		_, high := python.Bounds(0, points, len(s.Values))
		ema := series.Average(s.Values[:high])
		if python.IsNone(ema) {
			ema = 0
		}
		values := []float64{python.Round(ema, 6)}
		for i := points; i < int64(len(s.Values)); i++ {
			v, ok := python.Item(s.Values, i)
			if !ok {
				return nil, python.Crash("a window of %d points is too long", points)
			}
			if !python.IsNone(v) {
				ema = float64(weight*v) + float64((1-weight)*ema)
				v = python.Round(ema, 6)
			}
			values = append(values, v)
		}
		m := s.Derive("exponentialMovingAverage("+s.Name+","+p.quoted+")", slices.Clip(values))
		m.Start = s.Start + p.seconds
		out = append(out, m)
	}
	return out, nil
}
