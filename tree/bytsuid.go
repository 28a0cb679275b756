package tree

import (
	"bytes"
	"hash/maphash"
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
func (x *Index) indexTSUIDs() {
	for !x.indexSomeTSUIDs() {
	}
}

func (x *Index) indexSomeTSUIDs() (done bool) {
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
func (x *Index) noteTSUID(id uint32) {
	t := x.byTSUID
	if t == nil || t.next < int(id) {
		return
	}
	t.next = max(t.next, int(id)+1)
	x.addTSUID(id)
}

// addTSUID adds an entry if it is a leaf. The caller holds mu.
func (x *Index) addTSUID(id uint32) {
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
func (x *Index) growTSUIDs() {
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
func (x *Index) eachOfTSUID(tsuid []byte, visit func(id uint32)) {
	t := x.byTSUID
	mask := uint64(len(t.slots) - 1)
	for at := maphash.Bytes(t.seed, tsuid) & mask; t.slots[at] != 0; at = (at + 1) & mask {
		id := t.slots[at] - 1
		if e := x.entries[id]; e.tsuid != 0 && bytes.Equal(x.at(e.tsuid), tsuid) {
			visit(id)
		}
	}
}
