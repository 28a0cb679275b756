package jexl

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"strconv"

	"github.com/tsdbridge/tsdbridge/opentsdb/java"
)

// A Kind is the type of a value, by the names of Java's classes.
type Kind byte

// The kinds. Float has the precision of 32 bits.
const (
	Null Kind = iota
	Bool
	Int  // of 32 bits
	Long // of 64 bits
	Big  // of any size
	Float
	Double
)

// String returns the name of Java's class.
func (k Kind) String() string {
	return [...]string{"null", "java.lang.Boolean", "java.lang.Integer", "java.lang.Long", "java.math.BigInteger", "java.lang.Float", "java.lang.Double"}[k]
}

// A Value is what an expression computes.
type Value struct {
	kind Kind
	f    float64 // of a Float or a Double
	i    int64   // of a Bool (1 or 0), an Int or a Long; of a Float its whole part
	big  *big.Int
}

// Kind returns the value's type.
func (v Value) Kind() Kind { return v.kind }

// Number returns the number that a TSD answers for a value: a Double or a Bool. Other types have none.
func (v Value) Number() (n float64, ok bool) {
	switch v.kind {
	case Double:
		return v.f, true
	case Bool:
		return float64(v.i), true
	}
	return 0, false
}

func double(f float64) Value { return Value{kind: Double, f: f} }

func boolean(b bool) Value {
	if b {
		return Value{kind: Bool, i: 1}
	}
	return Value{kind: Bool}
}

// single returns a Float. It is the float64 that its text means, since JEXL converts it by way of its
// text.
func single(f float64) Value { return Value{kind: Float, f: textOf(f), i: java.ToLong(f)} }

// textOf returns what the text means that Java 17 prints of a float of 32 bits: the shortest one that
// tells it from its neighbours, but of whole numbers below 2^63 all digits.
func textOf(f float64) float64 {
	whole := math.Abs(f)
	if whole == math.Trunc(whole) && whole < 1<<63 {
		return math.Copysign(wholeTextOf(uint64(whole)), f)
	}
	v, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', -1, 32), 64)
	if err != nil { // it is infinite
		return f
	}
	return v
}

// wholeTextOf rounds to the digits that Java takes for significant.
func wholeTextOf(n uint64) float64 {
	const precision = 24 // bits
	over := bits.Len64(n) - 1 - precision - 1
	if over <= 1 {
		return float64(n)
	}
	power := uint64(1)
	for range (over*301 + 0) / 1000 {
		power *= 10
	}
	rounded := n / power
	if n%power >= power/2 && power > 1 {
		rounded++
	}
	return float64(rounded * power)
}

// narrowed returns a whole number in the smallest type that holds it, but not in a smaller one than least.
func narrowed(n *big.Int, least Kind) Value {
	switch {
	case least == Big || !n.IsInt64():
		return Value{kind: Big, big: n}
	case least == Long || n.Int64() != int64(int32(n.Int64())):
		return Value{kind: Long, i: n.Int64()}
	}
	return Value{kind: Int, i: n.Int64()}
}

// isReal reports whether the value makes an operation one of floats.
func (v Value) isReal() bool { return v.kind == Float || v.kind == Double }

func (v Value) double() float64 {
	switch v.kind {
	case Null:
		return 0
	case Float, Double:
		return v.f
	case Big:
		f, _ := new(big.Float).SetInt(v.big).Float64()
		return f
	default:
		return float64(v.i)
	}
}

// truth is what a condition makes of a value: what is neither 0 nor NaN is true.
func (v Value) truth() bool {
	f := v.double()
	return f == f && f != 0
}

// bits returns the operand of an operation on bits. Of a Double it is 0, as with JEXL.
func (v Value) bits() int64 {
	switch v.kind {
	case Null, Double:
		return 0
	case Big:
		return int64(new(big.Int).And(v.big, new(big.Int).SetUint64(math.MaxUint64)).Uint64())
	default:
		return v.i
	}
}

// whole returns the operand of an operation on whole numbers.
func (v Value) whole() (*big.Int, error) {
	switch v.kind {
	case Null:
		return new(big.Int), nil
	case Int, Long:
		return big.NewInt(v.i), nil
	case Big:
		return v.big, nil
	case Double:
		if v.f != v.f {
			return new(big.Int), nil
		}
	}
	return nil, fmt.Errorf("BigInteger coercion: %s:(%s)", v.kind, v)
}

// String returns the value as Java prints it, but for the exponents of floats.
func (v Value) String() string {
	switch v.kind {
	case Null:
		return "null"
	case Bool:
		return strconv.FormatBool(v.i == 1)
	case Big:
		return v.big.String()
	case Float, Double:
		return strconv.FormatFloat(v.f, 'g', -1, 64)
	default:
		return strconv.FormatInt(v.i, 10)
	}
}

// negated returns the value with the other sign; of a Bool the other one.
func (v Value) negated() (Value, error) {
	switch v.kind {
	case Null:
		return v, errors.New("arithmetic error: Object negation:(null)")
	case Bool:
		v.i = 1 - v.i
	case Int:
		v.i = int64(-int32(v.i))
	case Long:
		v.i = -v.i
	case Big:
		v.big = new(big.Int).Neg(v.big)
	case Float, Double:
		v.f, v.i = -v.f, -v.i
	}
	return v, nil
}
