package job

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/rollup"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// filled returns the values of the intervals that a series has points in. They are what a TSD makes of the
// same rows: NaN (stale markers too), infinities and histograms do not count, because a TSD has none in a
// cell of a point. Where all points are integers, so are the values, as far as 64 bits have them. Floats are
// added in the order of their times.
func filled(p *storage.Points, i *rollup.Interval) (list []rollup.Filled) {
	var made interval
	length, integers := int64(i.Seconds)*1000, p.Integers
	for n, t := range p.Times {
		v := p.Values[n]
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		if begin := t - t%length; made.count == 0 || begin != made.begin {
			list = made.appendTo(list)
			made = interval{begin: begin}
		}
		for len(integers) > 0 && integers[0].Time < t {
			integers = integers[1:]
		}
		if len(integers) > 0 && integers[0].Time == t {
			made.addInteger(integers[0].Value)
		} else {
			made.floats = true
		}
		made.add(v)
	}
	return made.appendTo(list)
}

// An interval is the points of one interval so far.
type interval struct {
	begin         int64 // milliseconds
	count         int64
	sum, min, max float64
	// of integers, if there were no floats and the sum has 64 bits
	integerSum, integerMin, integerMax int64
	integers                           int64 // how many
	floats                             bool
	overflow                           bool // of the sum
}

func (i *interval) add(v float64) {
	if i.count == 0 {
		i.min, i.max = v, v
	}
	i.count++
	i.sum += v
	if v < i.min {
		i.min = v
	}
	if v > i.max {
		i.max = v
	}
}

func (i *interval) addInteger(v int64) {
	sum := i.integerSum + v
	i.overflow = i.overflow || (v > 0) != (sum > i.integerSum)
	i.integerSum = sum
	if i.integers == 0 {
		i.integerMin, i.integerMax = v, v
	}
	i.integerMin, i.integerMax = min(i.integerMin, v), max(i.integerMax, v)
	i.integers++
}

// appendTo appends the values, if there were points. A sum beyond all floats is left out.
func (i *interval) appendTo(list []rollup.Filled) []rollup.Filled {
	if i.count == 0 {
		return list
	}
	f := rollup.Filled{Begin: uint32(i.begin / 1000)}
	float := func(at int, v float64) { f.Values[at], f.Present[at] = schema.FloatPoint(0, v, schema.ValuesAuto) }
	integer := func(at int, v int64) { f.Values[at], f.Present[at] = schema.IntPoint(0, v), true }
	integer(atCount, i.count)
	if i.floats {
		float(atMin, i.min)
		float(atMax, i.max)
	} else {
		integer(atMin, i.integerMin)
		integer(atMax, i.integerMax)
	}
	if i.floats || i.overflow {
		float(atSum, i.sum)
	} else {
		integer(atSum, i.integerSum)
	}
	return append(list, f)
}
