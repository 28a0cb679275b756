package python

import "math"

// Equal is Python's ==, in which 1, 1.0 and True are one.
func Equal(a, b any) bool {
	x, xok := Number(a)
	y, yok := Number(b)
	if xok || yok {
		return xok && yok && x == y
	}
	s, sok := a.(string)
	t, tok := b.(string)
	return sok && tok && s == t || a == nil && b == nil
}

// Number returns the value of an int, a float or a bool.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	case bool:
		return OfBool(v), true
	}
	return 0, false
}

// OfBool returns True and False as numbers.
func OfBool(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// Inf returns the default of limits.
func Inf() float64 { return math.Inf(1) }
