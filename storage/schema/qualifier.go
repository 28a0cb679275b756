package schema

import (
	"encoding/binary"
	"iter"
)

// Qualifiers of data points, OpenTSDB 2.4 Const:
//
//	seconds       12 bits offset in seconds, 4 bits flags
//	milliseconds  4 bits 1111, 22 bits offset in milliseconds, 2 bits reserved, 4 bits flags
//
// The first nibble distinguishes the two: an hour has 3600 (E10) seconds, so F is free.
const (
	FlagFloat  = 0x8 // Const.FLAG_FLOAT
	lengthMask = 0x7 // Const.LENGTH_MASK: length of the value less one
	FlagsMask  = 0xF // Const.FLAGS_MASK

	msNibble     = 0xF0 // Const.MS_BYTE_FLAG, of the first byte
	MsMark       = 0xF0000000
	MsShift      = 6 // Const.MS_FLAG_BITS
	MsOffsetMask = 1<<22 - 1
	SecondsShift = 4 // Const.FLAG_BITS

	// MaxSecondsOffset is the greatest offset that a qualifier of 2 bytes holds: EFF, for F begins
	// one of 4.
	MaxSecondsOffset = 0xEFF
)

// AppendQualifier appends the qualifier of the point: 2 bytes, or 4 when it counts milliseconds.
func (p Point) AppendQualifier(dst []byte) []byte {
	if p.Millis {
		return binary.BigEndian.AppendUint32(dst, MsMark|p.Offset&MsOffsetMask<<MsShift|uint32(p.Flags))
	}
	return binary.BigEndian.AppendUint16(dst, uint16(p.Offset/1000<<SecondsShift)|uint16(p.Flags))
}

// IsMillis reports whether a qualifier that begins with this byte has 4 bytes.
func IsMillis(first byte) bool { return first&msNibble == msNibble }

// CutQualifier reads the first qualifier of q and returns how many bytes it took: 0 when q ends
// within it. Offsets beyond the hour and reserved bits are taken as they are, like a TSD takes
// them.
func CutQualifier(q []byte) (Point, int) {
	if len(q) >= 2 && !IsMillis(q[0]) {
		bits := uint32(binary.BigEndian.Uint16(q))
		return Point{Offset: bits >> SecondsShift * 1000, Flags: byte(bits & FlagsMask)}, 2
	}
	if len(q) >= 4 {
		bits := binary.BigEndian.Uint32(q)
		return Point{Offset: bits >> MsShift & MsOffsetMask, Flags: byte(bits & FlagsMask), Millis: true}, 4
	}
	return Point{}, 0
}

// Offsets returns the offsets of the points of a cell of points, in milliseconds, by its qualifier
// alone.
func Offsets(qualifier []byte) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for len(qualifier) > 0 {
			p, n := CutQualifier(qualifier)
			if n == 0 || !yield(p.Offset) {
				return
			}
			qualifier = qualifier[n:]
		}
	}
}
