package pickle

import (
	"encoding/binary"
	"math"
)

// What a pickle of protocol 2, which every Python reads, begins and ends with, and what makes a list and a
// pair of values.
const (
	Begin     = "\x80\x02"
	ListBegin = "](" // and then its values
	ListEnd   = "e"
	Pair      = "\x86" // of the two values before it
	End       = "."
)

// AppendText appends a text, which must be UTF-8.
func AppendText[T string | []byte](b []byte, text T) []byte {
	return append(binary.LittleEndian.AppendUint32(append(b, 'X'), uint32(len(text))), text...) //nolint:gosec // names are short
}

// AppendInt appends an integer.
func AppendInt(b []byte, n int64) []byte {
	if int64(int32(n)) == n {
		return binary.LittleEndian.AppendUint32(append(b, 'J'), uint32(n))
	}
	return binary.LittleEndian.AppendUint64(append(b, 0x8a, 8), uint64(n))
}

// AppendFloat appends a float.
func AppendFloat(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 'G'), math.Float64bits(v))
}
