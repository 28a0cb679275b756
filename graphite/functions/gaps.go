package functions

import (
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// gapFamily returns the functions about nulls.
func gapFamily() []call.Function {
	one := []call.Param{seriesParam("seriesList")}
	limited := []call.Param{seriesParam("seriesList"), with("limit", call.TypeIntOrInf, python.Inf())}
	return []call.Function{{
		Name: "keepLastValue", Group: "Transform", Signature: "seriesList, limit=inf", Params: limited, Call: keepLastValue,
		Doc: "Fills gaps of at most limit slots with the value before them.",
	}, {
		Name: "interpolate", Group: "Transform", Signature: "seriesList, limit=inf", Params: limited, Call: interpolate,
		Doc: "Fills gaps of at most limit slots with a straight line.",
	}, {
		Name: "transformNull", Group: "Transform", Signature: "seriesList, default=0, referenceSeries=None", Call: perSeries(transformNull),
		Doc: "Replaces nulls by a value, with reference series only where one of those has a point.",
		Params: []call.Param{
			seriesParam("seriesList"), with("default", call.TypeFloat, int64(0)), opt("referenceSeries", call.TypeSeriesList),
		},
	}, {
		Name: "isNonNull", Group: "Transform", Signature: "seriesList", Params: one, Call: isNonNull, Doc: "Draws 1 for each point and 0 for each null.",
	}, {
		Name: "changed", Group: "Special", Signature: "seriesList", Params: one, Call: changed, Doc: "Draws 1 where the value changed and 0 elsewhere.",
	}, {
		Name: "compressPeriodicGaps", Group: "Transform", Signature: "seriesList", Params: one, Call: compressPeriodicGaps,
		Doc: "Widens the step of series that have points at regular distances only.",
	}, {
		Name: "delay", Group: "Transform", Signature: "seriesList, steps", Call: perSeries(delay), Doc: "Moves values to later slots.",
		Params: []call.Param{seriesParam("seriesList"), need("steps", call.TypeInteger)},
	}, {
		Name: "removeEmptySeries", Group: "Filter Series", Signature: "seriesList, xFilesFactor=None", Call: perSeries(removeEmptySeries),
		Doc: "Leaves out series without points, or with fewer than the given part.", Params: []call.Param{seriesParam("seriesList"), opt("xFilesFactor", call.TypeFloat)},
	}}
}

// withinLimit reports whether a gap of so many slots may be filled. A limit that is not a number
// fails at the first gap.
func withinLimit(c *call.Call, gap int) bool { return gap > 0 && float64(gap) <= c.Float("limit") }

func keepLastValue(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.Wrap("keepLastValue(" + s.Name + ")")
		values := slices.Clone(s.Values)
		gap, before := 0, python.None()
		fill := func(end int) {
			if withinLimit(c, gap) && !python.IsNone(before) {
				for i := end - gap; i < end; i++ {
					values[i] = before
				}
			}
			gap = 0
		}
		for i, v := range s.Values {
			if python.IsNone(v) {
				gap++
				continue
			}
			fill(i)
			before = v
		}
		fill(len(values))
		s.Values = values
	}
	return list, nil
}

// interpolate does not count a null in the first slot, so that a gap there is never filled.
func interpolate(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.Wrap("interpolate(" + s.Name + ")")
		s.Ints = false
		values := slices.Clone(s.Values)
		gap := 0
		for i := 1; i < len(values); i++ {
			if python.IsNone(values[i]) {
				gap++
				continue
			}
			before := values[i-gap-1]
			if gap > 0 && !python.IsNone(before) && withinLimit(c, gap) {
				for j := i - gap; j < i; j++ {
					values[j] = before + float64(j-(i-gap-1))*(values[i]-before)/float64(gap+1)
				}
			}
			gap = 0
		}
		s.Values = values
	}
	return list, nil
}

func transformNull(c *call.Call) ([]*series.Series, error) {
	list, value := c.Series("seriesList"), c.Float("default")
	defaults, err := nullDefaults(c, value)
	if err != nil {
		return nil, err
	}
	suffix := ""
	if defaults != nil || c.Truth("referenceSeries") {
		suffix = ",referenceSeries"
	}
	for s := range c.Over(list) {
		s.Tags["transformNull"] = python.Text(c.Value("default"))
		if suffix != "" {
			s.Tags["referenceSeries"] = "1"
		}
		s.Wrap("transformNull(" + s.Name + "," + python.General(value) + suffix + ")")
		filled := fillNulls(s.Values, defaults, value)
		// graphite-web appends the new values and takes as many off the front: of more values the
		// last stay.
		s.Values = filled[len(filled)-len(s.Values):]
		s.Ints = false
	}
	return list, nil
}

// nullDefaults returns the value for each slot in which a reference series has a point; nil means
// the value everywhere.
func nullDefaults(c *call.Call, value float64) ([]float64, error) {
	if !c.Truth("referenceSeries") {
		return nil, nil
	}
	return c.PerRow(c.Series("referenceSeries"), func(row []float64) float64 {
		if series.CountPresent(row) > 0 {
			return value
		}
		return python.None()
	})
}

func fillNulls(values, defaults []float64, value float64) []float64 {
	out := make([]float64, max(len(values), len(defaults)))
	for i := range out {
		out[i] = at(values, i)
		switch {
		case !python.IsNone(out[i]):
		case len(defaults) > 0:
			out[i] = at(defaults, i)
		default:
			out[i] = value
		}
	}
	return out
}

func isNonNull(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.Tags["isNonNull"] = "1"
		s.Wrap("isNonNull(" + s.Name + ")")
		c.Replace(s, func(v float64) float64 { return python.OfBool(!python.IsNone(v)) })
		s.Ints = true
	}
	return list, nil
}

func changed(c *call.Call) ([]*series.Series, error) {
	list := c.Series("seriesList")
	for s := range c.Over(list) {
		s.Wrap("changed(" + s.Name + ")")
		before := python.None()
		c.Replace(s, func(v float64) float64 {
			switch {
			case python.IsNone(before):
				before = v
			case !python.IsNone(v) && v != before:
				before = v
				return 1
			}
			return 0
		})
		s.Ints = true
	}
	return list, nil
}

func delay(c *call.Call) ([]*series.Series, error) {
	list, steps := c.Series("seriesList"), c.Integer("steps")
	var out []*series.Series
	for s := range c.Over(list) {
		n := len(s.Values)
		nulls := make([]float64, min(max(steps, -steps), int64(n)))
		for i := range nulls {
			nulls[i] = python.None()
		}
		var values []float64
		if steps < 0 {
			low, _ := python.Bounds(-steps, int64(n), n)
			values = append(slices.Clone(s.Values[low:]), nulls...)
		} else {
			_, high := python.Bounds(0, -steps, n) // 0 steps leave no value: Python's list[:-0].
			values = append(nulls, s.Values[:high]...)
		}
		s.Tags["delay"] = python.Text(steps)
		d := s.Derive("delay("+s.Name+","+python.Text(steps)+")", values)
		d.Ints = s.Ints
		out = append(out, d)
	}
	return out, nil
}

func removeEmptySeries(c *call.Call) ([]*series.Series, error) {
	factor := 0.0
	if c.Has("xFilesFactor") {
		factor = c.Float("xFilesFactor")
	}
	return slices.DeleteFunc(c.Series("seriesList"), func(s *series.Series) bool {
		return !series.Enough(series.CountPresent(s.Values), len(s.Values), factor)
	}), nil
}

func compressPeriodicGaps(c *call.Call) ([]*series.Series, error) {
	var out []*series.Series
	for s := range c.Over(c.Series("seriesList")) {
		s.Wrap("compressPeriodicGaps(" + s.Name + ")")
		compressed, err := compress(c, s)
		if err != nil {
			return nil, err
		}
		out = append(out, compressed)
	}
	return out, nil
}

// compress guesses the distance of points from the first two that are not 0 (one in the first slot
// does not count) and a third that stands alone where they predict it. Without a guess the series
// stays.
func compress(c *call.Call, s *series.Series) (*series.Series, error) {
	firstSeen, secondSeen := 0, 0
	for i, v := range s.Values {
		if python.IsNone(v) || v == 0 {
			continue
		}
		if firstSeen > 0 {
			secondSeen = i
			break
		}
		firstSeen = i
	}
	guess := secondSeen - firstSeen
	third := secondSeen + guess
	if guess <= 1 || third > len(s.Values)-2 {
		return s, nil
	}
	if v := s.Values[third]; python.IsNone(v) || v == 0 || !python.IsNone(s.Values[third-1]) || !python.IsNone(s.Values[third+1]) {
		return s, nil
	}
	interval := int64(guess) * s.Step
	start := s.Start + int64(firstSeen)*s.Step
	values, _, err := summarized(c, s, "last", interval, start, s.End)
	if err != nil {
		return nil, err
	}
	out := *s
	out.Start, out.End, out.Step, out.Values = start, start+interval*int64(len(values)-1), interval, values
	return &out, nil
}
