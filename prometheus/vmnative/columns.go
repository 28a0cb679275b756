package vmnative

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
)

// How a column is packed: differences, or differences of differences, perhaps with zstd, or nothing but what is the same for all.
const (
	zstdDeltas2 = 1
	sameDelta   = 2
	sameValue   = 3
	zstdDeltas  = 4
	deltas2     = 5
	deltas      = 6
)

// A layout is how a block is laid out.
type layout int

// The layouts of new servers and of old ones.
const (
	layoutNew layout = iota
	layoutOld
)

// fullPrecision is that of values which are not rounded.
const fullPrecision = 64

// A header is what a block has before its columns.
type header struct {
	first, last, value int64 // time of the first sample, of the last one (old servers do not tell it), and the first value
	rows, scale        int
	timesAs, valuesAs  byte
	precision          byte
}

var errShort = errors.New("it is too short")

// parseHeader reads the header of a block.
func parseHeader(b []byte, l layout) (h header, rest []byte, err error) {
	var numbers [5]uint64
	for i := range numbers {
		if l == layoutOld && i == 1 {
			numbers[i] = math.MaxUint64 - 1 // the latest time in zigzag
			continue
		}
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return h, nil, errShort
		}
		numbers[i], b = v, b[n:]
	}
	if len(b) < 3 {
		return h, nil, errShort
	}
	precision, rest := b[2], b[3:]
	if l == layoutOld {
		precision, rest = fullPrecision, b[2:]
	}
	scale := zigzag(numbers[4])
	switch {
	case numbers[3] == 0 || numbers[3] > mostRows:
		return h, nil, fmt.Errorf("%d samples, where there are 1 to %d", numbers[3], mostRows)
	case scale < math.MinInt16 || scale > math.MaxInt16:
		return h, nil, fmt.Errorf("values times ten to the power of %d", scale)
	case precision == 0 || precision > fullPrecision:
		return h, nil, fmt.Errorf("a precision of %d bits", precision)
	}
	h = header{zigzag(numbers[0]), zigzag(numbers[1]), zigzag(numbers[2]), int(numbers[3]), int(scale), b[0], b[1], precision}
	return h, rest, nil
}

// order checks that times ascend from the first to the last one. Those that were rounded are put in order.
func (h *header) order(times []int64) error {
	before := h.first
	for i, t := range times {
		if h.precision < fullPrecision {
			t = min(max(t, before), h.last)
			times[i] = t
		}
		if t < before || t > h.last {
			return fmt.Errorf("time %d of sample %d is out of order", t, i)
		}
		before = t
	}
	if h.precision < fullPrecision {
		times[len(times)-1] = h.last
	}
	if last := times[len(times)-1]; h.last != math.MaxInt64 && last != h.last {
		return fmt.Errorf("the last time is %d, not %d", last, h.last)
	}
	return nil
}

// column reads the bytes of a column.
func column(b []byte) (found, rest []byte, err error) {
	n, size := binary.Uvarint(b)
	if size <= 0 || n > uint64(len(b)-size) {
		return nil, nil, errShort
	}
	return b[size:][:n], b[size:][n:], nil
}

// unpack appends the numbers of a column, of which the first one is known.
func (r *Reader) unpack(dst []int64, rows int, as byte, first int64, b []byte) (_ []int64, err error) {
	if as == zstdDeltas || as == zstdDeltas2 {
		if r.unpacked, err = r.zip.DecodeAll(b, r.unpacked[:0]); err != nil {
			return dst, err
		}
		b = r.unpacked
	}
	count := rows - 1 // of differences in the column
	switch as {
	case sameValue:
		count = 0
	case sameDelta:
		count = 1
	case zstdDeltas, deltas:
	case zstdDeltas2, deltas2:
		if rows < 2 {
			return dst, errors.New("one number has no differences")
		}
	default:
		return dst, fmt.Errorf("a way of packing %d", as)
	}
	dst = append(dst, first)
	step := int64(0)
	for i := range count {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			return dst, errShort
		}
		b = b[n:]
		d := zigzag(v)
		if (as == zstdDeltas2 || as == deltas2) && i > 0 {
			d += step
		}
		step = d
		first += d
		if as != sameDelta {
			dst = append(dst, first)
		}
	}
	if len(b) > 0 {
		return dst, fmt.Errorf("%d bytes follow it", len(b))
	}
	for v := dst[0]; len(dst) < rows; { // of the same value or difference
		v += step
		dst = append(dst, v)
	}
	return dst, nil
}

// pack appends a column, and returns how it is packed. It is the inverse of unpack.
func (e *Encoder) pack(dst []byte, numbers []int64) (_ []byte, as byte) {
	switch {
	case same(numbers):
		return dst, sameValue
	case evenly(numbers):
		return binary.AppendUvarint(dst, zag(numbers[1]-numbers[0])), sameDelta
	}
	as, zipped := byte(deltas), byte(zstdDeltas)
	if slices.IsSorted(numbers) { // of a counter, or times
		as, zipped = deltas2, zstdDeltas2
	}
	e.deltas = appendDeltas(e.deltas[:0], numbers, as == deltas2)
	if len(e.deltas) >= fewestZipped {
		before := len(dst)
		dst = e.zip.EncodeAll(e.deltas, dst)
		if len(dst)-before < len(e.deltas)*9/10 {
			return dst, zipped
		}
		dst = dst[:before]
	}
	return append(dst, e.deltas...), as
}

func same(numbers []int64) bool {
	for _, n := range numbers {
		if n != numbers[0] {
			return false
		}
	}
	return true
}

// evenly reports whether neighbours have the same difference.
func evenly(numbers []int64) bool {
	for i := 2; i < len(numbers); i++ {
		if numbers[i]-numbers[i-1] != numbers[1]-numbers[0] {
			return false
		}
	}
	return true
}

// appendDeltas appends the differences of neighbours, or the first one and the differences of the differences.
func appendDeltas(dst []byte, numbers []int64, second bool) []byte {
	step := int64(0)
	for i := 1; i < len(numbers); i++ {
		d := numbers[i] - numbers[i-1]
		dst = binary.AppendUvarint(dst, zag(d-step))
		if second {
			step = d
		}
	}
	return dst
}
