package adapter

import (
	"encoding/binary"
	"math"

	"github.com/prometheus/prometheus/model/histogram"
)

// The wire types of protobuf.
const (
	wireVarint     = 0
	wireFixed64    = 1
	wireBytes      = 2
	wireGroup      = 3
	wireGroupClose = 4
	wireFixed32    = 5
)

func appendTag(b []byte, field, wireType int) []byte {
	return binary.AppendUvarint(b, uint64(field)<<3|uint64(wireType))
}

func appendUint(b []byte, field int, v uint64) []byte {
	return binary.AppendUvarint(appendTag(b, field, wireVarint), v)
}

// appendSint appends a sint32 or sint64, unless it is 0. The zigzag of protobuf is that of encoding/binary.
func appendSint(b []byte, field int, v int64) []byte {
	if v == 0 {
		return b
	}
	return binary.AppendVarint(appendTag(b, field, wireVarint), v)
}

// appendDouble appends a double, unless it is +0.
func appendDouble(b []byte, field int, v float64) []byte {
	if math.Float64bits(v) == 0 {
		return b
	}
	return appendDoubleAlways(b, field, v)
}

func appendDoubleAlways(b []byte, field int, v float64) []byte {
	return binary.LittleEndian.AppendUint64(appendTag(b, field, wireFixed64), math.Float64bits(v))
}

// appendDoubles appends a packed list.
func appendDoubles(b []byte, field int, vs []float64) []byte {
	if len(vs) == 0 {
		return b
	}
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(8*len(vs)))
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// appendDeltas appends a packed list of sint64.
func appendDeltas(b []byte, field int, vs []int64) []byte {
	if len(vs) == 0 {
		return b
	}
	size := 0
	for _, v := range vs {
		size += uvarintSize(uint64(v<<1) ^ uint64(v>>63))
	}
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(size))
	for _, v := range vs {
		b = binary.AppendVarint(b, v)
	}
	return b
}

// Field numbers of prometheus.BucketSpan.
const (
	spanOffset = 1
	spanLength = 2
)

func appendSpans(b []byte, field int, spans []histogram.Span) []byte {
	var scratch [16]byte
	for _, s := range spans {
		m := appendSint(scratch[:0], spanOffset, int64(s.Offset))
		if s.Length != 0 {
			m = appendUint(m, spanLength, uint64(s.Length))
		}
		b = appendTag(b, field, wireBytes)
		b = binary.AppendUvarint(b, uint64(len(m)))
		b = append(b, m...)
	}
	return b
}

// appendString appends a string, unless it is empty.
func appendString(b []byte, field int, s string) []byte {
	if s == "" {
		return b
	}
	b = binary.AppendUvarint(appendTag(b, field, wireBytes), uint64(len(s)))
	return append(b, s...)
}

// stringSize is the length of what appendString appends for a field below 16.
func stringSize(s string) int {
	if s == "" {
		return 0
	}
	return 1 + uvarintSize(uint64(len(s))) + len(s)
}

func uvarintSize(v uint64) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}
