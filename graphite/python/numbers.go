package python

import (
	"bytes"
	"math"
	"math/big"
	"strconv"
	"strings"

	"github.com/tsdbridge/tsdbridge/internal/decimal"
)

// Python's ways with numbers show in names and tags, and its round in values.

// Text is str(value).
func Text(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return FloatText(v)
	case string:
		return v
	}
	return "[]"
}

// FloatText is repr(float).
func FloatText(v float64) string { return string(AppendFloat(nil, v)) }

// AppendFloat appends repr(float) of Python: the shortest digits, an exponent below 1e-4 and from
// 1e16 on.
func AppendFloat(dst []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "nan"...)
	case math.IsInf(v, 1):
		return append(dst, "inf"...)
	case math.IsInf(v, -1):
		return append(dst, "-inf"...)
	}
	begin := len(dst)
	if a := math.Abs(v); a >= 1e-4 || a == 0 {
		if short, ok := decimal.Append(dst, v); ok {
			return appendPoint(short, begin)
		}
	}
	if a := math.Abs(v); a != 0 && (a < 1e-4 || a >= 1e16) {
		return strconv.AppendFloat(dst, v, 'e', -1, 64)
	}
	return appendPoint(strconv.AppendFloat(dst, v, 'f', -1, 64), begin)
}

// appendPoint makes the number that begins somewhere a float.
func appendPoint(dst []byte, begin int) []byte {
	if bytes.IndexByte(dst[begin:], '.') < 0 {
		dst = append(dst, ".0"...)
	}
	return dst
}

// General is "%g": six significant digits.
func General(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return FloatText(v)
	}
	return strconv.FormatFloat(v, 'g', 6, 64)
}

// DecimalText is "%d" of a number, which is cut to an integer.
func DecimalText(v float64) (string, error) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "", Crash("cannot convert %s to an integer", FloatText(v))
	}
	if v = math.Trunc(v); v == 0 {
		return "0", nil
	}
	return strconv.FormatFloat(v, 'f', 0, 64), nil
}

// Round is round(v, digits): the decimal value nearest to v, ties to even.
func Round(v float64, digits int) float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) || digits > 323 {
		return v
	}
	if digits == 6 {
		// What perSecond needs for each point: exact unless v is close to a tie.
		scaled := float64(v * 1e6)
		if part := math.Abs(scaled - math.Floor(scaled) - 0.5); math.Abs(scaled) < 1e12 && part > 1e-3 {
			return math.Round(scaled) / 1e6
		}
	}
	if digits >= 0 {
		r, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', digits, 64), 64)
		return r
	}
	return roundToPower(v, -digits)
}

// roundToPower rounds to a multiple of 10^power, ties to even, in whole numbers.
func roundToPower(v float64, power int) float64 {
	if power > 310 {
		return math.Copysign(0, v)
	}
	exact, _ := new(big.Rat).SetString(strconv.FormatFloat(math.Abs(v), 'f', -1, 64))
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(power)), nil)
	quotient := new(big.Rat).Quo(exact, new(big.Rat).SetInt(unit))
	whole := new(big.Int).Quo(quotient.Num(), quotient.Denom())
	rest := new(big.Rat).Sub(quotient, new(big.Rat).SetInt(whole))
	if c := rest.Cmp(big.NewRat(1, 2)); c > 0 || c == 0 && whole.Bit(0) == 1 {
		whole.Add(whole, big.NewInt(1))
	}
	f, _ := new(big.Float).SetInt(whole.Mul(whole, unit)).Float64()
	return math.Copysign(f, v)
}

// ParseFloat is float(text): blanks around, underscores between digits, inf and nan.
func ParseFloat(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if s == "" || strings.ContainsAny(s, "xXpP") || strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return 0, false
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
	return f, err == nil || math.IsInf(f, 0)
}

// ParseInt is int(text).
func ParseInt(s string) (int64, bool) {
	s = strings.TrimSpace(s)
	if strings.HasPrefix(s, "_") || strings.HasSuffix(s, "_") || strings.Contains(s, "__") {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	return n, err == nil
}

// Bounds returns the ends of a slice [from:to] of n items, as Python takes them: negative ones
// count from the end, and none is out of range.
func Bounds(from, to int64, n int) (int, int) {
	clip := func(i int64) int {
		if i < 0 {
			i += int64(n)
		}
		return int(min(max(i, 0), int64(n)))
	}
	low, high := clip(from), clip(to)
	return low, max(low, high)
}

// Item returns list[i] with Python's negative indexes.
func Item[T any](list []T, i int64) (T, bool) {
	if i < 0 {
		i += int64(len(list))
	}
	if i < 0 || i >= int64(len(list)) {
		var zero T
		return zero, false
	}
	return list[i], true
}

// ValueText is str of a series' value.
func ValueText(v float64, ints bool) string {
	if IsNone(v) {
		return "None"
	}
	if ints && v == math.Trunc(v) && math.Abs(v) < 1<<62 {
		return strconv.FormatInt(int64(v), 10)
	}
	return FloatText(v)
}

// None returns the value of a slot without a point, made by math.NaN(). Sums of infinities give
// other NaNs, which graphite-web counts as points; IsNone tells them apart. Both are null in JSON.
func None() float64 { return math.NaN() }

// IsNone reports whether a slot has no point.
func IsNone(v float64) bool { return math.Float64bits(v) == math.Float64bits(math.NaN()) }
