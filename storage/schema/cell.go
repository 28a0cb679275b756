package schema

import (
	"encoding/binary"
	"fmt"
)

// CellKind is what a cell of a data row holds.
type CellKind int

// The kinds of cells.
const (
	CellUnknown    CellKind = iota // read over, like a TSD reads over it
	CellData                       // one data point, or several compacted
	CellAppend                     // data points in order of arrival (tsd.storage.enable_appends)
	CellAnnotation                 // a note: JSON
	CellHistogram                  // OpenTSDB's own histogram
	CellObject                     // tsdbridge's objects
	CellAges                       // when the points of tsdbridge's data cells were acknowledged
)

// The first bytes of odd qualifiers.
const (
	prefixAnnotation = 0x01 // OpenTSDB Annotation.PREFIX
	prefixAppend     = 0x05 // OpenTSDB AppendDataPoints.APPEND_COLUMN_PREFIX
	prefixHistogram  = 0x06 // OpenTSDB HistogramDataPoint.PREFIX
	PrefixObject     = 0x82 // ours: above 7F, where no rollup aggregation can have its id
)

// AgesMark is the second byte of the qualifier of a cell of ages. No object has an offset that
// begins so.
const AgesMark = 0xFF

// ClassifyCell returns the kind of a cell by its qualifier: of even length it is data, of odd
// length the first byte decides. OpenTSDB gives 3 or 5 bytes to an odd qualifier; its fsck deletes
// unknown ones of other lengths.
func ClassifyCell(qualifier []byte) CellKind {
	n := len(qualifier)
	if n > 0 && n%2 == 0 {
		return CellData
	}
	if n != 3 && n != 5 {
		return CellUnknown
	}
	switch qualifier[0] {
	case prefixAppend:
		if n == 3 && qualifier[1] == 0 && qualifier[2] == 0 {
			return CellAppend
		}
	case prefixAnnotation:
		return CellAnnotation
	case prefixHistogram:
		return CellHistogram
	case PrefixObject:
		if n == 5 && qualifier[1] == AgesMark {
			return CellAges
		}
		return CellObject
	}
	return CellUnknown
}

// DecodeData appends the points of a data cell in the order they are stored: a TSD does not sort
// within a cell either, and it keeps two points of one instant. After an error dst is as it was.
func DecodeData(dst []Point, qualifier, value []byte) ([]Point, error) {
	if ClassifyCell(qualifier) != CellData {
		return dst, fmt.Errorf("data cell %X: not the qualifier of data points", Clip(qualifier))
	}
	if len(qualifier) > 2 && (len(qualifier) != 4 || !IsMillis(qualifier[0])) {
		return decodeCompacted(dst, qualifier, value)
	}
	p, n := CutQualifier(qualifier)
	if n == 2 {
		p, value = repair(p, value)
	}
	bits, width := CutValue(p.Flags, value)
	if n == 0 || width == 0 || width != len(value) {
		return dst, fmt.Errorf("data cell %X: %d bytes %X are not its value", qualifier, len(value), Clip(value))
	}
	p.Bits = bits
	return append(dst, p), nil
}

// repair corrects what early OpenTSDBs wrote to single cells with a 2-byte qualifier (2.4
// Internal.fixFloatingPointValue and fixQualifierFlags): a float of 4 bytes after 4 zero bytes, and
// flags with a length that is not the value's.
func repair(p Point, value []byte) (Point, []byte) {
	n := len(value)
	if p.Flags == FlagsFloat4 && n == 8 {
		if binary.BigEndian.Uint32(value) == 0 {
			value = value[4:]
		}
		return p, value
	}
	if n >= 1 && n <= lengthMask+1 {
		p.Flags = p.Flags&FlagFloat | byte(n-1)
	}
	return p, value
}
