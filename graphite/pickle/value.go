package pickle

import "math"

// A Kind is what a Value is.
type Kind uint8

// The kinds.
const (
	None   Kind = iota
	Bool        // its number is 0 or 1
	Int         // its number is exact up to 2^53
	BigInt      // an integer that no float holds: beyond the largest one
	Float
	Text  // of Unicode, or a string of Python 2
	Bytes // of Python 3
	Tuple
	List
	Dict

	mark // begins items on the stack
)

// A Value is one of Python's. It belongs to a Decoder, and is valid until the Decoder's next Decode.
type Value struct {
	kind Kind
	own  bool   // the text is in the decoder's memory, not in the pickle
	bits uint64 // of a number, or where the bytes of a text or the items are, and how many
}

func numberOf(kind Kind, v float64) Value { return Value{kind: kind, bits: math.Float64bits(v)} }

// spanOf returns a value of n bytes or items. All indices are below 2^31.
func spanOf(kind Kind, at, n int) Value {
	return Value{kind: kind, bits: uint64(at)<<32 | uint64(n)} //nolint:gosec // they are not negative
}

func (v Value) at() int { return int(v.bits >> 32) } //nolint:gosec // below 2^31

func (v Value) n() int { return int(uint32(v.bits)) } //nolint:gosec // the low half

// Kind returns what the value is.
func (v Value) Kind() Kind { return v.kind }

// Number returns the value of a Bool, an Int or a Float.
func (v Value) Number() float64 {
	switch v.kind {
	case Bool, Int, Float:
		return math.Float64frombits(v.bits)
	default:
		return 0
	}
}

// Text returns the bytes of a Text or of Bytes. They are a part of the pickle, or of memory that TakeText
// returns.
func (d *Decoder) Text(v Value) []byte {
	if v.own {
		return d.text[v.at() : v.at()+v.n() : v.at()+v.n()]
	}
	return d.pickle[v.at() : v.at()+v.n() : v.at()+v.n()]
}

// TakeText gives the caller the memory of the texts that are no part of the pickle, so that they stay as they
// are. The decoder goes on with other memory; the values of the pickle must not be used any more.
func (d *Decoder) TakeText(other []byte) (text []byte) {
	text, d.text = d.text, other[:0]
	return text
}

// Items returns what a Tuple or a List has in it, and of a Dict the keys, each before its value, as they
// came; nil for other values.
func (d *Decoder) Items(v Value) []Value {
	switch v.kind {
	case Tuple:
		return d.tuples[v.at() : v.at()+v.n()]
	case List, Dict:
		return d.lists[v.at()]
	default:
		return nil
	}
}
