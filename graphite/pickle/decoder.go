// Package pickle reads what Python's pickle writes, of the protocols 0 to 5, as far as it is made of
// None, booleans, numbers, texts, bytes, tuples, lists and dictionaries. It calls nothing and builds no
// objects: every opcode that could is an error. The work and the memory are bounded by the length of the
// pickle, and so is the number of values. The package knows nothing of metrics or connections.
package pickle

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// ErrUnsafe means that a pickle refers to code, or to what is not in it. Carbon refuses it, too.
var ErrUnsafe = errors.New("the pickle refers to classes, functions or objects")

var (
	errShort = errors.New("the pickle ends too early")
	errStack = errors.New("the pickle takes what is not on its stack")
	errList  = errors.New("the pickle appends to what is no list, or no dictionary")
	errMemo  = errors.New("the pickle takes what it did not store")
	errUTF8  = errors.New("a text is not UTF-8")
	errMany  = errors.New("the pickle has too many values for its length")
)

// A Decoder reads one pickle after the other in the same memory. The zero value is ready.
type Decoder struct {
	input
	stack

	memo   []Value
	tuples []Value
	lists  [][]Value
	listed int    // items of lists and dictionaries
	text   []byte // of texts that are escaped in the pickle
}

// Size returns how many bytes of memory the decoder keeps, about.
func (d *Decoder) Size() int {
	const value, list = 16, 24
	n := value*(cap(d.values)+cap(d.memo)+cap(d.tuples)) + list*cap(d.lists) + 8*cap(d.marks) + cap(d.text)
	for _, l := range d.lists[:cap(d.lists)] {
		n += value * cap(l)
	}
	return n
}

// Decode reads a pickle. What follows its end is ignored, as Python does. The pickle must not change
// while the value is in use.
func (d *Decoder) Decode(pickle []byte) (Value, error) {
	if len(pickle) > math.MaxInt32 {
		return Value{}, errors.New("the pickle has more than 2 GB")
	}
	d.pickle, d.i, d.listed = pickle, 0, 0
	d.values, d.marks, d.memo, d.tuples, d.lists, d.text = d.values[:0], d.marks[:0], d.memo[:0], d.tuples[:0], d.lists[:0], d.text[:0]
	for {
		op, err := d.byte()
		if err != nil {
			return Value{}, err
		}
		if op == opStop {
			return d.pop()
		}
		err = d.step(op)
		if err == nil && d.many() {
			err = errMany
		}
		if err != nil {
			return Value{}, fmt.Errorf("byte %d: %w", d.i, err)
		}
	}
}

// freeValues is how many values a pickle of any length may have.
const freeValues = 1024

// many reports whether there are more values than a pickle of this length needs. The shortest item of a list that
// has a text and two numbers in it takes eight bytes, and such items are what pickles are read for.
func (d *Decoder) many() bool {
	n := len(d.pickle)
	return len(d.values) > n/8+freeValues || len(d.tuples) > n/2+freeValues || len(d.memo) > n/3+freeValues ||
		len(d.lists) > n/6+freeValues || d.listed > n/3+freeValues || len(d.marks) > freeValues
}

// pushTuple takes the last n values and pushes a tuple of them.
func (d *Decoder) pushTuple(n int) error {
	if len(d.values)-d.floor() < n {
		return errStack
	}
	items := d.values[len(d.values)-n:]
	d.values = d.values[:len(d.values)-n]
	d.pushTupleOf(items)
	return nil
}

func (d *Decoder) pushTupleOf(items []Value) {
	at := len(d.tuples)
	d.tuples = append(d.tuples, items...)
	d.push(spanOf(Tuple, at, len(items)))
}

// pushList pushes a List or a Dict.
func (d *Decoder) pushList(kind Kind, items []Value) {
	at := len(d.lists)
	d.listed += len(items)
	if at < cap(d.lists) { // memory of an earlier pickle
		d.lists = d.lists[:at+1]
		d.lists[at] = append(d.lists[at][:0], items...)
	} else {
		d.lists = append(d.lists, append([]Value(nil), items...))
	}
	d.push(spanOf(kind, at, 0))
}

// appendTo appends items to the List or the Dict on the stack.
func (d *Decoder) appendTo(kind Kind, items []Value) error {
	list, err := d.top()
	if err != nil {
		return err
	}
	if list.kind != kind {
		return errList
	}
	d.listed += len(items)
	d.lists[list.at()] = append(d.lists[list.at()], items...)
	return nil
}

// store keeps the last value under an index.
func (d *Decoder) store(index uint64) error {
	v, err := d.top()
	if err != nil {
		return err
	}
	if index > uint64(len(d.pickle)/3+freeValues) { // more than many allows
		return fmt.Errorf("%w: index %d", errMemo, index)
	}
	if index == uint64(len(d.memo)) {
		d.memo = append(d.memo, v)
		return nil
	}
	for uint64(len(d.memo)) <= index {
		d.memo = append(d.memo, Value{kind: mark})
	}
	d.memo[index] = v
	return nil
}

// fetch pushes the value that is stored under an index.
func (d *Decoder) fetch(index uint64) error {
	if index >= uint64(len(d.memo)) || d.memo[index].kind == mark {
		return fmt.Errorf("%w: index %d", errMemo, index)
	}
	d.push(d.memo[index])
	return nil
}

// pushText pushes the next n bytes. Those of a text must be UTF-8.
func (d *Decoder) pushText(kind Kind, n uint64) error {
	at := d.i
	b, err := d.take(n)
	if err != nil {
		return err
	}
	if kind == Text && !utf8.Valid(b) {
		return errUTF8
	}
	d.push(spanOf(kind, at, len(b)))
	return nil
}
