package columns

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Encoder codes data cells as columns. It is the memory that this takes; the zero value is
// ready. Not safe for concurrent use.
type Encoder struct {
	points  cellColumns
	numbers []int64 // scaled values
	steps   []int64 // their differences
	changes []int64 // the differences of those
	scratch []uint64
}

// Append appends the columns of a cell to dst. It is not ok for a cell that would not become
// smaller, or that is not written as AppendCell does: of a single point, with a wrong trailing
// byte, reserved bits or NaN; dst is then as it was, and such a cell is to be kept as it is.
func (e *Encoder) Append(dst, qualifier, value []byte) (coded []byte, ok bool) {
	if !e.points.parse(qualifier, value) {
		return appendMetaCell(dst, qualifier, value)
	}
	return e.append(dst, len(qualifier)+len(value))
}

// append appends the columns of the points at hand, whose cell has so many bytes. It is not ok if
// they are no shorter.
func (e *Encoder) append(dst []byte, cell int) (coded []byte, ok bool) {
	c := &e.points
	at := len(dst)
	rule := c.rule()
	dst = binary.AppendUvarint(append(dst, c.form()|byte(rule)<<formRuleShift), uint64(len(c.offsets)))
	dst = e.appendTimes(dst)
	dst = c.appendFlags(dst, rule)
	dst, values := e.appendValues(dst)
	dst[at] |= byte(values) << formValShift
	if len(dst)-at >= cell {
		return dst[:at], false
	}
	return dst, true
}

// form returns what the offsets are.
func (c *cellColumns) form() byte {
	switch {
	case c.millis == 0:
		return formSeconds
	case c.millis == len(c.offsets):
		return formAllMillis
	case c.firstMillis:
		return formFirstMillis
	}
	return formMixed
}

// appendTimes appends the first offset and the steps.
func (e *Encoder) appendTimes(dst []byte) []byte {
	offsets := e.points.offsets
	dst = binary.AppendUvarint(dst, uint64(offsets[0]))
	if step, ok := evenStep(offsets); ok {
		return appendConstant(dst, step)
	}
	e.steps = sized(e.steps, len(offsets)-1)
	low, high := differences(e.steps, offsets)
	p := planPack(e.steps, low, high)
	e.scratch = sized(e.scratch, len(e.steps))
	return p.append(dst, e.steps, e.scratch)
}

// evenStep reports whether all differences are one.
func evenStep(numbers []int64) (step int64, ok bool) {
	before := numbers[1]
	step = before - numbers[0]
	for _, x := range numbers[2:] {
		if x-before != step {
			return 0, false
		}
		before = x
	}
	return step, true
}

func (c *cellColumns) appendFlags(dst []byte, rule flagRule) []byte {
	switch rule {
	case flagsSame:
		return append(dst, c.flags[0])
	case flagsEach:
		for i := 0; i < len(c.flags); i += 2 {
			two := c.flags[i]
			if i+1 < len(c.flags) {
				two |= c.flags[i+1] << 4
			}
			dst = append(dst, two)
		}
	}
	return dst
}

// appendValues appends the values and returns their form.
func (e *Encoder) appendValues(dst []byte) ([]byte, valueForm) {
	c := &e.points
	if c.integers == len(c.flags) {
		return e.appendNumbers(dst, c.ints, 0), valuesInteger
	}
	e.numbers = sized(e.numbers, len(c.floats))
	if sameBits(c.floats) {
		if scale, ok := scaleAll(e.numbers[:1], c.floats[:1]); ok {
			return appendConstant(append(dst, byte(scale)), e.numbers[0]), valuesDecimal
		}
	} else if scale, ok := scaleAll(e.numbers, c.floats); ok {
		return e.appendNumbers(dst, e.numbers, scale), valuesDecimal
	}
	return c.appendBits(dst), valuesBits
}

func sameBits(values []float64) bool {
	first := math.Float64bits(values[0])
	for _, v := range values {
		if math.Float64bits(v) != first {
			return false
		}
	}
	return true
}

// scaleAll finds the least power of ten that makes integers of all values, such that dividing gives
// the same 64 bits again.
func scaleAll(numbers []int64, values []float64) (scale int, ok bool) {
	at := wholeAll(numbers, values)
	for at < len(values) {
		for scale++; ; scale++ {
			if scale > maxScale {
				return 0, false
			}
			if _, ok := scaled(values[at], powersOfTen[scale]); ok {
				break
			}
		}
		at = scaleUpTo(numbers, values, powersOfTen[scale])
	}
	return scale, true
}

// wholeAll makes integers of values and stops at the first that is none.
func wholeAll(numbers []int64, values []float64) int {
	numbers = numbers[:len(values)]
	for i, v := range values {
		n := int64(v)
		if math.Float64bits(float64(n)) != math.Float64bits(v) || n > schema.MaxCompact || n < -schema.MaxCompact {
			return i
		}
		numbers[i] = n
	}
	return len(values)
}

func scaleUpTo(numbers []int64, values []float64, power float64) int {
	numbers = numbers[:len(values)]
	for i, v := range values {
		n, ok := scaled(v, power)
		if !ok {
			return i
		}
		numbers[i] = n
	}
	return len(values)
}

func scaled(v, power float64) (int64, bool) {
	x := v * power
	n := int64(x + math.Copysign(0.5, x))
	return n, math.Float64bits(float64(n)/power) == math.Float64bits(v) && n <= schema.MaxCompact && n >= -schema.MaxCompact
}

// appendNumbers appends the scaled values in the order that takes the fewest bits.
func (e *Encoder) appendNumbers(dst []byte, numbers []int64, scale int) []byte {
	e.scratch = sized(e.scratch, len(numbers))
	e.steps = sized(e.steps, len(numbers)-1)
	low, high := differences(e.steps, numbers)
	order, p := e.cheapestOrder(numbers, low, high)
	dst = append(dst, byte(scale)|byte(order)<<4)
	switch order {
	case 0:
		return p.append(dst, numbers, e.scratch)
	case 1:
		dst = binary.AppendVarint(dst, numbers[0])
		return p.append(dst, e.steps, e.scratch)
	}
	dst = binary.AppendVarint(dst, numbers[0])
	dst = binary.AppendVarint(dst, e.steps[0])
	return p.append(dst, e.changes, e.scratch)
}

// cheapestOrder plans the packs of the orders that could be the best. Numbers that grow or change
// slowly are larger than their differences. Other numbers may still have few different differences
// (if they jump) or few unusual values (if they have spikes). low and high are the bounds of the
// steps.
func (e *Encoder) cheapestOrder(numbers []int64, low, high int64) (order int, best packing) {
	order, best = 1, planPack(e.steps, low, high)
	best.cost += varintBits(numbers[0])
	// Differences of numbers within a span are within twice the span.
	if low0, high0 := bounds(numbers); uint64(high0)-uint64(low0) <= uint64(high)-uint64(low) {
		if p := planPack(numbers, low0, high0); p.cost <= best.cost {
			order, best = 0, p
		}
	}
	if best.width < 2 || !smoother(e.steps) {
		return order, best
	}
	e.changes = sized(e.changes, len(e.steps)-1)
	low, high = differences(e.changes, e.steps)
	p := planPack(e.changes, low, high)
	if p.cost += varintBits(numbers[0]) + varintBits(e.steps[0]); p.cost < best.cost {
		order, best = 2, p
	}
	return order, best
}

// smoother reports whether the differences of some steps are within half their span.
func smoother(steps []int64) bool {
	if len(steps) < 2 {
		return false
	}
	var changes [15]int64
	some := steps[:min(len(steps), len(changes)+1)]
	low, high := bounds(some)
	least, most := differences(changes[:len(some)-1], some)
	return uint64(most)-uint64(least) <= (uint64(high)-uint64(low))/2
}

func varintBits(v int64) int { return (bits.Len64(zigzag(v)|1) + 6) / 7 * 8 }

// differences sets those of neighbouring numbers and gives their bounds.
func differences(to, numbers []int64) (low, high int64) {
	before := numbers[0]
	low, high = numbers[1]-before, numbers[1]-before
	for i, x := range numbers[1 : len(to)+1] {
		d := x - before
		before = x
		to[i] = d
		low, high = min(low, d), max(high, d)
	}
	return low, high
}

func bounds(numbers []int64) (low, high int64) {
	low, high = numbers[0], numbers[0]
	for _, x := range numbers {
		low, high = min(low, x), max(high, x)
	}
	return low, high
}

// appendBits appends the bits in which each float differs from the one before.
func (c *cellColumns) appendBits(dst []byte) []byte {
	before := uint64(0)
	for _, f := range c.floats {
		b := math.Float64bits(f)
		x := b ^ before
		before = b
		t := trailingBytes(x)
		dst = append(dst, byte(t<<4|significantBytes(x>>(8*t))))
	}
	before = 0
	for _, f := range c.floats {
		b := math.Float64bits(f)
		x := b ^ before
		before = b
		x >>= 8 * trailingBytes(x)
		n := len(dst)
		dst = binary.LittleEndian.AppendUint64(dst, x)[:n+significantBytes(x)]
	}
	return dst
}
