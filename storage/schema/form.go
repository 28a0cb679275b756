package schema

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
)

// ValuePoint returns the point of a value of a form at an offset in milliseconds. It is not ok
// where FloatPoint is not. ValuesDouble and ValuesCompact were chosen by an operator who knows
// which other processes write, so they hold for FormDouble too.
func ValuePoint(offset uint32, v float64, form storage.Form, values Values) (p Point, ok bool) {
	switch kind := form.Kind(); {
	case kind == storage.FormInteger:
		p, ok = IntPoint(offset, int64(math.Float64bits(v))), true
	case kind == storage.FormDouble && values == ValuesAuto:
		p, ok = FloatPoint(offset, v, ValuesDouble)
	default:
		p, ok = FloatPoint(offset, v, values)
	}
	p.Millis = p.Millis || form.Millis()
	return p, ok
}

// FitsFloat4 reports whether a finite float comes back from 4 bytes with the same 64 bits: only
// then does its form decide its length.
func FitsFloat4(v float64) bool {
	bits := math.Float64bits(v)
	return !isSpecial(bits) && math.Float64bits(float64(float32(v))) == bits
}
