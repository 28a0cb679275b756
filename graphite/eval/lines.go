package eval

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// lineFamily returns the functions that draw straight lines.
func lineFamily() []Function {
	label, colour := opt("label", typeString), opt("color", typeString)
	return []Function{{
		Name: "constantLine", Group: "Special", Signature: "value", Params: []Param{need("value", typeFloat)}, Doc: "Draws a horizontal line.",
		call: func(c *call) ([]*series.Series, error) { return []*series.Series{constant(c, c.value("value"))}, nil },
	}, {
		Name: "threshold", Group: "Graph", Signature: "value, label=None, color=None", Params: []Param{need("value", typeFloat), label, colour}, call: threshold,
		Doc: "Draws a horizontal line with a label and a colour.",
	}, {
		Name: "verticalLine", Group: "Graph", Signature: "ts, label=None, color=None", Params: []Param{need("ts", typeDate), label, colour}, call: verticalLine,
		Doc: "Draws a vertical line at a time.",
	}, {
		Name: "aggregateLine", Group: "Calculate", Signature: "seriesList, func='average', keepStep=False", call: aggregateLine,
		Doc:    "Draws an aggregate of each series as a horizontal line.",
		Params: []Param{seriesParam("seriesList"), with("func", typeAggFunc, "average"), with("keepStep", typeBoolean, false)},
	}}
}

// constant returns a line of three points: at both ends and in the middle.
func constant(c *call, value any) *series.Series {
	v, ok := number(value)
	if !ok {
		v = python.None()
	}
	w := c.scope.window
	shown := python.Text(value)
	s := c.create(shown, w.from, w.until, (w.until-w.from)/2, []float64{v, v, v})
	s.PathExpression = "constantLine(" + shown + ")"
	_, s.Ints = value.(int64)
	return s
}

func threshold(c *call) ([]*series.Series, error) {
	s := constant(c, c.value("value"))
	if c.truth("label") {
		s.Rename(python.Text(c.value("label")))
	}
	if c.truth("color") {
		s.SetOption("color", c.value("color"))
	}
	return []*series.Series{s}, nil
}

func verticalLine(c *call) ([]*series.Series, error) {
	if _, isNumber := number(c.value("ts")); isNumber || !c.has("ts") {
		return nil, python.Crash("ts is not a string")
	}
	t, err := timespec.ParseTime(c.string("ts"), c.scope.request.zone(), c.scope.request.clock())
	if err != nil {
		return nil, python.Crash("%s", err)
	}
	ts, w := t.Unix(), c.scope.window
	if ts < w.from {
		return nil, python.Invalid("verticalLine(): timestamp %d exists before start of range", ts)
	}
	if ts > w.until {
		return nil, python.Invalid("verticalLine(): timestamp %d exists after end of range", ts)
	}
	s := c.create(python.Text(c.value("label")), ts, ts, 1, []float64{1, 1})
	s.Unnamed = !c.has("label")
	s.SetOption("drawAsInfinite", true)
	if c.truth("color") {
		s.SetOption("color", c.value("color"))
	}
	return []*series.Series{s}, nil
}

func aggregateLine(c *call) ([]*series.Series, error) {
	list, agg := c.series("seriesList"), c.aggregator("func")
	if c.err != nil {
		return nil, nil
	}
	var out []*series.Series
	for s := range c.over(list) {
		v := agg.Of(s.Values)
		name := "aggregateLine(" + s.Name + ", None)"
		if !python.IsNone(v) {
			name = "aggregateLine(" + s.Name + ", " + python.General(v) + ")"
		}
		var line *series.Series
		if c.truth("keepStep") {
			line = s.Derive(name, slices.Repeat([]float64{v}, len(s.Values)))
		} else {
			line = constant(c, pythonValue(v, agg.IntsOfValue(s)))
			line.Wrap(name)
		}
		line.Ints = agg.IntsOfValue(s)
		out = append(out, line)
	}
	return out, nil
}

// pythonValue returns a value as an argument: nil, int64 or float64.
func pythonValue(v float64, ints bool) any {
	switch {
	case python.IsNone(v):
		return nil
	case ints:
		return int64(v)
	}
	return v
}
