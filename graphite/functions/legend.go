package functions

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// legendFamily returns the functions that put values into names.
func legendFamily() []call.Function {
	types := anys(series.AggregatorNames())
	for _, name := range series.AggregatorNames() {
		types = append(types, name+"Series")
	}
	return []call.Function{{
		Name: "legendValue", Group: "Alias", Signature: "seriesList, *valueTypes", Call: legendValue,
		Doc:    "Adds aggregates to the names, with si or binary as the last argument in columns.",
		Params: []call.Param{seriesParam("seriesList"), opt("valuesTypes", call.TypeString).WithOptions(append(types, "si", "binary")...).Many()},
	}, {
		Name: "cactiStyle", Group: "Special", Signature: "seriesList, system=None, units=None", Call: perSeries(cactiStyle),
		Doc:    "Adds the last, greatest and least value to the names, in columns.",
		Params: []call.Param{seriesParam("seriesList"), opt("system", call.TypeString).WithOptions("binary", "si"), opt("units", call.TypeString)},
	}}
}

func legendValue(c *call.Call) ([]*series.Series, error) {
	list, types := c.Series("seriesList"), c.Rest("valueTypes")
	if len(types) == 0 {
		return nil, python.Crash("legendValue needs a value type")
	}
	system, _ := types[len(types)-1].(string)
	if system == "si" || system == "binary" {
		types = types[:len(types)-1]
	} else {
		system = ""
	}
	for _, t := range types {
		for s := range c.Over(list) {
			name := python.Text(t)
			if system == "" {
				c.Rename(s, s.Name+" ("+name+": "+legendText(s, name)+")")
				continue
			}
			c.Rename(s, leftAligned(s.Name, 20)+leftAligned(name, 5)+leftAligned(legendUnits(s, name, system), 10))
		}
	}
	return list, nil
}

func legendText(s *series.Series, function string) string {
	agg, err := series.FindAggregator(function, function)
	if err != nil {
		return "(?)"
	}
	return python.ValueText(agg.Of(s.Values), agg.IntsOfValue(s))
}

func legendUnits(s *series.Series, function, system string) string {
	agg, err := series.FindAggregator(function, function)
	if err != nil {
		return "(?)"
	}
	v := agg.Of(s.Values)
	if python.IsNone(v) {
		return "None"
	}
	return inUnits(v, system, "")
}

// inUnits is "%.2f%s" of a number scaled to a prefix, followed by the units.
func inUnits(v float64, system, units string) string {
	base, names := 1000.0, [...]string{"P", "T", "G", "M", "k"}
	if system == "binary" {
		base, names = 1024, [...]string{"Pi", "Ti", "Gi", "Mi", "Ki"}
	}
	shown, unit := v, units
	for i, name := range names {
		if size := math.Pow(base, float64(len(names)-i)); math.Abs(v) >= size {
			shown, unit = v/size, name+units
			break
		}
	}
	if v > 1 && shown-math.Floor(shown) < 0.00000000001 {
		shown = math.Floor(shown)
	}
	if units != "" {
		unit = " " + unit
	}
	return fixed(shown, 2) + unit
}

// fixed is "%.2f".
func fixed(v float64, digits int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return python.FloatText(v)
	}
	return strconv.FormatFloat(v, 'f', digits, 64)
}

// leftAligned fills a text up with blanks.
func leftAligned(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
}

// cactiStyle computes widths from values cut to integers, with 3 for 0 and null, and fills with the
// values as they are; so columns can be narrower than their content.
func cactiStyle(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	format, err := cactiFormat(c)
	if err != nil || c.Err != nil {
		return nil, err
	}
	columns := [...]func([]float64) float64{series.Last, series.Present(series.Maximum), series.Present(series.Minimum)}
	var widths [len(columns)]int
	nameWidth := 0
	for s := range c.Over(list) {
		nameWidth = max(nameWidth, utf8.RuneCountInString(s.Name))
		for i, of := range columns {
			v := of(s.Values)
			if math.IsInf(v, 0) {
				return nil, python.Crash("cannot convert float infinity to integer")
			}
			if v = math.Trunc(v); python.IsNone(of(s.Values)) || of(s.Values) == 0 {
				v = 3
			}
			widths[i] = max(widths[i], utf8.RuneCountInString(format(v+0))+3)
		}
	}
	for s := range c.Over(list) {
		var shown [len(columns)]string
		for i, of := range columns {
			shown[i] = "nan"
			if v := of(s.Values); !python.IsNone(v) {
				shown[i] = format(v)
			}
			shown[i] = leftAligned(shown[i], widths[i])
		}
		c.Rename(s, fmt.Sprintf("%s Current:%s Max:%s Min:%s ", leftAligned(s.Name, nameWidth), shown[0], shown[1], shown[2]))
	}
	return list, nil
}

func cactiFormat(c *call.Call) (func(float64) string, error) {
	units := ""
	if c.Truth("units") {
		units = python.Text(c.Value("units"))
	}
	if !c.Truth("system") {
		return func(v float64) string {
			if units == "" {
				return fixed(v, 2)
			}
			return fixed(v, 2) + " " + units
		}, nil
	}
	system := c.Text("system")
	if system != "si" && system != "binary" {
		return nil, python.Crash("unknown unit system %q", system)
	}
	return func(v float64) string { return inUnits(v, system, units) }, nil
}
