package schema

// A Point is one data point of a row, as a cell holds it.
type Point struct {
	Bits   uint64 // the bytes of the value, big-endian, in the low bytes
	Offset uint32 // milliseconds in the hour; a foreign cell may lie beyond it
	Flags  byte   // OpenTSDB's nibble: 8 is a float, the rest is the value's length less one
	Millis bool   // a qualifier of 4 bytes, which counts milliseconds
}

// NewPoint returns a point without a value. A whole second has the seconds qualifier, so that one
// instant has one qualifier.
func NewPoint(offset uint32) Point {
	return Point{Offset: offset, Millis: offset%1000 != 0}
}

// WithOurUnit returns the point with the qualifier that its instant has in tables that only
// tsdbridge writes. The first point of a cell, and points that came in milliseconds, may count
// milliseconds though they are whole seconds.
func (p Point) WithOurUnit() Point {
	p.Millis = p.Offset%1000 != 0 || p.Offset > MaxSecondsOffset*1000
	return p
}

// SameValue reports whether the values have the same type, length and bytes. A TSD answers 400 to a
// query that meets two different values at one instant.
func (p Point) SameValue(o Point) bool { return p.Flags == o.Flags && p.Bits == o.Bits }
