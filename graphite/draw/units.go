package draw

import (
	"math"
	"strconv"
)

// A unit is a name for so many.
type unit struct {
	name string
	size float64
}

// unitSystem returns the units of a system, the largest first; ok is false for a name that none has.
func unitSystem(name string) (units []unit, ok bool) {
	const hour, day = 3600, 86400
	switch name {
	case "si":
		return []unit{{"P", 1e15}, {"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}}, true
	case "binary":
		return []unit{{"Pi", 1 << 50}, {"Ti", 1 << 40}, {"Gi", 1 << 30}, {"Mi", 1 << 20}, {"Ki", 1 << 10}}, true
	case "sec":
		return []unit{{"Y", 365 * day}, {"M", 30 * day}, {"D", day}, {"H", hour}, {"m", 60}}, true
	case "msec":
		return []unit{{"Y", 365 * day * 1000}, {"M", 30 * day * 1000}, {"D", day * 1000}, {"H", hour * 1000}, {"m", 60_000}, {"s", 1000}}, true
	case "none":
		return nil, true
	}
	return nil, false
}

// inUnits scales a value to the largest unit that neither it nor the step between labels is below. The
// step is 0 where there is none.
func inUnits(v, step float64, units []unit) (scaled float64, name string) {
	scaled = v
	for _, u := range units {
		if math.Abs(v) >= u.size && (step == 0 || step >= u.size) {
			scaled, name = v/u.size, u.name
			break
		}
	}
	if v > 1 && scaled-math.Floor(scaled) < 1e-11 {
		scaled = math.Floor(scaled)
	}
	return scaled, name
}

// valueLabel writes a value of an axis whose labels are a step apart and that spans so much, with as many
// digits as tell neighbours apart. A blank always follows the number: the width of labels counts it.
func valueLabel(v, step, span float64, units []unit) string {
	v, name := inUnits(v, step, units)
	span, spanName := inUnits(span, step, units)
	text := func(format byte, digits int) string {
		s := strconv.FormatFloat(v, format, digits, 64) + " "
		if name != "" {
			s += name + " "
		}
		return s
	}
	switch {
	case v < 0.1:
		return text('g', 6)
	case v < 1:
		return text('f', 2)
	case span > 3, name != "", spanName != name:
		return text('f', 1)
	case span > 0.1:
		return text('f', 2)
	}
	return text('g', 6)
}
