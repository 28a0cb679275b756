package draw

import (
	"image/color"
	"math"
	"slices"
)

// A Series is a line of a picture: the value of slot i is at Start + i*Step, in epoch seconds. A NaN is a
// slot without a point. End is exclusive.
type Series struct {
	Name             string
	Start, End, Step int64
	Values           []float64
	// Join returns values of the series, n of them joined to one by its consolidation function.
	Join func(values []float64, n int) ([]float64, error)
	Style
}

// A Style is what functions such as color() and stacked() say about a series.
type Style struct {
	Color     string   // empty: the next of the list of colours
	Alpha     float64  // opacity; 0: opaque
	Width     *float64 // of the line, pixels; nil: as the others
	Dash      float64  // length of dashes, pixels; 0: a full line
	Stacked   bool     // the area below is filled
	Invisible bool     // but not seen: what comes later is left out there
	Right     bool     // it belongs to the second axis
	Infinite  bool     // each point above 0 is a line from below to above
}

// A line is a series while it is drawn.
type line struct {
	*Series
	style   Style // with what the options say
	color   color.NRGBA
	word    string    // of the color
	values  []float64 // of the slots: those of the series, or stacked
	joined  []float64 // the values that are drawn
	joinedN int       // how many slots each of them is
	xStep   float64   // pixels between them
}

// join makes the values that are drawn of n slots each.
func (l *line) join(n int) (err error) {
	if n == l.joinedN {
		return nil
	}
	if l.joined, l.joinedN = l.values, n; n > 1 {
		l.joined, err = l.Join(l.values, n)
	}
	return err
}

// finite reports whether a value can be drawn.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// dataLimits returns the least and the greatest value, 0 and 1 where there is none.
func dataLimits(lines []*line, nullAsZero, stacked bool) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	missing, slots := false, math.MaxInt
	for _, l := range lines {
		for _, v := range l.values {
			missing = missing || math.IsNaN(v)
		}
		if l.style.Infinite {
			continue
		}
		slots = min(slots, len(l.values))
		for _, v := range l.joined {
			if finite(v) {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if low > high {
		return 0, 1
	}
	if stacked {
		if most := highestSum(lines, slots); finite(most) {
			high = most
		}
	}
	if nullAsZero && missing {
		low, high = min(low, 0), max(high, 0)
	}
	return low, high
}

// highestSum returns the greatest sum of the values of a slot.
func highestSum(lines []*line, slots int) float64 {
	sums := make([]float64, slots)
	for _, l := range lines {
		if l.style.Infinite {
			continue
		}
		for i, v := range l.values[:slots] {
			if finite(v) {
				sums[i] += v
			}
		}
	}
	if slots == 0 {
		return math.Inf(-1)
	}
	return slices.Max(sums)
}

// stack adds to the values of each line those of the lines before it, by their places.
func stack(lines []*line) error {
	var total []float64
	for _, l := range lines {
		if l.style.Infinite {
			continue
		}
		l.style.Stacked = true
		stacked := make([]float64, len(l.values))
		for i, v := range l.values {
			if len(total) <= i {
				total = append(total, 0)
			}
			if stacked[i] = v; !math.IsNaN(v) {
				total[i] += v
				stacked[i] = total[i]
			}
		}
		n := l.joinedN
		l.values, l.joinedN = stacked, 0
		if err := l.join(n); err != nil {
			return err
		}
	}
	return nil
}
