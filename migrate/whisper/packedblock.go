package whisper

import "math/bits"

// A bitReader reads numbers of a block. Bytes are read from their highest bit on. A number comes in groups of 8 bits, the
// lowest first; the last group may be shorter.
type bitReader struct {
	data []byte
	at   int // in bits
}

// left returns how many bits are left.
func (r *bitReader) left() int { return 8*len(r.data) - r.at }

// read returns a number of n bits, 0 to 64, which are left.
func (r *bitReader) read(n int) (v uint64) {
	for shift := 0; n > 0; shift += 8 {
		size := min(n, 8)
		v |= r.group(size) << shift
		n -= size
	}
	return v
}

// group returns the next n bits, 1 to 8.
func (r *bitReader) group(n int) uint64 {
	at, bit := r.at/8, r.at%8
	pair := uint(r.data[at]) << 8
	if bit+n > 8 {
		pair |= uint(r.data[at+1])
	}
	r.at += n
	return uint64(pair >> (16 - bit - n) & (1<<n - 1))
}

// ones reads ones up to a zero, which it reads too, or up to most of them.
func (r *bitReader) ones(most int) (n int, ok bool) {
	for n < most {
		if r.left() == 0 {
			return n, false
		}
		if r.group(1) == 0 {
			return n, true
		}
		n++
	}
	return n, true
}

// A blockReader reads the points of a block one after another, as Facebook's Gorilla has them: times by how much the
// distance to the one before differs from the distance before, values by the bits in which they differ.
type blockReader struct {
	bits             bitReader
	step             int64
	time, last       int64 // of the point that was read last, and of the one before
	value, lastValue uint64
}

// timeBits are the lengths of the numbers that follow as many ones.
var timeBits = [...]int{0, 7, 9, 12, 32}

// next reads a point. more is false at the end of the points, ok at bytes that are no point.
func (r *blockReader) next() (more, ok bool) {
	kind, ok := r.bits.ones(len(timeBits) - 1)
	size := timeBits[kind]
	if !ok || r.bits.left() < size {
		return false, false
	}
	n := int64(r.bits.read(size))
	t := n
	if size < 32 {
		if sign := int64(1) << size >> 1; n&sign != 0 {
			n = -(n &^ sign)
		}
		t = 2*r.time - r.last + n*r.step
	} else if t == 0 {
		return false, true
	}
	xor, ok := r.xor()
	if !ok || t < 0 || t%r.step != 0 {
		return false, false
	}
	r.last, r.time = r.time, t
	r.lastValue, r.value = r.value, r.value^xor
	return true, true
}

// xor reads in which bits a value differs from the one before.
func (r *blockReader) xor() (v uint64, ok bool) {
	kind, ok := r.bits.ones(2)
	if !ok || kind == 0 {
		return 0, ok
	}
	var size, shift int
	if kind == 1 { // where the two values before differ
		before := r.value ^ r.lastValue
		shift = bits.TrailingZeros64(before)
		size = 64 - bits.LeadingZeros64(before) - shift
	} else {
		if r.bits.left() < 5+6 {
			return 0, false
		}
		zeros := int(r.bits.read(5))
		size = int(r.bits.read(6))
		if shift = 64 - zeros - size; size == 63 { // or 64: all bits follow
			size, shift = 64, 0
		}
	}
	if size <= 0 || shift < 0 || r.bits.left() < size {
		return 0, false
	}
	return r.bits.read(size) << shift, true
}
