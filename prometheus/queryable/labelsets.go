package queryable

import (
	"math/bits"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// labelSets collects label sets without duplicates. The engine refuses a vector with two of one
// label set.
type labelSets struct {
	list  []labelSet
	slots []labelSlot // open addressing, at most half full; a power of two of them
}

// labelSlot is the place of a label set by its hash.
type labelSlot struct {
	hash uint64
	next uint32 // index in the list + 1; 0: the slot is free
}

func newLabelSets(n int) *labelSets {
	return &labelSets{list: make([]labelSet, 0, n), slots: make([]labelSlot, slotsFor(n))}
}

func slotsFor(n int) int { return 1 << bits.Len(uint(2*n|7)) }

// add adds a series that shows a label set.
func (s *labelSets) add(ls labels.Labels, ref storage.Ref) { s.addHashed(ls.Hash(), ls, ref) }

// addHashed is add with the hash of the labels. It compares the labels themselves when two hashes
// are equal. A series that is there already is not added again.
func (s *labelSets) addHashed(hash uint64, ls labels.Labels, ref storage.Ref) {
	if 2*len(s.list) >= len(s.slots) {
		s.grow()
	}
	for at := hash; ; at++ {
		slot := &s.slots[at&uint64(len(s.slots)-1)]
		if slot.next == 0 {
			s.list = append(s.list, labelSet{labels: ls, ref: ref})
			*slot = labelSlot{hash, uint32(len(s.list))}
			return
		}
		if set := &s.list[slot.next-1]; slot.hash == hash && labels.Equal(set.labels, ls) {
			if set.ref == ref || slices.Contains(set.more, ref) {
				return
			}
			set.more = append(slices.Clip(set.more), ref) // others may hold the list
			return
		}
	}
}

// grow doubles the slots.
func (s *labelSets) grow() {
	old := s.slots
	s.slots = make([]labelSlot, 2*len(old))
	mask := uint64(len(s.slots) - 1)
	for _, slot := range old {
		if slot.next == 0 {
			continue
		}
		at := slot.hash
		for s.slots[at&mask].next != 0 {
			at++
		}
		s.slots[at&mask] = slot
	}
}

// addAll adds all series of a label set.
func (s *labelSets) addAll(set labelSet) {
	s.add(set.labels, set.ref)
	for _, ref := range set.more {
		s.add(set.labels, ref)
	}
}
