package pickle

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

// Rows reads one pickle after the other that is a list of (text, (number, number)), in the order of opcodes in
// which Python writes it in the protocols 2 to 5. It builds no values, and so takes a fraction of the time of
// Decode. The zero value is ready.
type Rows struct {
	pickle []byte
	i      int
	memo   []span
}

// A span is the place of a text in the pickle. The zero span is none: a text is behind its opcode.
type span struct{ at, n uint32 }

// Read calls use with each item of the list until use returns false. It returns false if use does, and if
// the pickle is, or may be, something else: then Decode has to read it, and what use was called with does not count.
// A text is a part of the pickle.
func (r *Rows) Read(pickle []byte, use func(text []byte, first, second float64) bool) bool {
	if len(pickle) > math.MaxInt32 {
		return false
	}
	r.pickle, r.i, r.memo = pickle, 0, r.memo[:0]
	if r.is(opProtocol) {
		if r.i == len(pickle) || pickle[r.i] > highest {
			return false
		}
		r.i++
	}
	if !r.is(opEmptyList) || !r.put(span{}) {
		return false
	}
	for !r.is(opStop) {
		if !r.batch(use) {
			return false
		}
	}
	return true
}

// is reads one opcode, if it comes next.
func (r *Rows) is(op byte) bool {
	for r.i < len(r.pickle) {
		switch r.pickle[r.i] {
		case op:
			r.i++
			return true
		case opFrame:
			if !r.frame() {
				return false
			}
		default:
			return false
		}
	}
	return false
}

// frame passes over the beginning of a frame.
func (r *Rows) frame() bool {
	const size = 9
	rest := r.pickle[r.i:]
	if len(rest) < size || binary.LittleEndian.Uint64(rest[1:]) > uint64(len(rest)-size) {
		return false
	}
	r.i += size
	return true
}

// batch reads what is added to the list at once.
func (r *Rows) batch(use func(text []byte, first, second float64) bool) bool {
	if !r.is(opMark) {
		return r.item(use) && r.is(opAppend)
	}
	for !r.is(opAppends) {
		if !r.item(use) {
			return false
		}
	}
	return true
}

// item reads an item of the list.
func (r *Rows) item(use func(text []byte, first, second float64) bool) bool {
	text, ok := r.text()
	if !ok {
		return false
	}
	first, ok := r.number()
	if !ok {
		return false
	}
	second, ok := r.number()
	return ok && r.pair() && r.pair() && use(r.pickle[text.at:text.at+text.n:text.at+text.n], first, second)
}

// pair reads what makes a pair of the last two values.
func (r *Rows) pair() bool { return r.is(opTuple2) && r.put(span{}) }

// text reads a text, or where an earlier one is that has to be taken again.
func (r *Rows) text() (span, bool) {
	switch {
	case r.is(opUnicode4), r.is(opString4):
		n, ok := r.length(4)
		return r.textOf(n, ok)
	case r.is(opUnicode1), r.is(opString1):
		n, ok := r.length(1)
		return r.textOf(n, ok)
	case r.is(opGet1):
		n, ok := r.length(1)
		return r.get(n, ok)
	case r.is(opGet4):
		n, ok := r.length(4)
		return r.get(n, ok)
	}
	return span{}, false
}

// textOf reads the n bytes of a text.
func (r *Rows) textOf(n int, ok bool) (span, bool) {
	if !ok || n > len(r.pickle)-r.i || !utf8.Valid(r.pickle[r.i:r.i+n]) {
		return span{}, false
	}
	text := span{at: uint32(r.i), n: uint32(n)} //nolint:gosec // a pickle has at most 2 GB
	r.i += n
	return text, r.put(text)
}

// get returns the text that was stored under an index.
func (r *Rows) get(index int, ok bool) (span, bool) {
	if !ok || index >= len(r.memo) {
		return span{}, false
	}
	return r.memo[index], r.memo[index].at > 0
}

// put stores the last value, if this is what comes next.
func (r *Rows) put(value span) bool {
	index, ok := len(r.memo), true
	switch {
	case r.is(opPut1):
		index, ok = r.length(1)
	case r.is(opPut4):
		index, ok = r.length(4)
	case r.is(opMemoize):
	default:
		return true
	}
	switch {
	case !ok || index > len(r.memo):
		return false
	case index == len(r.memo):
		r.memo = append(r.memo, value)
	default:
		r.memo[index] = value
	}
	return true
}

// number reads a number.
func (r *Rows) number() (float64, bool) {
	switch {
	case r.is(opInt4):
		if rest := r.pickle[r.i:]; len(rest) >= 4 {
			r.i += 4
			return float64(int32(binary.LittleEndian.Uint32(rest))), true //nolint:gosec // it has a sign
		}
	case r.is(opFloat):
		if rest := r.pickle[r.i:]; len(rest) >= 8 {
			r.i += 8
			return math.Float64frombits(binary.BigEndian.Uint64(rest)), true
		}
	case r.is(opInt1):
		n, ok := r.length(1)
		return float64(n), ok
	case r.is(opInt2):
		n, ok := r.length(2)
		return float64(n), ok
	}
	return 0, false
}

// length reads a number of so many bytes, 1, 2 or 4.
func (r *Rows) length(size int) (int, bool) {
	rest := r.pickle[r.i:]
	if len(rest) < size {
		return 0, false
	}
	r.i += size
	switch size {
	case 1:
		return int(rest[0]), true
	case 2:
		return int(binary.LittleEndian.Uint16(rest)), true
	default:
		return int(binary.LittleEndian.Uint32(rest)), true
	}
}
