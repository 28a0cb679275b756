// Package decimal writes and reads numbers as text where that needs no general algorithm: whole
// ones and those of a few decimals, which is what most series consist of. It never gives another
// text, or another number, than the general way would.
package decimal

import (
	"math"
	"strconv"
)

// most is above all integers of 15 digits. Two decimals of at most 15 digits are never one float64,
// so one that gives the float64 back is the shortest that does.
const most = 1e15

// Append appends the fewest digits that give v back, without an exponent, if v is whole or has at
// most six decimals, and is of at most 15 digits. A whole number has no point. It is not ok for any
// other, for which strconv is to be asked; dst is then as it was.
func Append(dst []byte, v float64) (text []byte, ok bool) {
	if v == 0 && math.Signbit(v) {
		return append(dst, "-0"...), true
	}
	a := math.Abs(v)
	if !(a < most) {
		return dst, false
	}
	if whole := int64(v); float64(whole) == v {
		return strconv.AppendInt(dst, whole, 10), true
	}
	if n := math.RoundToEven(a * 1e3); n/1e3 == a && n < most {
		return appendScaled(dst, v < 0, uint64(n)/1000, uint64(n)%1000, 3), true
	}
	if n := math.RoundToEven(a * 1e6); n/1e6 == a && n < most {
		return appendScaled(dst, v < 0, uint64(n)/1_000_000, uint64(n)%1_000_000, 6), true
	}
	return dst, false
}

// appendScaled appends whole and a fraction of so many digits, which is not 0, without the zeros at
// its end.
func appendScaled(dst []byte, negative bool, whole, fraction uint64, digits int) []byte {
	if negative {
		dst = append(dst, '-')
	}
	dst = append(strconv.AppendUint(dst, whole, 10), ".000000"[:1+digits]...)
	for at := len(dst) - 1; fraction > 0; at-- {
		dst[at] = byte('0' + fraction%10)
		fraction /= 10
	}
	end := len(dst)
	for dst[end-1] == '0' {
		end--
	}
	return dst[:end]
}

// A Counter is the text of a number that grows by steps, in decimal digits.
type Counter struct {
	n    int64
	text []byte
}

// Set sets the number.
func (c *Counter) Set(n int64) { c.n, c.text = n, strconv.AppendInt(c.text[:0], n, 10) }

// Text returns the number's text, good until it changes.
func (c *Counter) Text() []byte { return c.text }

// Add adds a step. From the last digit on it is an addition by hand, which mostly ends after a few.
func (c *Counter) Add(step int64) {
	if c.n <= 0 || step < 0 {
		c.Set(c.n + step)
		return
	}
	c.n += step
	for i := len(c.text) - 1; step > 0; i-- {
		if i < 0 {
			c.Set(c.n)
			return
		}
		sum := int64(c.text[i]-'0') + step%10
		step /= 10
		if sum > 9 {
			sum -= 10
			step++
		}
		c.text[i] = byte('0' + sum)
	}
}
