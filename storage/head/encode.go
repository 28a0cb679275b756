package head

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// maxOp is the most that one point takes: a step of 5 bytes, a value of 10, and space for a word
// that is written beyond.
const maxOp = 24

// mode is what a repetition would repeat.
type mode uint8

const (
	modeDelta mode = iota // the change of the scaled value
	modeXor               // the bits
	modeNone              // nothing: the point before was a big integer
)

// encoder is the state of a stream that can still grow: 40 bytes of its row.
type encoder struct {
	value int64  // the last scaled value
	delta int64  // its last change
	bits  uint64 // of the last point as a float
	last  uint32 // offset of the last point
	step  int32  // from the one before it

	scale    uint8
	searches uint8
	repeats  uint8 // points of the repetition that ends the stream, 0 when something else does
	mode     mode
	double   bool // floats are of schema.FormDouble
}

// turn encodes that the floats from here on have the other form than those before.
func (e *encoder) turn(op *[maxOp]byte) int {
	e.double = !e.double
	e.repeats = 0 // the next repetition begins again, after this operation
	op[0] = opTurn
	return 1
}

// float encodes a float at an offset after all others into op and returns the number of bytes to
// append. None means that the last byte of the stream is to be raised by one.
func (e *encoder) float(op *[maxOp]byte, offset uint32, v float64) int {
	step := int32(offset - e.last)
	e.last = offset
	b := math.Float64bits(v)
	if step == e.step && b == e.bits && (e.mode == modeXor || e.mode == modeDelta && e.delta == 0 && e.scale != integerScale) {
		return e.repeat(op)
	}
	n := 0
	same := step == e.step
	if !same {
		n = putStep(op, step-e.step)
		e.step = step
	}
	if e.scale != integerScale {
		if m, ok := scaled(v, e.scale); ok {
			e.bits = b
			return e.change(op, n, m, same)
		}
	}
	return e.odd(op, n, v)
}

// integer encodes an integer, likewise.
func (e *encoder) integer(op *[maxOp]byte, offset uint32, v int64) int {
	step := int32(offset - e.last)
	e.last = offset
	n := 0
	same := step == e.step
	if !same {
		n = putStep(op, step-e.step)
		e.step = step
	}
	e.bits = math.Float64bits(float64(v))
	switch {
	case v > maxScaled || v < -maxScaled:
		e.mode, e.repeats = modeNone, 0
		op[n] = opBigInteger
		binary.LittleEndian.PutUint64(op[n+1:], uint64(v))
		return n + 9
	case e.scale != integerScale:
		return e.rescale(op, n, integerScale, v)
	}
	return e.change(op, n, v, same)
}

// change encodes a scaled value after the n bytes of a new step.
func (e *encoder) change(op *[maxOp]byte, n int, m int64, sameStep bool) int {
	delta := m - e.value
	e.value = m
	if sameStep && delta == e.delta && e.mode == modeDelta {
		return e.repeat(op)
	}
	e.delta, e.mode, e.repeats = delta, modeDelta, 0
	z := zigzag(delta)
	width := (bits.Len64(z) + 3) / 8
	// One store of a word, which the load of a word that follows can take over.
	binary.LittleEndian.PutUint64(op[n:], uint64(width)<<4|z&15|z>>4<<8)
	return n + 1 + width
}

func (e *encoder) repeat(op *[maxOp]byte) int {
	if e.repeats > 0 && e.repeats < maxRepeat {
		e.repeats++
		return 0
	}
	e.repeats = 1
	binary.LittleEndian.PutUint64(op[:], opRepeat)
	return 1
}

// odd encodes a float that the scale does not hold: at another scale if there is one, else as the
// bits that change.
func (e *encoder) odd(op *[maxOp]byte, n int, v float64) int {
	// Neither NaN nor an infinity counts: a stale marker is no hint of the next value.
	if math.Abs(v) <= math.MaxFloat64 && e.searches < maxSearches {
		e.searches++
		for scale := range uint8(maxScale + 1) {
			if m, ok := scaled(v, scale); ok {
				e.bits = math.Float64bits(v)
				return e.rescale(op, n, scale, m)
			}
		}
	}
	x := math.Float64bits(v) ^ e.bits
	e.bits ^= x
	e.mode, e.repeats = modeXor, 0
	code := byte(opXor)
	if x != 0 && x<<(64-highShift) == 0 {
		code, x = opXorHigh, x>>highShift
	}
	width := (bits.Len64(x) + 7) / 8
	op[n] = code + byte(width)
	binary.LittleEndian.PutUint64(op[n+1:], x)
	return n + 1 + width
}

func (e *encoder) rescale(op *[maxOp]byte, n int, scale uint8, m int64) int {
	e.scale, e.value, e.delta, e.mode, e.repeats = scale, m, 0, modeDelta, 0
	z := zigzag(m)
	width := (bits.Len64(z) + 7) / 8
	op[n], op[n+1] = opScale+byte(width), scale
	binary.LittleEndian.PutUint64(op[n+2:], z)
	return n + 2 + width
}

// putStep encodes a change of the step, which is not 0, and returns its length.
func putStep(op *[maxOp]byte, change int32) int {
	switch z := zigzag(int64(change)); {
	case z < 32:
		op[0] = opStep | byte(z)
		return 1
	case change == int32(int16(change)):
		op[0] = opStep2
		binary.LittleEndian.PutUint16(op[1:], uint16(change))
		return 3
	default:
		op[0] = opStep4
		binary.LittleEndian.PutUint32(op[1:], uint32(change))
		return 5
	}
}
