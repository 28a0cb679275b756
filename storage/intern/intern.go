// Package intern numbers byte strings in the order in which they come, in memory without pointers:
// the garbage collector does not have to visit millions of them, and each takes its bytes and some
// 24 more. It never interprets the strings.
package intern

import (
	"encoding/binary"
	"hash/maphash"
	"math"
	"unsafe"
)

// A Set holds byte strings and numbers them from 0. Nothing is ever removed. It is safe for
// concurrent readers; adding needs exclusive access.
type Set struct {
	seed   maphash.Seed
	blocks [][]byte            // the strings, each after its length; blocks never move
	used   int                 // of the last block, bytes
	places []*[pageSize]uint32 // by number: block and unit in it
	parts  [partCount]part     // where the numbers are found
	n      int                 // strings
	size   int64               // of blocks, places and parts, bytes
}

const (
	pageSize = 4096
	// A place is a block and a unit of bytes in it.
	unit      = 4
	unitBits  = 16
	maxBlock  = unit << unitBits
	minBlock  = maxBlock >> 6
	maxBlocks = 1 << (32 - unitBits)
	// partCount is into how many tables the numbers are divided: they grow one after the other,
	// each in little time.
	partBits  = 6
	partCount = 1 << partBits
)

// New returns an empty set. Sets of one seed hash alike.
func New(seed maphash.Seed) *Set { return &Set{seed: seed} }

// Hash returns the hash of a string in this set. Equal hashes do not mean equal strings: the set
// compares bytes.
func (s *Set) Hash(key []byte) uint64 { return maphash.Bytes(s.seed, key) }

// Len returns how many strings there are.
func (s *Set) Len() int { return s.n }

// Size returns the memory of the set in bytes.
func (s *Set) Size() int64 { return s.size }

// Find returns the number of a string whose hash is given.
func (s *Set) Find(key []byte, hash uint64) (number uint32, ok bool) {
	p := &s.parts[hash>>(64-partBits)]
	if len(p.slots) == 0 {
		return 0, false
	}
	for at := p.first(tagOf(hash)); ; {
		slot := p.slots[at]
		if slot.next == 0 {
			return 0, false
		}
		if slot.tag == tagOf(hash) && string(s.Bytes(slot.next-1)) == string(key) {
			return slot.next - 1, true
		}
		if at++; at == len(p.slots) {
			at = 0
		}
	}
}

// Add gives a string that is not in the set the next number. Its hash is given; the bytes are
// copied.
func (s *Set) Add(key []byte, hash uint64) uint32 {
	number := uint32(s.n)
	if s.n >= math.MaxUint32-1 {
		panic("intern: more strings than numbers")
	}
	if s.n%pageSize == 0 {
		s.places = append(s.places, new([pageSize]uint32))
		s.size += pageSize * 4
	}
	s.places[s.n/pageSize][s.n%pageSize] = s.keep(key)
	s.n++
	p := &s.parts[hash>>(64-partBits)]
	s.size += p.add(hash, number)
	return number
}

// Bytes returns the string of a number. It is part of the set: it stays as it is forever and must
// not be changed.
func (s *Set) Bytes(number uint32) []byte {
	place := s.places[number/pageSize][number%pageSize]
	block := s.blocks[place>>unitBits][place&(1<<unitBits-1)*unit:]
	length, width := uint64(block[0]), 1
	if length >= 0x80 {
		length, width = binary.Uvarint(block)
	}
	return block[width : width+int(length) : width+int(length)]
}

// String is Bytes as a string, without a copy.
func (s *Set) String(number uint32) string {
	b := s.Bytes(number)
	return unsafe.String(unsafe.SliceData(b), len(b)) // what is in a block never changes
}

// keep copies a string into the last block, or a new one, and returns its place.
func (s *Set) keep(key []byte) uint32 {
	need := binary.MaxVarintLen32 + len(key)
	last := len(s.blocks) - 1
	if last < 0 || s.used+need > len(s.blocks[last]) {
		s.grow(need)
		last++
	}
	block, at := s.blocks[last], s.used
	n := binary.PutUvarint(block[at:], uint64(len(key)))
	n += copy(block[at+n:], key)
	s.used = (at + n + unit - 1) / unit * unit
	return uint32(last)<<unitBits | uint32(at/unit)
}

// grow adds a block. The first ones are small, for there are many small sets; a string that is
// longer than a block gets one of its own.
func (s *Set) grow(need int) {
	if len(s.blocks) == maxBlocks {
		panic("intern: more bytes than places")
	}
	size := max(min(minBlock<<min(len(s.blocks), 6), maxBlock), need)
	s.blocks, s.used = append(s.blocks, make([]byte, size)), 0
	s.size += int64(size)
}
