package own

import "encoding/binary"

// SpanQualifier returns a column that tsdbridge adds to tsdb-meta: the days in which a series may
// have rows of points, in the form of EncodeSpan. It occurs only in tables that no TSD opens.
func SpanQualifier() []byte { return []byte(spanQualifier) }

const spanQualifier = "tsdbridge.span"

// EncodeSpan returns the value of a span: its first and its last day since 1970, both inclusive.
func EncodeSpan(first, last uint16) []byte {
	return binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(nil, first), last)
}

// ParseSpan finds the span among the cells of a row: ok is false for any other cell, and for a span
// that EncodeSpan never makes.
func ParseSpan(qualifier, value []byte) (first, last uint16, ok bool) {
	if string(qualifier) != spanQualifier || len(value) != 4 {
		return 0, 0, false
	}
	first, last = binary.BigEndian.Uint16(value), binary.BigEndian.Uint16(value[2:])
	return first, last, first <= last
}
