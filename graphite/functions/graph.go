package functions

import (
	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// graphFamily returns the functions about drawing. In data they only rename, and stacked adds up.
func graphFamily() []call.Function {
	one := seriesParam("seriesList")
	return []call.Function{{
		Name: "alpha", Group: "Graph", Signature: "seriesList, alpha", Params: []call.Param{one, need("alpha", call.TypeFloat)}, Doc: "Draws series transparently.",
		Call: func(c *call.Call) ([]*series.Series, error) { return setOption(c, "alpha", c.Value("alpha")), nil },
	}, {
		Name: "areaBetween", Group: "Graph", Signature: "seriesList", Params: []call.Param{one}, Doc: "Fills the area between two series.",
		Call: func(c *call.Call) ([]*series.Series, error) { return areaBetween(c.Series("seriesList")) },
	}, {
		Name: "color", Group: "Graph", Signature: "seriesList, theColor", Params: []call.Param{one, need("theColor", call.TypeString)}, Doc: "Draws series in a colour.",
		Call: func(c *call.Call) ([]*series.Series, error) { return setOption(c, "color", c.Value("theColor")), nil },
	}, {
		Name: "dashed", Group: "Graph", Signature: "seriesList, dashLength=5", Params: []call.Param{one, with("dashLength", call.TypeInteger, int64(5))}, Call: perSeries(dashed),
		Doc: "Draws series as dashed lines.",
	}, {
		Name: "drawAsInfinite", Group: "Graph", Signature: "seriesList", Params: []call.Param{one}, Doc: "Draws each point that is not 0 as a vertical line.",
		Call: func(c *call.Call) ([]*series.Series, error) { return mark(c, "drawAsInfinite"), nil },
	}, {
		Name: "lineWidth", Group: "Graph", Signature: "seriesList, width", Params: []call.Param{one, need("width", call.TypeFloat)}, Doc: "Draws lines of a width.",
		Call: func(c *call.Call) ([]*series.Series, error) { return setOption(c, "lineWidth", c.Value("width")), nil },
	}, {
		Name: "secondYAxis", Group: "Graph", Signature: "seriesList", Params: []call.Param{one}, Doc: "Draws series on the axis at the right.",
		Call: func(c *call.Call) ([]*series.Series, error) { return mark(c, "secondYAxis"), nil },
	}, {
		Name: "stacked", Group: "Graph", Signature: "seriesLists, stackName='__DEFAULT__'", Params: []call.Param{one, opt("stack", call.TypeString)}, Call: stacked,
		Doc: "Draws each series on top of those before it.",
	}}
}

func setOption(c *call.Call, key string, value any) []*series.Series {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.SetOption(key, value)
	}
	return list
}

// mark sets an option that shows in name and tags.
func mark(c *call.Call, name string) []*series.Series {
	list := setOption(c, name, true)
	for s := range c.Over(list) {
		s.Tags[name] = "1"
		s.Rename(name + "(" + s.Name + ")")
	}
	return list
}

func dashed(c *call.Call) ([]*series.Series, error) {
	length := c.Float("dashLength")
	list := setOption(c, "dashed", c.Value("dashLength"))
	for s := range c.Over(list) {
		s.Tags["dashed"] = python.Text(c.Value("dashLength"))
		s.Rename("dashed(" + s.Name + ", " + python.General(length) + ")")
	}
	return list, nil
}

// areaBetween gives both series one name and one set of tags.
func areaBetween(list []*series.Series) ([]*series.Series, error) {
	if len(list) != 2 {
		return nil, python.Crash("areaBetween series argument must reference *exactly* 2 series")
	}
	lower, upper := list[0], list[1]
	lower.SetOption("stacked", true)
	lower.SetOption("invisible", true)
	upper.SetOption("stacked", true)
	upper.Tags["areaBetween"] = "1"
	lower.Tags = upper.Tags
	name := "areaBetween(" + upper.PathExpression + ")"
	lower.Rename(name)
	upper.Rename(name)
	return list, nil
}

// stacked keeps its sums over the targets of a request, one stack for each name.
func stacked(c *call.Call) ([]*series.Series, error) {
	list, name := c.Series("seriesLists"), python.Text(c.Value("stackName"))
	if c.Scope.Stacks == nil {
		c.Scope.Stacks = map[string][]float64{}
	}
	stack := c.Scope.Stacks[name]
	var out []*series.Series
	for s := range c.Over(list) {
		values := make([]float64, len(s.Values))
		for i, v := range s.Values {
			if len(stack) <= i {
				stack = append(stack, 0)
			}
			if values[i] = v; !python.IsNone(v) {
				stack[i] += v
				values[i] = stack[i]
			}
		}
		shown := s.Name
		if name == "__DEFAULT__" {
			s.Tags["stacked"] = name
			shown = "stacked(" + s.Name + ")"
		}
		d := s.Derive(shown, values)
		d.SetOption("stacked", true)
		out = append(out, d)
	}
	c.Scope.Stacks[name] = stack
	return out, nil
}
