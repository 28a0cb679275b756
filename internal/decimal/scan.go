package decimal

// A Number is a decimal number in the form that nearly all text protocols use: digits with an
// optional point and an optional exponent.
type Number struct {
	Mantissa uint64 // the digits, at most 18
	Exponent int    // of ten
	Negative bool   // zero may be
	Whole    bool   // written without a point and an exponent
}

// maxDigits is how many digits of a Number any uint64, and any int64, holds.
const maxDigits = 18

// Scan reads the number at the beginning of b: an optional sign, digits with at most one point
// before, among or after them, and optionally e or E with an exponent. n is its length; 0 when
// there is no number, or one of more than 18 digits, leading zeros counted.
func Scan(b []byte) (d Number, n int) {
	i := 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		d.Negative = b[0] == '-'
		i = 1
	}
	mantissa, start := uint64(0), i
	for i < len(b) && b[i]-'0' <= 9 {
		mantissa = mantissa*10 + uint64(b[i]-'0')
		i++
	}
	digits := i - start
	d.Whole = true
	if i < len(b) && b[i] == '.' {
		i++
		start = i
		for i < len(b) && b[i]-'0' <= 9 {
			mantissa = mantissa*10 + uint64(b[i]-'0')
			i++
		}
		digits += i - start
		d.Exponent, d.Whole = start-i, false
	}
	if digits == 0 || digits > maxDigits {
		return Number{}, 0
	}
	d.Mantissa = mantissa
	if i < len(b) && b[i]|0x20 == 'e' {
		exponent, length := scanExponent(b[i+1:])
		if length == 0 {
			return Number{}, 0
		}
		i += 1 + length
		d.Exponent += exponent
		d.Whole = false
	}
	return d, i
}

// maxExponentDigits keeps exponents small enough to be added up.
const maxExponentDigits = 4

func scanExponent(b []byte) (exponent, n int) {
	i := 0
	if len(b) > 0 && (b[0] == '-' || b[0] == '+') {
		i = 1
	}
	start := i
	for i < len(b) && b[i]-'0' <= 9 {
		if i-start >= maxExponentDigits {
			return 0, 0
		}
		exponent = exponent*10 + int(b[i]-'0')
		i++
	}
	if i == start {
		return 0, 0
	}
	if b[0] == '-' {
		exponent = -exponent
	}
	return exponent, i
}

// powersOfTen are the powers of ten that a float64 represents exactly.
var powersOfTen = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// Float64 returns the float64 nearest to the number; false when one operation on float64s cannot
// determine it. A whole number is rounded once, when it becomes a float64. Any other is the product
// or the quotient of two exact float64s, which is also rounded once.
func (d Number) Float64() (v float64, ok bool) {
	v = float64(d.Mantissa)
	switch {
	case d.Exponent == 0:
	case d.Mantissa > 1<<53:
		return 0, false
	case d.Exponent < 0 && d.Exponent > -len(powersOfTen):
		v /= powersOfTen[-d.Exponent]
	case d.Exponent > 0 && d.Exponent < len(powersOfTen):
		v *= powersOfTen[d.Exponent]
	default:
		return 0, false
	}
	if d.Negative {
		v = -v
	}
	return v, true
}

// Int64 returns a number that is Whole. Zero has no sign.
func (d Number) Int64() int64 {
	if d.Negative {
		return -int64(d.Mantissa)
	}
	return int64(d.Mantissa)
}

// ScanDigits reads the digits at the beginning of b. n is their number; if it exceeds 18, the value
// is not valid.
func ScanDigits(b []byte) (v int64, n int) {
	for n < len(b) && b[n]-'0' <= 9 {
		v = v*10 + int64(b[n]-'0')
		n++
	}
	return v, n
}
