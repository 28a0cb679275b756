package eval

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// legendFamily returns the functions that put values into names.
func legendFamily() []Function {
	types := anys(series.AggregatorNames())
	for _, name := range series.AggregatorNames() {
		types = append(types, name+"Series")
	}
	return []Function{{
		Name: "legendValue", Group: "Alias", Signature: "seriesList, *valueTypes", call: legendValue,
		Doc:    "Adds aggregates to the names, with si or binary as the last argument in columns.",
		Params: []Param{seriesParam("seriesList"), opt("valuesTypes", typeString).options(append(types, "si", "binary")...).many()},
	}, {
		Name: "cactiStyle", Group: "Special", Signature: "seriesList, system=None, units=None", call: perSeries(cactiStyle),
		Doc:    "Adds the last, greatest and least value to the names, in columns.",
		Params: []Param{seriesParam("seriesList"), opt("system", typeString).options("binary", "si"), opt("units", typeString)},
	}}
}

func legendValue(c *call) ([]*series.Series, error) {
	list, types := c.series("seriesList"), c.rest("valueTypes")
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
		for s := range c.over(list) {
			name := python.Text(t)
			if system == "" {
				c.rename(s, s.Name+" ("+name+": "+legendText(s, name)+")")
				continue
			}
			c.rename(s, leftAligned(s.Name, 20)+leftAligned(name, 5)+leftAligned(legendUnits(s, name, system), 10))
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
func cactiStyle(c *call) ([]*series.Series, error) {
	list := c.series("seriesList")
	format, err := cactiFormat(c)
	if err != nil || c.err != nil {
		return nil, err
	}
	columns := [...]func([]float64) float64{series.Last, series.Present(series.Maximum), series.Present(series.Minimum)}
	var widths [len(columns)]int
	nameWidth := 0
	for s := range c.over(list) {
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
	for s := range c.over(list) {
		var shown [len(columns)]string
		for i, of := range columns {
			shown[i] = "nan"
			if v := of(s.Values); !python.IsNone(v) {
				shown[i] = format(v)
			}
			shown[i] = leftAligned(shown[i], widths[i])
		}
		c.rename(s, fmt.Sprintf("%s Current:%s Max:%s Min:%s ", leftAligned(s.Name, nameWidth), shown[0], shown[1], shown[2]))
	}
	return list, nil
}

func cactiFormat(c *call) (func(float64) string, error) {
	units := ""
	if c.truth("units") {
		units = python.Text(c.value("units"))
	}
	if !c.truth("system") {
		return func(v float64) string {
			if units == "" {
				return fixed(v, 2)
			}
			return fixed(v, 2) + " " + units
		}, nil
	}
	system := c.string("system")
	if system != "si" && system != "binary" {
		return nil, python.Crash("unknown unit system %q", system)
	}
	return func(v float64) string { return inUnits(v, system, units) }, nil
}
