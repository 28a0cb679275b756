package whisper

import (
	"encoding/binary"
	"math"
)

// A ring is an archive of a file that is not compressed.
type ring struct {
	slots []byte
	step  uint32
}

// points are what whisper would read of the archive: older ones than it reaches back, too, that nothing has
// overwritten yet. NaN is no point.
func (r *ring) points() (p Points) {
	first := binary.BigEndian.Uint32(r.slots)
	newest, newestAt := uint32(0), 0
	for i := range len(r.slots) / slotBytes {
		if t := binary.BigEndian.Uint32(r.slots[i*slotBytes:]); t > newest {
			newest, newestAt = t, i
		}
	}
	if newest == 0 {
		return p
	}
	// In a ring that has no gaps the oldest slot follows the newest.
	n := len(r.slots) / slotBytes
	p.Times, p.Values = make([]int64, 0, n), make([]float64, 0, n)
	r.take(&p, newestAt+1, n, first)
	r.take(&p, 0, newestAt+1, first)
	p.sort()
	return p
}

// take adds the points of the slots from one up to another.
func (r *ring) take(p *Points, from, to int, first uint32) {
	for i := from; i < to; i++ {
		slot := r.slots[i*slotBytes:]
		t := binary.BigEndian.Uint32(slot)
		if t == 0 {
			continue
		}
		if first == 0 || t%r.step != 0 || first%r.step != 0 || ringPlace(t, first, r.step, len(r.slots)/slotBytes) != i {
			p.LeftOut++
			continue
		}
		if v := math.Float64frombits(binary.BigEndian.Uint64(slot[4:])); !math.IsNaN(v) {
			p.Times, p.Values = append(p.Times, int64(t)), append(p.Values, v)
		}
	}
}

// ringPlace returns the slot of a time.
func ringPlace(t, first, step uint32, n int) int {
	at := (int64(t) - int64(first)) / int64(step) % int64(n)
	if at < 0 {
		at += int64(n)
	}
	return int(at)
}
