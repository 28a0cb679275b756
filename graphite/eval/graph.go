package eval

import (
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// graphFamily returns the functions about drawing. In data they only rename, and stacked adds up.
func graphFamily() []Function {
	one := seriesParam("seriesList")
	return []Function{{
		Name: "alpha", Group: "Graph", Signature: "seriesList, alpha", Params: []Param{one, need("alpha", typeFloat)}, Doc: "Draws series transparently.",
		call: func(c *call) ([]*series.Series, error) { return setOption(c, "alpha", c.value("alpha")), nil },
	}, {
		Name: "areaBetween", Group: "Graph", Signature: "seriesList", Params: []Param{one}, Doc: "Fills the area between two series.",
		call: func(c *call) ([]*series.Series, error) { return areaBetween(c.series("seriesList")) },
	}, {
		Name: "color", Group: "Graph", Signature: "seriesList, theColor", Params: []Param{one, need("theColor", typeString)}, Doc: "Draws series in a colour.",
		call: func(c *call) ([]*series.Series, error) { return setOption(c, "color", c.value("theColor")), nil },
	}, {
		Name: "dashed", Group: "Graph", Signature: "seriesList, dashLength=5", Params: []Param{one, with("dashLength", typeInteger, int64(5))}, call: perSeries(dashed),
		Doc: "Draws series as dashed lines.",
	}, {
		Name: "drawAsInfinite", Group: "Graph", Signature: "seriesList", Params: []Param{one}, Doc: "Draws each point that is not 0 as a vertical line.",
		call: func(c *call) ([]*series.Series, error) { return mark(c, "drawAsInfinite"), nil },
	}, {
		Name: "lineWidth", Group: "Graph", Signature: "seriesList, width", Params: []Param{one, need("width", typeFloat)}, Doc: "Draws lines of a width.",
		call: func(c *call) ([]*series.Series, error) { return setOption(c, "lineWidth", c.value("width")), nil },
	}, {
		Name: "secondYAxis", Group: "Graph", Signature: "seriesList", Params: []Param{one}, Doc: "Draws series on the axis at the right.",
		call: func(c *call) ([]*series.Series, error) { return mark(c, "secondYAxis"), nil },
	}, {
		Name: "stacked", Group: "Graph", Signature: "seriesLists, stackName='__DEFAULT__'", Params: []Param{one, opt("stack", typeString)}, call: stacked,
		Doc: "Draws each series on top of those before it.",
	}}
}

func setOption(c *call, key string, value any) []*series.Series {
	list := c.series("seriesList")
	for s := range c.over(list) {
		s.SetOption(key, value)
	}
	return list
}

// mark sets an option that shows in name and tags.
func mark(c *call, name string) []*series.Series {
	list := setOption(c, name, true)
	for s := range c.over(list) {
		s.Tags[name] = "1"
		s.Rename(name + "(" + s.Name + ")")
	}
	return list
}

func dashed(c *call) ([]*series.Series, error) {
	length := c.float("dashLength")
	list := setOption(c, "dashed", c.value("dashLength"))
	for s := range c.over(list) {
		s.Tags["dashed"] = python.Text(c.value("dashLength"))
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
func stacked(c *call) ([]*series.Series, error) {
	list, name := c.series("seriesLists"), python.Text(c.value("stackName"))
	if c.scope.stacks == nil {
		c.scope.stacks = map[string][]float64{}
	}
	stack := c.scope.stacks[name]
	var out []*series.Series
	for s := range c.over(list) {
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
	c.scope.stacks[name] = stack
	return out, nil
}
