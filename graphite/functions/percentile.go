package functions

import (
	"cmp"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// percentileFamily returns the functions that compare with percentiles and with fixed values.
func percentileFamily() []call.Function {
	params := []call.Param{seriesParam("seriesList"), need("n", call.TypeFloat)}
	list := []call.Function{{
		Name: "nPercentile", Group: "Calculate", Signature: "seriesList, n", Params: params, Call: perSeries(nPercentile), Doc: "Draws the n-th percentile of each series as a line.",
	}, {
		Name: "averageOutsidePercentile", Group: "Filter Series", Signature: "seriesList, n", Params: params, Call: averageOutsidePercentile,
		Doc: "Leaves out the series whose average is in the middle of all averages.",
	}, {
		Name: "removeBetweenPercentile", Group: "Filter Series", Signature: "seriesList, n", Params: params, Call: removeBetweenPercentile,
		Doc: "Leaves out the series that are always in the middle of all series.",
	}}
	above := func(v, limit float64) bool { return !python.IsNone(v) && v > limit }
	below := func(v, limit float64) bool { return python.IsNone(v) || v < limit }
	for _, f := range [...]struct {
		name, doc  string
		percentile bool
		out        func(v, limit float64) bool
	}{
		{"removeAbovePercentile", "Leaves out points above the n-th percentile.", true, above},
		{"removeAboveValue", "Leaves out points above n.", false, above},
		{"removeBelowPercentile", "Leaves out points below the n-th percentile.", true, below},
		{"removeBelowValue", "Leaves out points below n.", false, below},
	} {
		list = append(list, call.Function{
			Name: f.name, Group: "Filter Data", Signature: "seriesList, n", Doc: f.doc, Params: params,
			Call: perSeries(func(c *call.Call) ([]*series.Series, error) { return remove(c, f.name, f.percentile, f.out) }),
		})
	}
	return list
}

func nPercentile(c *call.Call) ([]*series.Series, error) {
	list, n := c.Series("seriesList"), c.Float("n")
	if n == 0 {
		return nil, python.Crash("The requested percent is required to be greater than 0")
	}
	var out []*series.Series
	for s := range c.Over(list) {
		p, err := percentile(c, s.Values, n, false)
		if err != nil {
			return nil, err
		}
		if python.IsNone(p) {
			continue
		}
		if s.Step <= 0 || (s.End-s.Start)/s.Step > maxMade {
			return nil, python.Crash("a series has no step")
		}
		if !c.Reserve(8 * max(0, (s.End-s.Start)/s.Step)) {
			break
		}
		s.Tags["nPercentile"] = python.Text(c.Value("n"))
		values := slices.Repeat([]float64{p}, int(max(0, (s.End-s.Start)/s.Step)))
		d := s.Derive("nPercentile("+s.Name+", "+python.General(n)+")", values)
		d.Ints = s.Ints
		out = append(out, d)
	}
	return out, nil
}

// remove replaces points by null. A series without points has no percentile and stays as it is, and
// so it does for a percentile out of range.
func remove(c *call.Call, name string, byPercentile bool, out func(v, limit float64) bool) ([]*series.Series, error) {
	list, n := c.Series("seriesList"), c.Float("n")
	for s := range c.Over(list) {
		limit := n
		s.Wrap(name + "(" + s.Name + ", " + python.General(n) + ")")
		if byPercentile {
			if n == 0 {
				return nil, python.Crash("The requested percent is required to be greater than 0")
			}
			p, err := percentile(c, s.Values, n, false)
			if err != nil || python.IsNone(p) {
				continue
			}
			s.Tags["nPercentile"] = python.Text(c.Value("n"))
			limit = p
		}
		c.Replace(s, func(v float64) float64 {
			if out(v, limit) {
				return python.None()
			}
			return v
		})
	}
	return list, nil
}

// middleBy returns the percentiles n and 100-n, the lower first.
func middleBy(c *call.Call, values []float64, n float64) (low, high float64, err error) {
	if n < 50 {
		n = 100 - n
	}
	if low, err = percentile(c, values, 100-n, false); err != nil {
		return 0, 0, err
	}
	high, err = percentile(c, values, n, false)
	return low, high, err
}

func averageOutsidePercentile(c *call.Call) ([]*series.Series, error) {
	list, n := c.Series("seriesList"), c.Float("n")
	averages := make([]float64, len(list))
	for i, s := range list {
		averages[i] = series.Average(s.Values)
	}
	low, high, err := middleBy(c, averages, n)
	if err != nil {
		return nil, err
	}
	var out []*series.Series
	for i, s := range list {
		if python.IsNone(averages[i]) {
			return nil, python.Crash("a series without points has no average")
		}
		if !(low < averages[i] && averages[i] < high) { // Also what does not compare.
			out = append(out, s)
		}
	}
	return out, nil
}

func removeBetweenPercentile(c *call.Call) ([]*series.Series, error) {
	list, n := c.Series("seriesList"), c.Float("n")
	if len(list) == 0 || c.Err != nil {
		return nil, nil
	}
	slots := len(list[0].Values)
	for s := range c.Over(list) {
		slots = min(slots, len(s.Values))
	}
	keep := make([]bool, len(list))
	column := make([]float64, len(list))
	for i := range slots {
		if !c.Tick(16 * len(list)) {
			return nil, c.Err
		}
		for j, s := range list {
			column[j] = s.Values[i]
		}
		low, high, err := middleBy(c, column, n)
		if err != nil {
			return nil, err
		}
		for j, v := range column {
			if python.IsNone(v) {
				return nil, python.Crash("a null cannot be compared")
			}
			keep[j] = keep[j] || !(low < v && v < high)
		}
	}
	var out []*series.Series
	for j, s := range list {
		if len(s.Values) > slots {
			return nil, python.Crash("the series are not equally long")
		}
		if keep[j] {
			out = append(out, s)
		}
	}
	return out, nil
}

// percentile is graphite-web's _getPercentile. Ranks outside the values count from the end, as
// Python's indexes do.
func percentile(c *call.Call, points []float64, n float64, interpolate bool) (float64, error) {
	sorted := series.WithoutNone(points)
	if len(sorted) == 0 {
		return python.None(), nil
	}
	if !call.Order(c, sorted, cmp.Compare) {
		return python.None(), c.Err
	}
	fractional := float64(n / 100 * float64(len(sorted)+1))
	if math.Abs(fractional) > 1<<53 {
		return 0, python.Crash("percentile %s is out of range", python.General(n))
	}
	rank := int64(fractional)
	fraction := fractional - float64(rank)
	if !interpolate {
		rank += int64(math.Ceil(fraction))
	}
	value, ok := python.Item(sorted, rank-1)
	switch {
	case rank == 0:
		value, ok = sorted[0], true
	case rank-1 == int64(len(sorted)):
		value, ok = sorted[len(sorted)-1], true
	}
	if interpolate && ok && rank != int64(len(sorted)) {
		var next float64
		next, ok = python.Item(sorted, rank)
		value += float64(fraction * (next - value))
	}
	if !ok {
		return 0, python.Crash("percentile %s is out of range", python.General(n))
	}
	return value, nil
}
