package schema

import "math"

// A Form is as what a client sent a value. OpenTSDB's doors keep more of it than the number: a TSD stores 1, 1.0 by telnet and 1.0 over HTTP in
// three ways, and a second point that differs at the same instant fails its queries.
type Form byte

// The forms of values.
const (
	FormFloat   Form = iota // a float, in as many bytes as Values says
	FormInteger             // an integer: the 64 bits of the value are those of an int64
	FormDouble              // a float that a TSD stores in 8 bytes even where 4 would do, as its /api/put does
)

// ValuePoint is the point of a value of a form at an offset in milliseconds. It is not ok where FloatPoint is not. ValuesDouble and ValuesCompact
// were asked for by somebody who knows who else writes, and hold for FormDouble too.
func ValuePoint(offset uint32, v float64, form Form, values Values) (p Point, ok bool) {
	switch {
	case form == FormInteger:
		return IntPoint(offset, int64(math.Float64bits(v))), true
	case form == FormDouble && values == ValuesAuto:
		values = ValuesDouble
	}
	return FloatPoint(offset, v, values)
}

// FitsFloat4 says whether a finite float comes back from 4 bytes with the same 64 bits: only then does its form decide its length.
func FitsFloat4(v float64) bool {
	bits := math.Float64bits(v)
	return !isSpecial(bits) && math.Float64bits(float64(float32(v))) == bits
}
