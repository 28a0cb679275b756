package wire

import (
	"encoding/binary"
	"math"
)

// The wire types of protobuf.
const (
	Varint     = 0
	Fixed64    = 1
	Bytes      = 2
	Group      = 3
	GroupClose = 4
	Fixed32    = 5
)

// AppendTag appends the head of a field.
func AppendTag(b []byte, field, wireType int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wireType))
}

// AppendUint appends a field of type int64, int32, uint32 or enum.
func AppendUint(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(AppendTag(b, field, Varint), v)
}

// AppendSint appends a sint32 or sint64, unless it is 0. The zigzag of protobuf is the same as that
// of encoding/binary.
func AppendSint(b []byte, field int, v int64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendVarint(AppendTag(b, field, Varint), v)
}

// AppendDouble appends a double, unless it is +0.
func AppendDouble(b []byte, field int, v float64) []byte {
	if math.Float64bits(v) == 0 {
		return b
	}
	return AppendDoubleAlways(b, field, v)
}

// AppendDoubleAlways appends a double, also if it is +0.
func AppendDoubleAlways(b []byte, field int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(AppendTag(b, field, Fixed64), math.Float64bits(v))
}

// AppendDoubles appends a packed list.
func AppendDoubles(b []byte, field int, vs []float64) []byte {
	if len(vs) == 0 {
		return b
	}
	b = binary.AppendUvarint(AppendTag(b, field, Bytes), uint64(8*len(vs)))
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// AppendDeltas appends a packed list of sint64.
func AppendDeltas(b []byte, field int, vs []int64) []byte {
	if len(vs) == 0 {
		return b
	}
	size := 0
	for _, v := range vs {
		size += UvarintSize(uint64(v<<1) ^ uint64(v>>63))
	}
	b = binary.AppendUvarint(AppendTag(b, field, Bytes), uint64(size))
	for _, v := range vs {
		b = binary.AppendVarint(b, v)
	}
	return b
}

// AppendString appends a string, unless it is empty.
func AppendString(b []byte, field int, s string) []byte {
	if s == "" {
		return b
	}
	b = binary.AppendUvarint(AppendTag(b, field, Bytes), uint64(len(s)))
	return append(b, s...)
}

// StringSize returns the length of what AppendString appends for a field below 16.
func StringSize(s string) int {
	if s == "" {
		return 0
	}
	return 1 + UvarintSize(uint64(len(s))) + len(s)
}

// UvarintSize returns the length of a varint.
func UvarintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
