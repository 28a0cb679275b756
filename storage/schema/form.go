package schema

import "math"

// A Form is as what a client sent a point. OpenTSDB's doors keep more of it than time and number: a
// TSD stores 1, 1.0 by telnet and 1.0 over HTTP in three ways and a whole second in two, and a
// second point that differs at the same instant fails its queries. It is a kind and flags.
type Form byte

// The forms of values.
const (
	FormFloat   Form = iota // a float, in as many bytes as Values requires
	FormInteger             // an integer: the 64 bits of the value are those of an int64
	// a float that a TSD stores in 8 bytes even where 4 are enough, as its /api/put does.
	FormDouble

	formKind = 3

	// FormMillis is a flag: the time came in milliseconds. A TSD then gives a whole second too the
	// qualifier of milliseconds.
	FormMillis Form = 4
)

// Kind returns the form without flags.
func (f Form) Kind() Form { return f & formKind }

// Millis reports whether the flag FormMillis is set.
func (f Form) Millis() bool { return f&FormMillis != 0 }

// ValuePoint returns the point of a value of a form at an offset in milliseconds. It is not ok
// where FloatPoint is not. ValuesDouble and ValuesCompact were chosen by an operator who knows
// which other processes write, so they hold for FormDouble too.
func ValuePoint(offset uint32, v float64, form Form, values Values) (p Point, ok bool) {
	switch kind := form.Kind(); {
	case kind == FormInteger:
		p, ok = IntPoint(offset, int64(math.Float64bits(v))), true
	case kind == FormDouble && values == ValuesAuto:
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
