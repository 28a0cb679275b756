// Package columns codes data cells of several points, and documents of new series, as columns: the form
// in which the embedded engine and the archives keep them. It never reaches OpenTSDB's own tables.
package columns

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// A data cell of several points as columns is what an engine may keep on its own disk instead of
// the qualifier and the value, as long as it returns those byte for byte. Only the engine sees this form.
//
//	cell   = form(1) count(uvarint) first offset(uvarint) steps flags values
//	form   = bits 0-1 1: all qualifiers count seconds, and so do offsets and steps; 2: all count milliseconds;
//	         0: those of whole seconds count seconds, offsets and steps are milliseconds;
//	         3: as 0, but the first counts milliseconds and is a whole second, see MistakenForAppend
//	         bits 2-4 where the flags come from, see flagRule
//	         bits 5-6 how values are coded, see valueForm
//	         bit 7    0; a cell that begins with 80 is another's, see metacell.go
//	steps  = pack of the count-1 differences of neighbouring offsets
//	flags  = one byte (flagsSame), a nibble each (flagsEach), else nothing
//	values = scale(4 bits) order(4 bits), order first numbers (varint each), pack of what order leaves    (numbers)
//	       | a byte each: trailing zero bytes*16 + bytes, then the bytes of each                            (bits that change)
//
// A number is an integer, or a float times 10^scale where dividing gives the same 64 bits again.
// Order 0 packs the numbers, order 1 their differences, order 2 the differences of those. A pack is
//
//	pack      = width(7 bits) exceptions?(1 bit), low(varint), shift(1, if width > 0), width bits each, exceptions
//	exceptions = count(uvarint), places(uvarint each, from the one before), distances from low (varint each)
//
// where a packed number is low + bits<<shift, and an exception is packed as 0 bits. So constant
// numbers, and numbers that grow evenly, take a few bytes however long the cell is; noise takes the
// bits of its range.
const (
	formMixed       = 0
	formSeconds     = 1
	formAllMillis   = 2
	formFirstMillis = 3
	formTimeMask    = 3

	formRuleShift = 2
	formRuleMask  = 7
	formValShift  = 5
	formValMask   = 3
	formReserved  = 1 << 7
)

// flagRule is how the flags of points follow from their values.
type flagRule byte

const (
	flagsSame    flagRule = iota // all are the same
	flagsAuto                    // those that FloatPoint gives with ValuesAuto
	flagsCompact                 // with ValuesCompact, when it made integers of 8 bytes as well
	flagsInteger                 // those that IntPoint gives
	flagsEach                    // no rule
	flagsShort                   // with ValuesCompact
	flagRules
)

// valueForm is how the values are stored.
type valueForm byte

const (
	valuesInteger valueForm = iota // integers of up to 64 bits
	valuesDecimal                  // scaled floats, of which some may be integers of up to 53 bits
	valuesBits                     // likewise, as the bits that differ from the float before
	valueForms
)

const (
	// maxColumnPoints bounds what a damaged cell can ask for; an hour has 3.6 million milliseconds.
	maxColumnPoints = 1 << 22
	// maxScale is the greatest power of ten that floats are scaled by.
	maxScale = 15
	maxOrder = 2
)

// powersOfTen are exact floats: dividing an integer of up to 53 bits by one is correctly rounded,
// hence the float that is nearest to the decimal.
var powersOfTen = [maxScale + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// errColumns means that bytes are no column-coded cell.
var errColumns = errors.New("damaged column-coded cell")

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// reader reads the parts of a coded cell.
type reader struct {
	rest []byte
	bad  bool
}

func (r *reader) byte() byte {
	if len(r.rest) == 0 {
		r.bad = true
		return 0
	}
	b := r.rest[0]
	r.rest = r.rest[1:]
	return b
}

func (r *reader) uvarint() uint64 {
	if len(r.rest) > 0 && r.rest[0] < 0x80 {
		v := r.rest[0]
		r.rest = r.rest[1:]
		return uint64(v)
	}
	v, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *reader) varint() int64 { return unzigzag(r.uvarint()) }

// take cuts n bytes off.
func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.bad = true
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

// sized gives a slice of n elements, whose content does not matter, in the memory of s if that is
// enough.
func sized[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, max(n, 256))
	}
	return s[:n]
}

// trailingBytes and significantBytes return which bytes of x are to be stored.
func trailingBytes(x uint64) int {
	if x == 0 {
		return 0
	}
	return bits.TrailingZeros64(x) / 8
}

func significantBytes(x uint64) int { return (bits.Len64(x) + 7) / 8 }
