package schema

import (
	"encoding/binary"
	"fmt"
	"math"
)

// Values chooses how float values are stored.
type Values int

// The encodings of floats. Whichever is chosen, the same value always has the same bytes.
const (
	// ValuesAuto takes 4 bytes when they give the same 64 bits back, else 8: what a TSD's telnet
	// put writes.
	ValuesAuto   Values = iota
	ValuesDouble        // always 8 bytes: what a TSD's /api/put writes
	// ValuesCompact stores whole numbers as the smallest integers of up to 4 bytes, others as
	// ValuesAuto does. It is for tables that no TSD computes on.
	ValuesCompact
)

// The flags of floats. Those of integers are their length less one.
const (
	FlagsFloat4 = FlagFloat | 3
	FlagsFloat8 = FlagFloat | 7
)

// ValueFlags returns the flags of all values that are written.
func ValueFlags() []byte { return []byte{0, 1, 3, 7, FlagsFloat4, FlagsFloat8} }

// MaxCompact is the greatest magnitude up to which every whole number is a float64 of its own.
const MaxCompact = 1 << 53

// ParseValues is the inverse of String.
func ParseValues(s string) (Values, error) {
	for v := ValuesAuto; v <= ValuesCompact; v++ {
		if s == v.String() {
			return v, nil
		}
	}
	return 0, fmt.Errorf("encoding of values %q: want auto, double or compact", s)
}

// String returns the word of --storage.values.
func (v Values) String() string {
	switch v {
	case ValuesAuto:
		return "auto"
	case ValuesDouble:
		return "double"
	case ValuesCompact:
		return "compact"
	}
	return fmt.Sprintf("Values(%d)", int(v))
}

// FloatPoint is the point of a float at an offset in milliseconds. It is not ok for NaN and the
// infinities, which must become objects: a TSD writes neither, and an infinity in a data cell fails
// its whole query.
func FloatPoint(offset uint32, v float64, values Values) (p Point, ok bool) {
	bits := math.Float64bits(v)
	if isSpecial(bits) {
		return Point{}, false
	}
	if i, short := ShortWhole(v); short && values == ValuesCompact {
		return IntPoint(offset, i), true
	}
	p = NewPoint(offset)
	if short := float32(v); values != ValuesDouble && math.Float64bits(float64(short)) == bits {
		p.Bits, p.Flags = uint64(math.Float32bits(short)), FlagsFloat4
	} else {
		p.Bits, p.Flags = bits, FlagsFloat8
	}
	return p, true
}

// isSpecial reports whether bits are those of a NaN or an infinity: the exponent is all ones.
func isSpecial(bits uint64) bool {
	const exponent = 0x7FF << 52
	return bits&exponent == exponent
}

// WholeNumber gives the integer that has the same 64 bits as a float again. Negative zero is not
// one.
func WholeNumber(v float64) (int64, bool) {
	if !(math.Abs(v) <= MaxCompact) {
		return 0, false
	}
	i := int64(v)
	return i, math.Float64bits(float64(i)) == math.Float64bits(v)
}

// ShortWhole is wholeNumber of those that 4 bytes hold. In 8 bytes an integer is no shorter than
// the float, and OpenTSDB's fsck --fix-all deletes it: fsckInteger of 2.4 and 2.5 leaves out of the
// row that it writes again what cannot be shorter than 8 bytes.
func ShortWhole(v float64) (int64, bool) {
	i, whole := WholeNumber(v)
	return i, whole && i == int64(int32(i))
}

// IntPoint returns the point of an integer at an offset in milliseconds, in the fewest of 1, 2, 4
// and 8 bytes.
func IntPoint(offset uint32, v int64) Point {
	p := NewPoint(offset)
	switch {
	case v == int64(int8(v)):
		p.Bits, p.Flags = uint64(uint8(v)), 0
	case v == int64(int16(v)):
		p.Bits, p.Flags = uint64(uint16(v)), 1
	case v == int64(int32(v)):
		p.Bits, p.Flags = uint64(uint32(v)), 3
	default:
		p.Bits, p.Flags = uint64(v), 7
	}
	return p
}

// IsInt reports whether the value is an integer.
func (p Point) IsInt() bool { return p.Flags&FlagFloat == 0 }

// Int returns the value of a point that is an integer.
func (p Point) Int() int64 {
	unused := 64 - 8*uint(p.Width())
	return int64(p.Bits<<unused) >> unused
}

// Float returns the value as a float; an integer beyond 53 bits is rounded.
func (p Point) Float() float64 {
	switch p.Flags {
	case FlagsFloat8:
		return math.Float64frombits(p.Bits)
	case FlagsFloat4:
		return float64(math.Float32frombits(uint32(p.Bits)))
	default:
		return float64(p.Int())
	}
}

// AppendValue appends the bytes of the value.
func (p Point) AppendValue(dst []byte) []byte {
	switch p.Flags & lengthMask {
	case 7:
		return binary.BigEndian.AppendUint64(dst, p.Bits)
	case 3:
		return binary.BigEndian.AppendUint32(dst, uint32(p.Bits))
	default:
		return appendUint(dst, p.Bits, p.Width())
	}
}

// Width returns the length of the value in bytes.
func (p Point) Width() int { return int(p.Flags&lengthMask) + 1 }

// ValueLengths gives the length in bytes of a value with these flags: 0 when no value has them.
const ValueLengths = "\x01\x02\x00\x04\x00\x00\x00\x08\x00\x00\x00\x04\x00\x00\x00\x08"

// CutValue reads the value with these flags at the start of v and returns how many bytes it took: 0
// when v is too short or no value has such flags.
func CutValue(flags byte, v []byte) (bits uint64, width int) {
	width = int(ValueLengths[flags&FlagsMask])
	switch {
	case width > len(v):
		return 0, 0
	case len(v) >= 8: // all but the last values of a cell
		return binary.BigEndian.Uint64(v) >> (64 - 8*uint(width)), width
	}
	for _, b := range v[:width] {
		bits = bits<<8 | uint64(b)
	}
	return bits, width
}
