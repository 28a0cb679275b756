package vmnative

import (
	"math"
	"strconv"

	"github.com/prometheus/prometheus/model/value"
)

// lowestScale is the lowest power of ten that readers can divide by: 1e309 is no float.
const lowestScale = -308

// largest bounds the integers of ordinary values: larger ones are infinities and stale markers, or would overflow.
const largest = 1<<63 - 1024

// special returns the integers that need no power of ten: of no numbers, and 0.
func special(v float64) (m int64, ok bool) {
	switch {
	case v == 0:
		return 0, true
	case math.IsInf(v, 1):
		return plusInf, true
	case math.IsInf(v, -1):
		return minusInf, true
	case math.Float64bits(v) == value.StaleNaN:
		return stale, true
	}
	return 0, false
}

// isSpecial reports whether an integer is the same with any power of ten.
func isSpecial(m int64) bool { return m == 0 || m >= stale || m == minusInf }

// scaled returns the integer nearest to a value divided by a power of ten, as a float.
func scaled(v float64, scale int) float64 {
	power := math.Pow10(max(scale, -scale))
	if scale < 0 {
		return math.RoundToEven(v * power)
	}
	return math.RoundToEven(v / power)
}

// fit returns the integer that readers make a value of with a power of ten; false: there is none near it.
func fit(v float64, scale int) (int64, bool) {
	power := math.Pow10(max(scale, -scale))
	middle := scaled(v, scale)
	for _, near := range [3]float64{middle, neighbour(middle, -1), neighbour(middle, 1)} {
		if math.Abs(near) < largest && float(int64(near), scale, power) == v {
			return int64(near), true
		}
	}
	return 0, false
}

// neighbour returns the next integer that is a float.
func neighbour(v, direction float64) float64 {
	if math.Abs(v) < 1<<53 {
		return v + direction
	}
	return math.Nextafter(v, direction*math.Inf(1))
}

// moreDigits is how many digits beyond its shortest text are tried for a value: readers round twice, and not all texts
// of a value end as the value.
const moreDigits = 3

// decimalOf returns an integer and a power of ten of which readers make a value; exact is false if they make another
// one of it, which is near.
func decimalOf(v float64) (m int64, scale int, exact bool) {
	if m, ok := special(v); ok {
		return m, 0, true
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		return int64(v), 0, true
	}
	shortest := max(shortestScale(v), lowestScale)
	for scale = shortest; scale >= max(shortest-moreDigits, lowestScale); scale-- {
		if m, ok := fit(v, scale); ok {
			return m, scale, true
		}
	}
	return int64(scaled(v, shortest)), shortest, false
}

// shortestScale returns the power of ten of the last digit of a value's shortest text.
func shortestScale(v float64) int {
	var room [32]byte
	text := strconv.AppendFloat(room[:0], math.Abs(v), 'e', -1, 64)
	digits := 0
	for text[digits] != 'e' {
		digits++
	}
	exponent, _ := strconv.Atoi(string(text[digits+1:])) // of the text of a float
	if digits > 1 {
		digits-- // the point
	}
	return exponent - (digits - 1)
}
