package jexl

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
)

// An op is an operator between two operands.
type op byte

const (
	opAdd op = iota
	opSubtract
	opMultiply
	opDivide
	opModulo
	opOr
	opXor
	opAnd
	opEqual
	opUnequal
	opLess
	opLessOrEqual
	opGreater
	opGreaterOrEqual
	opEither
	opBoth
)

func operatorOf(sign string) op {
	return map[string]op{
		"+": opAdd, "-": opSubtract, "*": opMultiply, "/": opDivide, "%": opModulo, "|": opOr, "^": opXor, "&": opAnd,
		"==": opEqual, "!=": opUnequal, "<": opLess, "<=": opLessOrEqual, ">": opGreater, ">=": opGreaterOrEqual,
		"||": opEither, "&&": opBoth,
	}[sign]
}

// operate computes one operation.
func operate(o op, l, r Value) (Value, error) {
	if o <= opModulo {
		if l.isReal() || r.isReal() {
			return double(reals(o, l.double(), r.double())), nil
		}
		return integers(o, l, r)
	}
	switch o {
	case opOr:
		return Value{kind: Long, i: l.bits() | r.bits()}, nil
	case opXor:
		return Value{kind: Long, i: l.bits() ^ r.bits()}, nil
	case opAnd:
		return Value{kind: Long, i: l.bits() & r.bits()}, nil
	case opEqual, opUnequal:
		same, err := equal(l, r)
		return boolean(same == (o == opEqual)), err
	}
	return ordered(o, l, r)
}

// reals computes with floats. What is divided by 0 is 0.
func reals(o op, l, r float64) float64 {
	switch o {
	case opAdd:
		return l + r
	case opSubtract:
		return l - r
	case opMultiply:
		return l * r
	}
	switch {
	case r == 0:
		return 0
	case o == opDivide:
		return l / r
	}
	return math.Mod(l, r)
}

// integers computes with whole numbers, which never overflow. What cannot be divided is the float 0.
func integers(o op, l, r Value) (Value, error) {
	if l.kind == Null && r.kind == Null {
		return Value{kind: Int}, nil
	}
	a, err := l.whole()
	b, errB := r.whole()
	if err == nil {
		err = errB
	}
	if err != nil {
		if o >= opDivide {
			return double(0), nil
		}
		sign := "+/-"
		if o == opMultiply {
			sign = "*"
		}
		return Value{}, fmt.Errorf("%s error: %w", sign, err)
	}
	n := new(big.Int)
	switch o {
	case opAdd:
		n.Add(a, b)
	case opSubtract:
		n.Sub(a, b)
	case opMultiply:
		n.Mul(a, b)
	case opDivide:
		if b.Sign() == 0 {
			return double(0), nil
		}
		n.Quo(a, b)
	default:
		if b.Sign() <= 0 {
			return double(0), nil
		}
		n.Mod(a, b)
	}
	return narrowed(n, max(Int, min(Big, max(l.kind, r.kind)))), nil
}

// equal reports whether two values are equal. Beside a Bool it is their truth that counts.
func equal(l, r Value) (bool, error) {
	switch {
	case l.kind == Null || r.kind == Null:
		return l.kind == r.kind, nil
	case l.kind == Bool || r.kind == Bool:
		return l.truth() == r.truth(), nil
	}
	c, err := compare(l, r)
	return c == 0, err
}

func ordered(o op, l, r Value) (Value, error) {
	if l.kind == Null || r.kind == Null {
		return boolean(l.kind == r.kind && (o == opLessOrEqual || o == opGreaterOrEqual)), nil
	}
	c, err := compare(l, r)
	switch o {
	case opLess:
		return boolean(c < 0), err
	case opLessOrEqual:
		return boolean(c <= 0), err
	case opGreater:
		return boolean(c > 0), err
	}
	return boolean(c >= 0), err
}

// compare orders two values. NaN is equal to itself and less than all others.
func compare(l, r Value) (int, error) {
	if l.kind != Big && r.kind != Big {
		if l.isReal() || r.isReal() {
			return cmp.Compare(l.double(), r.double()), nil
		}
		return cmp.Compare(l.i, r.i), nil
	}
	a, err := l.whole()
	b, errB := r.whole()
	if err == nil {
		err = errB
	}
	if err != nil {
		return 0, err
	}
	return a.Cmp(b), nil
}
