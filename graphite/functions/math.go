package functions

import (
	"math"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// mathFamily returns the functions that compute each value from itself.
func mathFamily() []call.Function {
	one := []call.Param{seriesParam("seriesList")}
	return []call.Function{{
		Name: "absolute", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws absolute values.",
		Call: absolute,
	}, {
		Name: "add", Group: "Transform", Signature: "seriesList, constant", Call: perSeries(add), Doc: "Adds a constant.",
		Params: []call.Param{seriesParam("seriesList"), need("constant", call.TypeFloat)},
	}, {
		Name: "exp", Group: "Transform", Signature: "seriesList", Params: one, Call: exponential, Doc: "Draws e to the power of each value.",
	}, {
		Name: "log", Group: "Transform", Signature: "seriesList, base=10", Call: logarithm, Doc: "Draws logarithms.",
		Params: []call.Param{seriesParam("seriesList"), with("base", call.TypeInteger, int64(10))},
	}, {
		Name: "logit", Group: "Transform", Signature: "seriesList", Params: one, Doc: "Draws the logit of values between 0 and 1.",
		Call: func(c *call.Call) ([]*series.Series, error) { return eachSeries(c, "logit", "logit", logit) },
	}, {
		Name: "minMax", Group: "Transform", Signature: "seriesList", Params: one, Call: minMax, Doc: "Scales each series to values from 0 to 1.",
	}, {
		Name: "offset", Group: "Transform", Signature: "seriesList, factor", Call: perSeries(offset), Doc: "Adds a constant.",
		Params: []call.Param{seriesParam("seriesList"), need("factor", call.TypeFloat)},
	}, {
		Name: "offsetToZero", Group: "Transform", Signature: "seriesList", Params: one, Call: offsetToZero, Doc: "Moves each series so that its least value is 0.",
	}, {
		Name: "round", Group: "Transform", Signature: "seriesList, precision=None", Call: perSeries(round), Doc: "Rounds values to decimals.",
		Params: []call.Param{seriesParam("seriesList"), with("precision", call.TypeInteger, int64(0))},
	}, {
		Name: "scale", Group: "Transform", Signature: "seriesList, factor", Call: perSeries(scale), Doc: "Multiplies by a constant.",
		Params: []call.Param{seriesParam("seriesList"), need("factor", call.TypeFloat)},
	}, {
		Name: "scaleToSeconds", Group: "Transform", Signature: "seriesList, seconds", Call: perSeries(scaleToSeconds),
		Doc: "Turns values per step into values per so many seconds.", Params: []call.Param{seriesParam("seriesList"), need("seconds", call.TypeFloat)},
	}, {
		Name: "sigmoid", Group: "Transform", Signature: "seriesList", Params: one, Call: sigmoid, Doc: "Draws the sigmoid of values.",
	}}
}

// eachSeries wraps every series in the function's name, tags it and replaces its values.
func eachSeries(c *call.Call, name string, tag any, f func(float64) float64) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.Tags[name] = python.Text(tag)
		s.Wrap(name + "(" + s.Name + ")")
		s.Ints = false
		c.Change(s, f)
	}
	return list, nil
}

func absolute(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.Tags["absolute"] = "1"
		s.Wrap("absolute(" + s.Name + ")")
		c.Change(s, math.Abs)
	}
	return list, nil
}

func add(c *call.Call) ([]*series.Series, error) {
	list, constant := c.Series("seriesList"), c.Float("constant")
	shown, err := python.DecimalText(constant)
	if err != nil {
		return nil, err
	}
	for s := range c.Over(list) {
		s.Tags["add"] = python.Text(c.Value("constant"))
		s.Wrap("add(" + s.Name + "," + shown + ")")
		s.Ints = false
		c.Change(s, func(v float64) float64 { return v + constant })
	}
	return list, nil
}

// exponential fails on overflow, as Python's exp does.
func exponential(c *call.Call) ([]*series.Series, error) {
	return eachSeries(c, "exp", "e", func(v float64) float64 { return expOf(c, v) })
}

func expOf(c *call.Call, v float64) float64 {
	e := math.Exp(v)
	if math.IsInf(e, 0) && !math.IsInf(v, 0) {
		c.Fail(python.Crash("math range error"))
	}
	return e
}

func sigmoid(c *call.Call) ([]*series.Series, error) {
	return eachSeries(c, "sigmoid", "sigmoid", func(v float64) float64 { return 1 / (1 + expOf(c, -v)) })
}

func logit(v float64) float64 {
	odds := v / (1 - v)
	if v == 1 || odds <= 0 {
		return python.None()
	}
	return naturalLog(odds)
}

func logarithm(c *call.Call) ([]*series.Series, error) {
	var out []*series.Series
	shown := python.Text(c.Value("base"))
	for s := range c.Over(c.Series("seriesList")) {
		values := make([]float64, len(s.Values))
		for i, v := range s.Values {
			values[i] = python.None()
			if v > 0 {
				values[i] = naturalLog(v) / logOfBase(c)
			}
		}
		s.Tags["log"] = shown
		out = append(out, s.Derive("log("+s.Name+", "+shown+")", values))
	}
	return out, nil
}

// naturalLog is math.Log, which is wrong for numbers below 0x1p-1022 on some machines.
func naturalLog(v float64) float64 {
	if v < 0x1p-1022 {
		return math.Log(v*0x1p54) - 54*math.Ln2
	}
	return math.Log(v)
}

// logOfBase fails where Python does, and like there only when there is a value to take the
// logarithm of.
func logOfBase(c *call.Call) float64 {
	base := c.Float("base")
	switch base {
	case 10:
		return math.Ln10
	case 1:
		c.Fail(python.Crash("float division by zero"))
	}
	if base <= 0 {
		c.Fail(python.Crash("math domain error"))
	}
	return naturalLog(base)
}

func minMax(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		low, high := series.Present(series.Minimum)(s.Values), series.Present(series.Maximum)(s.Values)
		s.Wrap("minMax(" + s.Name + ")")
		s.Ints = false
		c.Change(s, func(v float64) float64 {
			if high == low {
				return 0
			}
			return (v - low) / (high - low)
		})
	}
	return list, nil
}

func offset(c *call.Call) ([]*series.Series, error) {
	list, factor := c.Series("seriesList"), c.Float("factor")
	for s := range c.Over(list) {
		s.Tags["offset"] = python.Text(c.Value("factor"))
		s.Wrap("offset(" + s.Name + "," + python.General(factor) + ")")
		s.Ints = false
		c.Change(s, func(v float64) float64 { return v + factor })
	}
	return list, nil
}

func offsetToZero(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		low := series.Present(series.Minimum)(s.Values)
		s.Tags["offsetToZero"] = python.ValueText(low, s.Ints)
		s.Wrap("offsetToZero(" + s.Name + ")")
		c.Change(s, func(v float64) float64 { return v - low })
	}
	return list, nil
}

func round(c *call.Call) ([]*series.Series, error) {
	list, digits, shown := c.Series("seriesList"), int64(0), ""
	if c.Has("precision") {
		digits = c.Integer("precision")
		shown = "," + python.General(float64(digits))
	}
	for s := range c.Over(list) {
		s.Tags["round"] = python.Text(digits)
		s.Wrap("round(" + s.Name + shown + ")")
		c.Change(s, func(v float64) float64 { return python.Round(v, int(min(max(digits, -400), 400))) })
	}
	return list, nil
}

func scale(c *call.Call) ([]*series.Series, error) {
	list, factor := c.Series("seriesList"), c.Float("factor")
	for s := range c.Over(list) {
		s.Tags["scale"] = python.Text(c.Value("factor"))
		s.Wrap("scale(" + s.Name + "," + python.General(factor) + ")")
		s.Ints = false
		c.Change(s, func(v float64) float64 { return v * factor })
	}
	return list, nil
}

func scaleToSeconds(c *call.Call) ([]*series.Series, error) {
	list, seconds := c.Series("seriesList"), c.Float("seconds")
	shown, err := python.DecimalText(seconds)
	if err != nil {
		return nil, err
	}
	for s := range c.Over(list) {
		if s.Step == 0 {
			return nil, python.Crash("a series has no step")
		}
		s.Tags["scaleToSeconds"] = python.Text(c.Value("seconds"))
		s.Wrap("scaleToSeconds(" + s.Name + "," + shown + ")")
		s.Ints = false
		factor := seconds / float64(s.Step)
		c.Change(s, func(v float64) float64 { return python.Round(v*factor, 6) })
	}
	return list, nil
}
