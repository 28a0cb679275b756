package head

import "math"

// The stream of a row is a string of operations, most of them one point. It extrapolates: a point
// is expected one step after the one before it, and a value is a decimal number, an integer scaled
// by a power of ten, whose change is stored. What is not such a number is stored as the bits that
// changed. Every stream begins as if a point 0 at offset 0 with step 0 stood before it.
//
//	0nnnllll + n bytes          the next step; the value changes by z, zigzag: llll are its low bits, the bytes the rest
//	10cccccc                    c+1 points, each like the one before: the same step and the same change (or the same bits)
//	110zzzzz                    the step changes by z, zigzag; the point follows
//	11100nnn, 11101000 + n      the next step; the bits of the float are those of the point before, xor the n (0 to 8) bytes
//	11101nnn (1..5) + n         as above, the bytes shifted by 24: floats that were once 4 bytes long
//	11101110 + 2, 11101111 + 4  the step changes by a signed number; the point follows
//	1111nnnn (0..8) + 1 + n     the next step; the scale becomes the first byte and the scaled value the bytes, zigzag
//	11111001 + 8                the next step; an integer that a float does not hold
//	11111010                    no point: the floats from here on are of schema.FormDouble, or no longer
//
// Numbers are little-endian. Nothing outside this process ever sees them.
const (
	opDelta      = 0x00
	opRepeat     = 0x80
	opStep       = 0xC0
	opXor        = 0xE0
	opXorHigh    = 0xE8
	opStep2      = 0xEE
	opStep4      = 0xEF
	opScale      = 0xF0
	opBigInteger = 0xF9
	opTurn       = 0xFA

	maxRepeat = 0x40
	highShift = 24
)

const (
	// maxScale is the greatest power of ten that is tried: what has more decimals is a computed
	// number, not a written one.
	maxScale = 9
	// integerScale is the scale of what a client sent as an integer by a protocol that
	// distinguishes them from floats.
	integerScale = maxScale + 1
	// maxScaled is the greatest magnitude up to which floats hold every integer.
	maxScaled = 1 << 53
	// maxSearches bounds the searches for a scale in a row: each costs some 50 ns and a row of
	// computed numbers finds none.
	maxSearches = 32
)

// powers are the divisors of the scales. All are exact, and division is rounded correctly: a
// decimal number of up to 15 digits that was parsed to the nearest float comes back as that float.
// What does not come back bit for bit is stored otherwise.
var powers = [integerScale + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1}

// masks keep the first n bytes of a little-endian number.
var masks = [9]uint64{0, 1<<8 - 1, 1<<16 - 1, 1<<24 - 1, 1<<32 - 1, 1<<40 - 1, 1<<48 - 1, 1<<56 - 1, math.MaxUint64}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// scaled returns the integer that a float is at a scale, if the float comes back from it bit for
// bit.
func scaled(v float64, scale uint8) (int64, bool) {
	if scale == 0 {
		return whole(v)
	}
	p := powers[scale]
	x := v * p
	// Adding a half and cutting off rounds; where that is wrong by one, the float does not come
	// back.
	m := int64(x + math.Float64frombits(math.Float64bits(x)&(1<<63)|math.Float64bits(0.5)))
	return m, uint64(m+maxScaled) <= 2*maxScaled && math.Float64bits(float64(m)/p) == math.Float64bits(v)
}

// whole returns the integer that a float is.
func whole(v float64) (int64, bool) {
	m := int64(v)
	return m, uint64(m+maxScaled) <= 2*maxScaled && math.Float64bits(float64(m)) == math.Float64bits(v)
}
