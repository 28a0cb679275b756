package functions

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
	"github.com/tsdbridge/tsdbridge/graphite/timespec"
)

// lineFamily returns the functions that draw straight lines.
func lineFamily() []call.Function {
	label, colour := opt("label", call.TypeString), opt("color", call.TypeString)
	return []call.Function{{
		Name: "constantLine", Group: "Special", Signature: "value", Params: []call.Param{need("value", call.TypeFloat)}, Doc: "Draws a horizontal line.",
		Call: func(c *call.Call) ([]*series.Series, error) {
			return []*series.Series{constant(c, c.Value("value"))}, nil
		},
	}, {
		Name: "threshold", Group: "Graph", Signature: "value, label=None, color=None", Params: []call.Param{need("value", call.TypeFloat), label, colour}, Call: threshold,
		Doc: "Draws a horizontal line with a label and a colour.",
	}, {
		Name: "verticalLine", Group: "Graph", Signature: "ts, label=None, color=None", Params: []call.Param{need("ts", call.TypeDate), label, colour}, Call: verticalLine,
		Doc: "Draws a vertical line at a time.",
	}, {
		Name: "aggregateLine", Group: "Calculate", Signature: "seriesList, func='average', keepStep=False", Call: aggregateLine,
		Doc:    "Draws an aggregate of each series as a horizontal line.",
		Params: []call.Param{seriesParam("seriesList"), with("func", call.TypeAggFunc, "average"), with("keepStep", call.TypeBoolean, false)},
	}}
}

// constant returns a line of three points: at both ends and in the middle.
func constant(c *call.Call, value any) *series.Series {
	v, ok := python.Number(value)
	if !ok {
		v = python.None()
	}
	w := c.Scope.Window
	shown := python.Text(value)
	s := c.Create(shown, w.From, w.Until, (w.Until-w.From)/2, []float64{v, v, v})
	s.PathExpression = "constantLine(" + shown + ")"
	_, s.Ints = value.(int64)
	return s
}

func threshold(c *call.Call) ([]*series.Series, error) {
	s := constant(c, c.Value("value"))
	if c.Truth("label") {
		s.Rename(python.Text(c.Value("label")))
	}
	if c.Truth("color") {
		s.SetOption("color", c.Value("color"))
	}
	return []*series.Series{s}, nil
}

func verticalLine(c *call.Call) ([]*series.Series, error) {
	if _, isNumber := python.Number(c.Value("ts")); isNumber || !c.Has("ts") {
		return nil, python.Crash("ts is not a string")
	}
	t, err := timespec.ParseTime(c.Text("ts"), c.Scope.Request.InZone(), c.Scope.Request.WallClock())
	if err != nil {
		return nil, python.Crash("%s", err)
	}
	ts, w := t.Unix(), c.Scope.Window
	if ts < w.From {
		return nil, python.Invalid("verticalLine(): timestamp %d exists before start of range", ts)
	}
	if ts > w.Until {
		return nil, python.Invalid("verticalLine(): timestamp %d exists after end of range", ts)
	}
	s := c.Create(python.Text(c.Value("label")), ts, ts, 1, []float64{1, 1})
	s.Unnamed = !c.Has("label")
	s.SetOption("drawAsInfinite", true)
	if c.Truth("color") {
		s.SetOption("color", c.Value("color"))
	}
	return []*series.Series{s}, nil
}

func aggregateLine(c *call.Call) ([]*series.Series, error) {
	list, agg := c.Series("seriesList"), c.Aggregator("func")
	if c.Err != nil {
		return nil, nil
	}
	var out []*series.Series
	for s := range c.Over(list) {
		v := agg.Of(s.Values)
		name := "aggregateLine(" + s.Name + ", None)"
		if !python.IsNone(v) {
			name = "aggregateLine(" + s.Name + ", " + python.General(v) + ")"
		}
		var line *series.Series
		if c.Truth("keepStep") {
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
