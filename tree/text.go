package tree

import (
	"encoding/binary"
	"math"
)

// A text keeps strings of bytes, each after its length, in blocks that never move. A place is a
// block and an offset in it; 0 is the place of no string. The zero value is empty.
type text struct {
	blocks [][]byte
	next   int // offset in the last block
}

const (
	textBlockBits = 20
	textBlock     = 1 << textBlockBits // bytes, at least
	mostBlocks    = math.MaxUint32 >> textBlockBits
)

// add keeps b and returns its place.
func (t *text) add(b []byte) (place uint32, err error) {
	need := binary.MaxVarintLen64 + len(b)
	if last := len(t.blocks) - 1; last < 0 || t.next+need > len(t.blocks[last]) {
		if len(t.blocks) == mostBlocks {
			return 0, errFull
		}
		t.blocks = append(t.blocks, make([]byte, t.blockFor(need)))
		t.next = 0
		if last < 0 {
			t.next = 1 // place 0 is taken
		}
	}
	last := len(t.blocks) - 1
	block, begin := t.blocks[last], t.next
	end := begin + binary.PutUvarint(block[begin:], uint64(len(b)))
	t.next = end + copy(block[end:], b)
	return uint32(last)<<textBlockBits | uint32(begin), nil
}

// blockFor returns the size of the next block. The first ones are small, for there are many small
// indices. A string longer than a block gets one of its own.
func (t *text) blockFor(need int) int {
	return max(1<<min(10+2*len(t.blocks), textBlockBits), need+1)
}

// at returns the bytes at a place.
func (t *text) at(place uint32) []byte {
	block := t.blocks[place>>textBlockBits][place&(textBlock-1):]
	n, width := binary.Uvarint(block)
	end := width + int(n)
	return block[width:end:end]
}
