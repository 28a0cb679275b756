package eval

import "slices"

// percentileFamily returns the functions that compare with percentiles and with fixed values.
func percentileFamily() []Function {
	params := []Param{seriesParam("seriesList"), need("n", typeFloat)}
	list := []Function{{
		Name: "nPercentile", Group: "Calculate", Signature: "seriesList, n", Params: params, call: perSeries(nPercentile), Doc: "Draws the n-th percentile of each series as a line.",
	}, {
		Name: "averageOutsidePercentile", Group: "Filter Series", Signature: "seriesList, n", Params: params, call: averageOutsidePercentile,
		Doc: "Leaves out the series whose average is in the middle of all averages.",
	}, {
		Name: "removeBetweenPercentile", Group: "Filter Series", Signature: "seriesList, n", Params: params, call: removeBetweenPercentile,
		Doc: "Leaves out the series that are always in the middle of all series.",
	}}
	above := func(v, limit float64) bool { return !IsNone(v) && v > limit }
	below := func(v, limit float64) bool { return IsNone(v) || v < limit }
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
		list = append(list, Function{
			Name: f.name, Group: "Filter Data", Signature: "seriesList, n", Doc: f.doc, Params: params,
			call: perSeries(func(c *call) ([]*Series, error) { return c.remove(f.name, f.percentile, f.out) }),
		})
	}
	return list
}

func nPercentile(c *call) ([]*Series, error) {
	list, n := c.series("seriesList"), c.float("n")
	if n == 0 {
		return nil, crash("The requested percent is required to be greater than 0")
	}
	var out []*Series
	for s := range c.over(list) {
		p, err := c.percentile(s.Values, n, false)
		if err != nil {
			return nil, err
		}
		if IsNone(p) {
			continue
		}
		if s.Step <= 0 || (s.End-s.Start)/s.Step > maxMade {
			return nil, crash("a series has no step")
		}
		if !c.reserve(8 * max(0, (s.End-s.Start)/s.Step)) {
			break
		}
		s.Tags["nPercentile"] = text(c.value("n"))
		values := slices.Repeat([]float64{p}, int(max(0, (s.End-s.Start)/s.Step)))
		d := s.derive("nPercentile("+s.Name+", "+general(n)+")", values)
		d.ints = s.ints
		out = append(out, d)
	}
	return out, nil
}

// remove replaces points by null. A series without points has no percentile and stays as it is, and
// so it does for a percentile out of range.
func (c *call) remove(name string, byPercentile bool, out func(v, limit float64) bool) ([]*Series, error) {
	list, n := c.series("seriesList"), c.float("n")
	for s := range c.over(list) {
		limit := n
		s.wrap(name + "(" + s.Name + ", " + general(n) + ")")
		if byPercentile {
			if n == 0 {
				return nil, crash("The requested percent is required to be greater than 0")
			}
			p, err := c.percentile(s.Values, n, false)
			if err != nil || IsNone(p) {
				continue
			}
			s.Tags["nPercentile"] = text(c.value("n"))
			limit = p
		}
		c.replace(s, func(v float64) float64 {
			if out(v, limit) {
				return None()
			}
			return v
		})
	}
	return list, nil
}

// middle returns the percentiles n and 100-n, the lower first.
func (c *call) middle(values []float64, n float64) (low, high float64, err error) {
	if n < 50 {
		n = 100 - n
	}
	if low, err = c.percentile(values, 100-n, false); err != nil {
		return 0, 0, err
	}
	high, err = c.percentile(values, n, false)
	return low, high, err
}

func averageOutsidePercentile(c *call) ([]*Series, error) {
	list, n := c.series("seriesList"), c.float("n")
	averages := make([]float64, len(list))
	for i, s := range list {
		averages[i] = average(s.Values)
	}
	low, high, err := c.middle(averages, n)
	if err != nil {
		return nil, err
	}
	var out []*Series
	for i, s := range list {
		if IsNone(averages[i]) {
			return nil, crash("a series without points has no average")
		}
		if !(low < averages[i] && averages[i] < high) { // Also what does not compare.
			out = append(out, s)
		}
	}
	return out, nil
}

func removeBetweenPercentile(c *call) ([]*Series, error) {
	list, n := c.series("seriesList"), c.float("n")
	if len(list) == 0 || c.err != nil {
		return nil, nil
	}
	slots := len(list[0].Values)
	for s := range c.over(list) {
		slots = min(slots, len(s.Values))
	}
	keep := make([]bool, len(list))
	column := make([]float64, len(list))
	for i := range slots {
		if !c.tick(16 * len(list)) {
			return nil, c.err
		}
		for j, s := range list {
			column[j] = s.Values[i]
		}
		low, high, err := c.middle(column, n)
		if err != nil {
			return nil, err
		}
		for j, v := range column {
			if IsNone(v) {
				return nil, crash("a null cannot be compared")
			}
			keep[j] = keep[j] || !(low < v && v < high)
		}
	}
	var out []*Series
	for j, s := range list {
		if len(s.Values) > slots {
			return nil, crash("the series are not equally long")
		}
		if keep[j] {
			out = append(out, s)
		}
	}
	return out, nil
}
