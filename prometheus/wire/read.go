// Package wire reads and appends protobuf fields as bytes. It knows no message type.
package wire

import (
	"encoding/binary"
	"errors"
	"math"
)

// ErrMalformed is returned for a message that is cut off, or that has a field of an unexpected wire
// type.
var ErrMalformed = errors.New("malformed protobuf")

// The readers below take a message and a position in it. They return the position after what they
// read, or a negative one if the message is malformed. They accept exactly what gogo's generated
// code accepts, so that a body gets the same answer as from Prometheus; see FuzzWalkV1. Like gogo's
// code, they truncate numbers that do not fit.

// readUvarint reads a varint of at most ten bytes.
func readUvarint(b []byte, i int) (uint64, int) {
	if i < len(b) && b[i] < 0x80 {
		return uint64(b[i]), i + 1
	}
	return ReadLongUvarint(b, i)
}

// ReadLongUvarint reads a varint of any length at i. next is 0 if there is none.
func ReadLongUvarint(b []byte, i int) (v uint64, next int) {
	for shift := 0; shift < 64 && i < len(b); shift += 7 {
		c := b[i]
		i++
		v |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
	return 0, -1
}

// ReadTag reads the head of a field.
func ReadTag(b []byte, i int) (field int32, wireType, next int) {
	tag, next := readUvarint(b, i)
	field, wireType = int32(tag>>3), int(tag&7)
	if next < 0 || field <= 0 || wireType == GroupClose {
		return 0, 0, -1
	}
	return field, wireType, next
}

// readDouble reads the value of a field of type double.
func readDouble(b []byte, i, wireType int) (v float64, next int) {
	if wireType != Fixed64 || len(b)-i < 8 {
		return 0, -1
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[i:])), i + 8
}

// ReadBytes reads the value of a field of type string, bytes or message.
func ReadBytes(b []byte, i, wireType int) (v []byte, next int) {
	if wireType != Bytes {
		return nil, -1
	}
	n, i := readUvarint(b, i)
	if i < 0 || n > uint64(len(b)-i) {
		return nil, -1
	}
	next = i + int(n)
	return b[i:next:next], next
}

// SkipField skips a field, beginning at its tag. A group is skipped with all its fields.
func SkipField(b []byte, i int) (next int) {
	for depth := 0; i >= 0 && i < len(b); {
		tag, v := readUvarint(b, i)
		if v < 0 {
			return -1
		}
		switch tag & 7 {
		case Group:
			depth++
			i = v
		case GroupClose:
			depth--
			i = v
		default:
			i = skipValue(b, v, int(tag&7))
		}
		if depth < 0 {
			return -1
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

func skipValue(b []byte, i, wireType int) (next int) {
	switch wireType {
	case Varint:
		_, next = readUvarint(b, i)
		return next
	case Bytes:
		_, next = ReadBytes(b, i, wireType)
		return next
	case Fixed64:
		next = i + 8
	case Fixed32:
		next = i + 4
	default:
		return -1
	}
	if next > len(b) {
		return -1
	}
	return next
}

// ReadUint32s appends a repeated uint32, packed or not. If the last number of a packed list extends
// beyond the end of the list, it is read to its own end, as gogo's code does.
func ReadUint32s(dst []uint32, b []byte, i, wireType int) ([]uint32, int) {
	if wireType == Varint {
		v, next := readUvarint(b, i)
		return append(dst, uint32(v)), next
	}
	packed, end := ReadBytes(b, i, wireType)
	if end < 0 {
		return dst, -1
	}
	for i = end - len(packed); i >= 0 && i < end; {
		var v uint64
		v, i = readUvarint(b, i)
		dst = append(dst, uint32(v))
	}
	return dst, i
}
