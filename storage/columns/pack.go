package columns

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// packExceptions marks a pack some of whose numbers do not fit into its width.
const packExceptions = 0x80

// maxPackWidth is the greatest width that one unaligned load of 64 bits serves; beyond it all 64
// are taken.
const maxPackWidth = 56

// packing is how a pack could be made: the numbers in [low, low+2^width) as bits, all others as
// exceptions.
type packing struct {
	low, high  int64
	width      int
	exceptions int
	cost       int // about so many bits
}

// packWidth returns the width of numbers up to span.
func packWidth(span uint64) int {
	w := bits.Len64(span)
	if w > maxPackWidth {
		return 64
	}
	return w
}

// planPack finds a cheap way to pack numbers from low to high. Their spread decides, unless leaving
// out the few that lie far from the others (a counter that was reset, a scrape that was missed)
// makes it cheaper.
func planPack(numbers []int64, low, high int64) packing {
	n := len(numbers)
	width := packWidth(uint64(high) - uint64(low))
	best := packing{low: low, high: high, width: width, cost: n * width}
	if width == 0 || n < 3 {
		return best
	}
	pivot, span := typical(numbers)
	if span >= (uint64(high)-uint64(low))/4 {
		return best // no few numbers lie far from the others
	}
	var lengths [65]int32 // how many numbers are so many bits away from the pivot
	for _, x := range numbers {
		lengths[bits.Len64(zigzag(x-pivot))&127]++
	}
	chosen := -1
	outside, outsideBits := 0, 0
	for w := 64; w >= 0; w-- {
		if cost := n*w + outsideBits + 8; outside > 0 && cost < best.cost {
			best.cost, chosen = cost, w
		}
		outside += int(lengths[w])
		outsideBits += int(lengths[w]) * (8 + (w+7)/7*8)
	}
	if chosen >= 0 {
		best.inside(numbers, pivot, chosen)
	}
	return best
}

// inside sets the bounds to the numbers that are at most w bits away from the pivot.
func (p *packing) inside(numbers []int64, pivot int64, w int) {
	first := true
	p.exceptions = 0
	for _, x := range numbers {
		if bits.Len64(zigzag(x-pivot)) > w {
			p.exceptions++
			continue
		}
		if first {
			p.low, p.high, first = x, x, false
		}
		p.low, p.high = min(p.low, x), max(p.high, x)
	}
	if first { // the pivot is one of the numbers, so this cannot be
		p.low, p.high = pivot, pivot
	}
	p.width = packWidth(uint64(p.high) - uint64(p.low))
}

// typical gives the median of a few numbers of the column, and their span except for the two at the
// ends.
func typical(numbers []int64) (median int64, span uint64) {
	var some [9]int64
	n := min(len(numbers), len(some))
	for i := range n {
		x := numbers[i*len(numbers)/n]
		j := i
		for ; j > 0 && some[j-1] > x; j-- {
			some[j] = some[j-1]
		}
		some[j] = x
	}
	return some[n/2], uint64(some[n-2]) - uint64(some[1])
}

// appendConstant appends the pack of one number many times.
func appendConstant(dst []byte, number int64) []byte {
	return binary.AppendVarint(append(dst, 0), number)
}

// append appends the pack of numbers; scratch is memory for as many.
func (p *packing) append(dst []byte, numbers []int64, scratch []uint64) []byte {
	width, shift := uint(p.width), uint(0)
	if width > 0 {
		scratch = scratch[:len(numbers)]
		shift = uint(bits.TrailingZeros64(p.distances(scratch, numbers)) & 63)
		width = uint(packWidth((uint64(p.high) - uint64(p.low)) >> shift))
	}
	head := byte(width)
	if p.exceptions > 0 {
		head |= packExceptions
	}
	dst = binary.AppendVarint(append(dst, head), p.low)
	switch {
	case width == 64:
		dst = append(dst, byte(shift))
		for _, u := range scratch {
			dst = binary.LittleEndian.AppendUint64(dst, u>>shift)
		}
	case width > 0:
		dst = appendPacked(append(dst, byte(shift)), scratch, width, shift)
	}
	if p.exceptions > 0 {
		dst = p.appendExceptions(dst, numbers)
	}
	return dst
}

// distances sets how far the numbers are above low, 0 for the exceptions, and returns the bits that
// any of them has.
func (p *packing) distances(to []uint64, numbers []int64) (used uint64) {
	low, span := uint64(p.low), uint64(p.high)-uint64(p.low)
	to = to[:len(numbers)]
	for i, x := range numbers {
		u := uint64(x) - low
		if u > span {
			u = 0
		}
		to[i] = u
		used |= u
	}
	return used
}

// appendPacked appends offsets>>shift in width bits each, at most maxPackWidth.
func appendPacked(dst []byte, offsets []uint64, width, shift uint) []byte {
	pos := len(dst)
	end := pos + packedBytes(len(offsets), int(width))
	dst = slices.Grow(dst, end+8-pos)[:end+8]
	var word uint64
	var filled uint
	for _, u := range offsets {
		word |= u >> (shift & 63) << (filled & 63)
		filled += width
		// Whole bytes are written; fewer than 8 bits remain, which fit next to any width.
		binary.LittleEndian.PutUint64(dst[pos:], word)
		pos += int(filled / 8)
		word >>= filled &^ 7 & 63
		filled &= 7
	}
	return dst[:end]
}

func packedBytes(n, width int) int { return (n*width + 7) / 8 }

func (p *packing) appendExceptions(dst []byte, numbers []int64) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.exceptions))
	span := uint64(p.high) - uint64(p.low)
	before := 0
	for i, x := range numbers {
		if uint64(x)-uint64(p.low) > span {
			dst = binary.AppendUvarint(dst, uint64(i-before))
			before = i
		}
	}
	for _, x := range numbers {
		if uint64(x)-uint64(p.low) > span {
			dst = binary.AppendVarint(dst, x-p.low)
		}
	}
	return dst
}

// constant reads a pack that is one number many times, if it is.
func (r *reader) constant() (number int64, ok bool) {
	if len(r.rest) == 0 || r.rest[0] != 0 {
		return 0, false
	}
	r.rest = r.rest[1:]
	return r.varint(), true
}

// unpack reads as many numbers as there are in dst.
func (r *reader) unpack(dst []int64) {
	head := r.byte()
	width := int(head &^ packExceptions)
	low := r.varint()
	if r.bad || width > maxPackWidth && width != 64 {
		r.bad = true
		return
	}
	if width == 0 {
		for i := range dst {
			dst[i] = low
		}
	} else {
		r.unpackBits(dst, low, width)
	}
	if head&packExceptions != 0 {
		r.unpackExceptions(dst, low)
	}
}

func (r *reader) unpackBits(dst []int64, low int64, width int) {
	shift := uint(r.byte())
	size := packedBytes(len(dst), width)
	if r.bad || shift > 63 || size > len(r.rest) {
		r.bad = true
		return
	}
	from := r.rest
	r.rest = r.rest[size:]
	if width == 64 {
		for i := range dst {
			dst[i] = low + int64(binary.LittleEndian.Uint64(from[8*i:])<<shift)
		}
		return
	}
	// A word may be loaded as long as it ends within the cell; the numbers of the last bytes come
	// from a copy.
	safe := len(dst)
	if len(from) < size+8 {
		safe = max(0, (len(from)-8)*8/width)
		safe = min(safe, len(dst))
	}
	if len(from) < 8 {
		safe = 0
	}
	unpackWords(dst[:safe], from, low, uint(width), shift, 0)
	if safe < len(dst) {
		start := safe * width / 8
		var tail [maxPackWidth + 24]byte
		for safe < len(dst) {
			n := copy(tail[:], from[start:size])
			clear(tail[n:])
			some := min(len(dst)-safe, 64/width+1)
			unpackWords(dst[safe:safe+some], tail[:], low, uint(width), shift, uint(safe*width)-uint(start)*8)
			safe += some
			start = safe * width / 8
		}
	}
}

// unpackWords reads numbers from a bit on. Several numbers that fit come from one word.
func unpackWords(dst []int64, from []byte, low int64, width, shift, bit uint) {
	mask, times := uint64(1)<<(width&63)-1, uint64(1)<<(shift&63)
	if width <= 14 {
		for len(dst) >= 4 {
			word := binary.LittleEndian.Uint64(from[bit>>3:]) >> (bit & 7)
			dst[0] = low + int64(word&mask*times)
			word >>= width & 63
			dst[1] = low + int64(word&mask*times)
			word >>= width & 63
			dst[2] = low + int64(word&mask*times)
			word >>= width & 63
			dst[3] = low + int64(word&mask*times)
			bit += 4 * width
			dst = dst[4:]
		}
	}
	for len(dst) >= 2 && width <= 28 {
		word := binary.LittleEndian.Uint64(from[bit>>3:]) >> (bit & 7)
		dst[0] = low + int64(word&mask*times)
		word >>= width & 63
		dst[1] = low + int64(word&mask*times)
		bit += 2 * width
		dst = dst[2:]
	}
	for i := range dst {
		word := binary.LittleEndian.Uint64(from[bit>>3:])
		dst[i] = low + int64(word>>(bit&7)&mask*times)
		bit += width
	}
}

func (r *reader) unpackExceptions(dst []int64, low int64) {
	count := r.uvarint()
	if count > uint64(len(dst)) || count > uint64(len(r.rest)) {
		r.bad = true
		return
	}
	places := reader{rest: r.rest}
	for range count {
		r.uvarint()
	}
	at := uint64(0)
	for range count {
		at += places.uvarint()
		x := low + r.varint()
		if r.bad || at >= uint64(len(dst)) {
			r.bad = true
			return
		}
		dst[at] = x
	}
}
