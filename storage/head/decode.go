package head

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/storage"
)

// padding is what a decoder may read beyond a stream.
const padding = 8

// points are those of a stream. An integer beyond 53 bits is rounded in Values; the numbers
// in integers are exact.
type points struct {
	times    []int64 // milliseconds
	values   []float64
	integers []integer
	doubles  spans // of floats of storage.FormDouble
}

// spans are points by their indexes, in order, from one to before another.
type spans []span

type span struct{ from, to int }

// form is that of the float at an index, and what of the spans is left for those after it.
func (s spans) form(i int) (storage.Form, spans) {
	for len(s) > 0 && s[0].to <= i {
		s = s[1:]
	}
	if len(s) > 0 && s[0].from <= i {
		return storage.FormDouble, s
	}
	return storage.FormFloat, s
}

// integer reports whether the point at an index of the columns is an integer.
type integer struct {
	at    int
	value int64
}

func (c *points) reset() {
	c.times, c.values, c.integers, c.doubles = c.times[:0], c.values[:0], c.integers[:0], c.doubles[:0]
}

// decode appends the points of a stream that begins at a time. There are count of them, and padding
// bytes after the stream.
func (c *points) decode(begin int64, stream []byte, count int) {
	c.decodeFrom(begin, math.MinInt64, stream, count)
}

// decodeFrom is decode, except that it leaves out points before a time as far as the operations allow:
// a repetition is read as a whole.
func (c *points) decodeFrom(begin, from int64, stream []byte, count int) {
	d := decoder{time: begin, power: 1, doubles: -1}
	at := len(c.times)
	count -= d.skip(c, stream, from)
	c.times = slices.Grow(c.times, count)[:at+count]
	c.values = slices.Grow(c.values, count)[:at+count]
	for d.pos < len(stream)-padding {
		op := stream[d.pos]
		d.pos++
		switch {
		case op < opRepeat:
			width := int(op >> 4)
			word := binary.LittleEndian.Uint64(stream[d.pos:])
			d.pos += width
			d.change(unzigzag(word&masks[width]<<4 | uint64(op&15)))
		case op < opStep:
			n := int(op-opRepeat) + 1
			d.repeat(c, at, n)
			at += n
			continue
		case op == opTurn:
			d.turn(c, at)
			continue
		default:
			if !d.rare(op, stream) {
				continue
			}
		}
		d.time += d.step
		c.times[at], c.values[at] = d.time, d.last
		if d.isInteger {
			c.integers = append(c.integers, integer{at, d.integer()})
		}
		at++
	}
	if d.doubles >= 0 {
		d.turn(c, at)
	}
}

// decoder is the state of a stream that is being read.
type decoder struct {
	pos          int
	time, step   int64
	value, delta int64
	power        float64
	last         float64
	big          int64 // the value of a point that is a big integer
	isBig        bool
	xor          bool // the point before was given by its bits
	integerScale bool
	isInteger    bool // the point at hand
	// index of the first float of storage.FormDouble since opTurn; -1: they are not
	doubles int
}

// skip goes by the operations that only have points before a time, and returns how many points these
// are. It computes the value of the last one only, because a division costs more than all else.
func (d *decoder) skip(c *points, stream []byte, from int64) (points int) {
	stale := false // d.last is not that of d.value
	for d.pos < len(stream)-padding {
		op := stream[d.pos]
		n := pointsOf(op)
		if n > 0 && d.time+int64(n)*d.step >= from {
			break
		}
		d.pos++
		switch {
		case op < opRepeat:
			width := int(op >> 4)
			word := binary.LittleEndian.Uint64(stream[d.pos:])
			d.pos += width
			d.delta = unzigzag(word&masks[width]<<4 | uint64(op&15))
			d.value += d.delta
			d.xor, d.isBig, d.isInteger = false, false, d.integerScale
			stale = true
		case op < opStep:
			if !d.xor && d.delta != 0 {
				d.value += int64(n) * d.delta
				stale = true
			}
		case op == opTurn:
			d.turn(c, len(c.times))
		default:
			d.refresh(&stale)
			d.rare(op, stream)
		}
		d.time += int64(n) * d.step
		points += n
	}
	d.refresh(&stale)
	return points
}

// refresh computes the value of the last point.
func (d *decoder) refresh(stale *bool) {
	if *stale {
		d.last, *stale = float64(d.value)/d.power, false
	}
}

// pointsOf returns how many points an operation has.
func pointsOf(op byte) int {
	switch {
	case op >= opRepeat && op < opStep:
		return int(op-opRepeat) + 1
	case op >= opStep && op < opXor, op == opTurn, op == opStep2, op == opStep4:
		return 0
	default:
		return 1
	}
}

// turn begins or ends a span of floats of storage.FormDouble at an index of the columns.
func (d *decoder) turn(c *points, at int) {
	if d.doubles < 0 {
		d.doubles = at
		return
	}
	c.doubles = append(c.doubles, span{d.doubles, at})
	d.doubles = -1
}

func (d *decoder) change(delta int64) {
	d.delta = delta
	d.value += delta
	d.last = float64(d.value) / d.power
	d.xor, d.isBig, d.isInteger = false, false, d.integerScale
}

func (d *decoder) integer() int64 {
	if d.isBig {
		return d.big
	}
	return d.value
}

// repeat writes n points like the one before to the columns from at on.
func (d *decoder) repeat(c *points, at, n int) {
	times, values := c.times[at:at+n], c.values[at:at+n]
	if d.xor || d.delta == 0 {
		for i := range times {
			d.time += d.step
			times[i], values[i] = d.time, d.last
		}
	} else {
		for i := range times {
			d.time += d.step
			d.value += d.delta
			times[i], values[i] = d.time, float64(d.value)/d.power
		}
		d.last = values[n-1]
	}
	if d.isInteger {
		for i := range n {
			c.integers = append(c.integers, integer{at + i, d.value - int64(n-1-i)*d.delta})
		}
	}
}

// rare reads an operation that is neither a change nor a repetition, and reports whether it is a
// point.
func (d *decoder) rare(op byte, stream []byte) bool {
	word := binary.LittleEndian.Uint64(stream[d.pos:])
	switch {
	case op < opXor:
		d.step += unzigzag(uint64(op - opStep))
		return false
	case op == opStep2:
		d.step += int64(int16(word))
		d.pos += 2
		return false
	case op == opStep4:
		d.step += int64(int32(word))
		d.pos += 4
		return false
	case op <= opXorHigh:
		d.bits(word, int(op-opXor), 0)
	case op < opStep2:
		d.bits(word, int(op-opXorHigh), highShift)
	case op == opBigInteger:
		d.pos += 8
		d.big, d.last = int64(word), float64(int64(word))
		d.isBig, d.isInteger, d.xor = true, true, false
	default:
		d.rescale(stream, int(op-opScale))
	}
	return true
}

func (d *decoder) bits(word uint64, width, shift int) {
	d.pos += width
	d.last = math.Float64frombits(math.Float64bits(d.last) ^ word&masks[width]<<shift)
	d.xor, d.isInteger, d.isBig = true, false, false
}

func (d *decoder) rescale(stream []byte, width int) {
	scale := stream[d.pos]
	word := binary.LittleEndian.Uint64(stream[d.pos+1:])
	d.pos += 1 + width
	d.integerScale, d.power = scale == integerScale, powers[scale]
	d.value = 0
	d.change(unzigzag(word & masks[width]))
	d.delta = 0
}
