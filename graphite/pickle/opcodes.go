package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// The opcodes of Python's pickletools that build data.
const (
	opMark    = '('
	opStop    = '.'
	opPop     = '0'
	opPopMark = '1'
	opDup     = '2'

	opNone      = 'N'
	opTrue      = 0x88
	opFalse     = 0x89
	opIntLine   = 'I'
	opLongLine  = 'L'
	opInt4      = 'J'
	opInt1      = 'K'
	opInt2      = 'M'
	opLong1     = 0x8a
	opLong4     = 0x8b
	opFloatLine = 'F'
	opFloat     = 'G'

	opStringLine  = 'S'
	opString4     = 'T'
	opString1     = 'U'
	opUnicodeLine = 'V'
	opUnicode4    = 'X'
	opUnicode1    = 0x8c
	opUnicode8    = 0x8d
	opBytes4      = 'B'
	opBytes1      = 'C'
	opBytes8      = 0x8e
	opByteArray8  = 0x96

	opEmptyTuple = ')'
	opTuple      = 't'
	opTuple1     = 0x85
	opTuple2     = 0x86
	opTuple3     = 0x87
	opEmptyList  = ']'
	opList       = 'l'
	opAppend     = 'a'
	opAppends    = 'e'
	opEmptyDict  = '}'
	opDict       = 'd'
	opSetItem    = 's'
	opSetItems   = 'u'

	opPutLine = 'p'
	opPut1    = 'q'
	opPut4    = 'r'
	opMemoize = 0x94
	opGetLine = 'g'
	opGet1    = 'h'
	opGet4    = 'j'

	opProtocol = 0x80
	opFrame    = 0x95
)

// highest is the highest protocol of Python.
const highest = 5

// unsafe are the opcodes that refer to code or to objects outside, by their names.
const unsafe = "cRbioPQ\x81\x82\x83\x84\x92\x93\x97\x98"

// step carries out one opcode.
func (d *Decoder) step(op byte) error {
	switch op {
	case opMark:
		d.marks = append(d.marks, len(d.values))
	case opPop:
		return d.drop()
	case opPopMark:
		_, err := d.marked()
		return err
	case opDup:
		v, err := d.top()
		if err == nil {
			d.push(v)
		}
		return err
	case opProtocol:
		return d.protocol()
	case opFrame:
		n, err := d.length(8)
		if err == nil && n > uint64(len(d.pickle)-d.i) {
			err = errShort
		}
		return err
	case opNone:
		d.push(Value{})
	case opTrue:
		d.push(numberOf(Bool, 1))
	case opFalse:
		d.push(Value{kind: Bool})
	case opInt1, opInt2, opInt4, opLong1, opLong4, opFloat, opIntLine, opLongLine, opFloatLine:
		return d.number(op)
	case opUnicode1, opUnicode4, opUnicode8, opString1, opString4, opBytes1, opBytes4, opBytes8, opByteArray8, opStringLine, opUnicodeLine:
		return d.anyText(op)
	case opPut1, opPut4, opPutLine, opMemoize, opGet1, opGet4, opGetLine:
		return d.remember(op)
	default:
		return d.collect(op)
	}
	return nil
}

// number pushes a number.
func (d *Decoder) number(op byte) error {
	switch op {
	case opInt1:
		return d.small(1)
	case opInt2:
		return d.small(2)
	case opInt4:
		b, err := d.take(4)
		if err == nil {
			d.push(numberOf(Int, float64(int32(binary.LittleEndian.Uint32(b)))))
		}
		return err
	case opFloat:
		b, err := d.take(8)
		if err == nil {
			d.push(numberOf(Float, math.Float64frombits(binary.BigEndian.Uint64(b))))
		}
		return err
	case opLong1, opLong4:
		return d.long(op)
	default:
		return d.numberLine(op)
	}
}

// small pushes an integer of so many bytes without a sign.
func (d *Decoder) small(size uint64) error {
	n, err := d.length(size)
	if err == nil {
		d.push(numberOf(Int, float64(n)))
	}
	return err
}

// anyText pushes a text or bytes.
func (d *Decoder) anyText(op byte) error {
	kind, size := Text, uint64(4)
	switch op {
	case opStringLine:
		return d.stringLine()
	case opUnicodeLine:
		return d.unicodeLine()
	case opUnicode1, opString1:
		size = 1
	case opUnicode8:
		size = 8
	case opBytes1:
		kind, size = Bytes, 1
	case opBytes4:
		kind = Bytes
	case opBytes8, opByteArray8:
		kind, size = Bytes, 8
	}
	n, err := d.length(size)
	if err != nil {
		return err
	}
	return d.pushText(kind, n)
}

// remember stores the last value, or pushes a stored one.
func (d *Decoder) remember(op byte) error {
	var index uint64
	var err error
	switch op {
	case opMemoize:
		return d.store(uint64(len(d.memo)))
	case opPut1, opGet1:
		index, err = d.length(1)
	case opPut4, opGet4:
		index, err = d.length(4)
	default:
		index, err = d.indexLine()
	}
	if err != nil {
		return err
	}
	if op == opGet1 || op == opGet4 || op == opGetLine {
		return d.fetch(index)
	}
	return d.store(index)
}

// collect pushes a tuple, a list or a dictionary, or adds to one.
func (d *Decoder) collect(op byte) error {
	switch op {
	case opEmptyTuple:
		d.pushTupleOf(nil)
	case opTuple1, opTuple2, opTuple3:
		return d.pushTuple(int(op-opTuple1) + 1)
	case opEmptyList:
		d.pushList(List, nil)
	case opAppend:
		v, err := d.pop()
		if err != nil {
			return err
		}
		return d.appendTo(List, []Value{v})
	case opEmptyDict:
		d.pushList(Dict, nil)
	case opSetItem:
		return d.setItem()
	case opTuple, opList, opAppends, opDict, opSetItems:
		items, err := d.marked()
		if err != nil {
			return err
		}
		return d.collectMarked(op, items)
	default:
		for i := range len(unsafe) {
			if unsafe[i] == op {
				return ErrUnsafe
			}
		}
		return fmt.Errorf("opcode %#02x is not read", op)
	}
	return nil
}

func (d *Decoder) collectMarked(op byte, items []Value) error {
	switch op {
	case opTuple:
		d.pushTupleOf(items)
	case opList:
		d.pushList(List, items)
	case opAppends:
		return d.appendTo(List, items)
	case opDict, opSetItems:
		if len(items)%2 > 0 {
			return errPairs
		}
		if op == opSetItems {
			return d.appendTo(Dict, items)
		}
		d.pushList(Dict, items)
	}
	return nil
}

var errPairs = errors.New("a dictionary has a key without a value")

// setItem adds a key and a value to a dictionary.
func (d *Decoder) setItem() error {
	value, err := d.pop()
	if err != nil {
		return err
	}
	key, err := d.pop()
	if err != nil {
		return err
	}
	return d.appendTo(Dict, []Value{key, value})
}
