package forest

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math"
)

// A tsuidTable finds the entries of a series by its TSUID. It is an open hash table of the numbers
// of entries, of which most have one slot: about 8 bytes a leaf. Only a process that forgets series
// pays for it.
type tsuidTable struct {
	seed  maphash.Seed
	slots []uint32 // number of an entry and 1; 0 is free
	used  int
	next  int // entries before it are in the table
}

// tsuidStep is how many entries are added to the table under one hold of the lock.
const tsuidStep = 1 << 16

// indexTSUIDs makes the table unless it is there. Searches continue while it runs.
func (x *entryList) indexTSUIDs() {
	for !x.indexSomeTSUIDs() {
	}
}

func (x *entryList) indexSomeTSUIDs() (done bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.byTSUID == nil {
		x.byTSUID = &tsuidTable{seed: maphash.MakeSeed(), slots: make([]uint32, 1024)}
	}
	t := x.byTSUID
	for end := min(t.next+tsuidStep, len(x.entries)); t.next < end; t.next++ {
		x.addTSUID(uint32(t.next))
	}
	return t.next == len(x.entries)
}

// noteTSUID adds an entry that is new, or has a new TSUID, unless indexTSUIDs will come to it. The
// caller holds mu.
func (x *entryList) noteTSUID(id uint32) {
	t := x.byTSUID
	if t == nil || t.next < int(id) {
		return
	}
	t.next = max(t.next, int(id)+1)
	x.addTSUID(id)
}

// addTSUID adds an entry if it is a leaf. The caller holds mu.
func (x *entryList) addTSUID(id uint32) {
	t := x.byTSUID
	if x.entries[id].tsuid == 0 {
		return
	}
	if 4*(t.used+1) > 3*len(t.slots) {
		x.growTSUIDs()
	}
	t.put(id, x.at(x.entries[id].tsuid))
}

// growTSUIDs makes the table larger. Removed entries are not copied.
func (x *entryList) growTSUIDs() {
	t := x.byTSUID
	old := t.slots
	t.slots, t.used = make([]uint32, 2*len(old)), 0
	for _, slot := range old {
		if slot != 0 && x.entries[slot-1].tsuid != 0 {
			t.put(slot-1, x.at(x.entries[slot-1].tsuid))
		}
	}
}

// put takes a slot for an entry, once.
func (t *tsuidTable) put(id uint32, tsuid []byte) {
	mask := uint64(len(t.slots) - 1)
	for at := maphash.Bytes(t.seed, tsuid) & mask; ; at = (at + 1) & mask {
		switch t.slots[at] {
		case id + 1:
			return
		case 0:
			t.slots[at] = id + 1
			t.used++
			return
		}
	}
}

// eachOfTSUID calls visit for the leaves of a series. indexTSUIDs has been called; the caller holds
// mu.
func (x *entryList) eachOfTSUID(tsuid []byte, visit func(id uint32)) {
	t := x.byTSUID
	mask := uint64(len(t.slots) - 1)
	for at := maphash.Bytes(t.seed, tsuid) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		id := t.slots[at] - 1
		if e := x.entries[id]; e.tsuid != 0 && bytes.Equal(x.at(e.tsuid), tsuid) {
			visit(id)
		}
	}
}

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
