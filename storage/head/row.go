package head

import (
	"math"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// hour is the span of a row in milliseconds.
const hour = schema.RowSeconds * 1000

// shortSize is what a row of 128 bytes has left for the beginning of its stream: a constant series
// never needs a block.
const shortSize = 37

// openRow is an hour of a series: its points in a stream, as long as they come in order, and the
// others in side. Two rows of one hour exist while one of them is handed out: it must not change,
// and what arrives meanwhile goes to the other.
type openRow struct {
	encoder
	id    uint32
	base  uint32 // seconds
	next  uint32 // row of the series; 0: none
	floor int32  // the greatest offset in the row; -1: none

	stream chain // after short
	count  uint32
	side   uint32 // number of the side, 0: none
	opened uint32 // seconds since 1970 when the first point arrived
	mark   uint64 // the smallest of its points

	short     [shortSize]byte
	shortUsed uint8
	used      bool // the row is given out by its slab
	sealed    bool // handed out
}

func (r *openRow) begin() int64 { return int64(r.base) * 1000 }

// overlaps reports whether the hour has times from start to end (milliseconds, inclusive).
func (r *openRow) overlaps(start, end int64) bool { return r.begin() <= end && r.begin()+hour > start }

// addFloat adds a sample at an offset. double means that it is of storage.FormDouble.
func (s *shard) addFloat(r *openRow, offset uint32, v float64, double bool) {
	if int32(offset) <= r.floor {
		s.addLate(r, offset, kindOf(v, double), math.Float64bits(v))
		return
	}
	r.floor = int32(offset)
	r.count++
	var op [maxOp]byte
	if double != r.double {
		s.append(r, &op, r.turn(&op))
	}
	s.append(r, &op, r.float(&op, offset, v))
}

// addInteger adds a sample that a client sent as an integer.
func (s *shard) addInteger(r *openRow, offset uint32, v int64) {
	if int32(offset) <= r.floor {
		s.addLate(r, offset, kindInteger, uint64(v))
		return
	}
	r.floor = int32(offset)
	r.count++
	var op [maxOp]byte
	s.append(r, &op, r.integer(&op, offset, v))
}

// append appends the first n bytes of what the encoder made.
func (s *shard) append(r *openRow, op *[maxOp]byte, n int) {
	used := int(r.shortUsed)
	switch {
	case n == 0:
		s.raise(r)
	case n <= 8 && used <= shortSize-8:
		// A word is cheaper than a copy of a length that varies; what is written too far is written
		// over or never read.
		*(*[8]byte)(r.short[used:]) = [8]byte(op[:8])
		r.shortUsed += uint8(n)
	case used+n <= shortSize:
		r.shortUsed += uint8(copy(r.short[used:], op[:n]))
	default:
		if used < shortSize {
			used = copy(r.short[used:], op[:n])
			r.shortUsed = shortSize
			r.stream.write(&s.blocks, op[used:n])
			return
		}
		if at := r.stream.size % blockData; n <= 8 && at != 0 && at <= blockData-8 {
			*(*[8]byte)(s.blocks.at(r.stream.tail).data[at:]) = [8]byte(op[:8])
			r.stream.size += uint32(n)
			return
		}
		r.stream.write(&s.blocks, op[:n])
	}
}

// raise raises the last byte of the stream by one.
func (s *shard) raise(r *openRow) {
	if r.stream.size == 0 {
		r.short[r.shortUsed-1]++
	} else {
		*r.stream.last(&s.blocks)++
	}
}

// bytes is the memory of the row.
func (s *shard) rowBytes(r *openRow) int64 {
	n := rowSize + r.stream.blocks()*blockSize
	if r.side != 0 {
		n += sideSize + s.sides.at(r.side).chain.blocks()*blockSize
	}
	return n
}

// clear empties a row but for its name.
func (s *shard) clear(r *openRow) {
	r.stream.release(&s.blocks)
	if r.side != 0 {
		s.sides.at(r.side).chain.release(&s.blocks)
		s.sides.give(r.side)
		r.side = 0
	}
	r.encoder, r.shortUsed, r.count, r.floor = encoder{}, 0, 0, -1
}
