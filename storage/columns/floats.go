package columns

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// AppendFloats appends the columns of the cell that AppendCell makes of floats at ascending times,
// without that cell: the bytes are those that Append makes of it. Times are in milliseconds, in the
// hour that begins at begin. It is not ok where Append is not, for NaN and the infinities, which
// belong into objects, and for what is rare: one point, ValuesCompact, and a first point whose
// qualifier must count milliseconds. dst is then as it was.
func (e *Encoder) AppendFloats(dst []byte, times []int64, values []float64, begin int64, as schema.Values) (coded []byte, ok bool) {
	c := &e.points
	if len(times) < 2 || len(times) > maxColumnPoints || as == schema.ValuesCompact {
		return dst, false
	}
	if first := schema.NewPoint(uint32(times[0] - begin)); first != first.AsFirst() {
		return dst, false
	}
	length := c.setOffsets(times, begin)
	size, ok := c.setFloats(values, as)
	if !ok {
		return dst, false
	}
	return e.append(dst, length+size)
}

// setOffsets sets what qualifiers hold but for the flags, and returns their length.
func (c *cellColumns) setOffsets(times []int64, begin int64) (length int) {
	c.offsets = sized(c.offsets, len(times))
	c.millis, c.firstMillis = 0, false
	offsets := c.offsets[:len(times)]
	for i, t := range times {
		offset := t - begin
		offsets[i] = offset
		if uint32(offset)%1000 != 0 {
			c.millis++
		}
	}
	if c.millis == 0 {
		for i := range offsets {
			offsets[i] /= 1000
		}
	}
	return 2*len(times) + 2*c.millis
}

// setFloats sets values and flags, and returns the length of the value. It is not ok when a value
// is NaN or an infinity.
func (c *cellColumns) setFloats(values []float64, as schema.Values) (length int, ok bool) {
	n := len(values)
	c.floats, c.flags, c.integers = sized(c.floats, n), sized(c.flags, n), 0
	flags, finite, short := c.flags[:n], true, 0
	for i, v := range values {
		finite = finite && v-v == 0
		flags[i] = schema.FlagsFloat8
		if math.Float64bits(float64(float32(v))) == math.Float64bits(v) {
			flags[i] = schema.FlagsFloat4
			short++
		}
	}
	if !finite {
		return 0, false
	}
	if as == schema.ValuesDouble {
		short = 0
		for i := range flags {
			flags[i] = schema.FlagsFloat8
		}
	}
	c.sameFlags = short == 0 || short == n
	copy(c.floats, values)
	return 8*n - 4*short + 1, true
}
