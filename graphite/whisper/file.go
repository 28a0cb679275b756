package whisper

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// A File is a whisper file in memory.
type File struct {
	Header
	data    []byte
	offsets []int
}

// Parse reads a file. It keeps data. Errors are an ErrDamaged.
func Parse(data []byte) (*File, error) {
	h, offsets, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	return &File{Header: h, data: data, offsets: offsets}, nil
}

// Points are those of one archive: ascending times (epoch seconds, multiples of the step), and their
// values.
type Points struct {
	Times  []int64
	Values []float64
	// Misplaced is how many slots hold a time that does not belong there: whisper does not read them.
	Misplaced int
}

// Points returns the points of an archive, by its place in the header. They are what whisper would read
// of it: older ones than it reaches back, too, that nothing has overwritten yet. NaN is no point.
func (f *File) Points(level int) (p Points) {
	slots, step := f.slots(level), uint32(f.Archives[level].Step)
	first := binary.BigEndian.Uint32(slots)
	newest, newestAt := uint32(0), 0
	for i := range len(slots) / slotBytes {
		if t := binary.BigEndian.Uint32(slots[i*slotBytes:]); t > newest {
			newest, newestAt = t, i
		}
	}
	if newest == 0 {
		return p
	}
	// In a ring that has no gaps the oldest slot follows the newest.
	cut := (newestAt + 1) * slotBytes
	p.Times, p.Values = make([]int64, 0, len(slots)/slotBytes), make([]float64, 0, len(slots)/slotBytes)
	p.take(slots[cut:], newestAt+1, first, step, len(slots)/slotBytes)
	p.take(slots[:cut], 0, first, step, len(slots)/slotBytes)
	p.sort()
	return p
}

// slots returns the bytes of an archive.
func (f *File) slots(level int) []byte {
	at := f.offsets[level]
	return f.data[at : at+int(f.Archives[level].Points)*slotBytes]
}

// take adds the points of some slots, of which the first is number at of n.
func (p *Points) take(slots []byte, at int, first, step uint32, n int) {
	for ; len(slots) >= slotBytes; slots, at = slots[slotBytes:], at+1 {
		t := binary.BigEndian.Uint32(slots)
		if t == 0 {
			continue
		}
		if first == 0 || t%step != 0 || first%step != 0 || ringPlace(t, first, step, n) != at {
			p.Misplaced++
			continue
		}
		if v := math.Float64frombits(binary.BigEndian.Uint64(slots[4:])); !math.IsNaN(v) {
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

// sort sorts the points by time, unless they are: those that are left of an earlier turn of the ring
// stand among later ones.
func (p *Points) sort() {
	if slices.IsSorted(p.Times) {
		return
	}
	order := make([]int, len(p.Times))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return int(p.Times[a] - p.Times[b]) })
	times, values := make([]int64, len(order)), make([]float64, len(order))
	for to, from := range order {
		times[to], values[to] = p.Times[from], p.Values[from]
	}
	p.Times, p.Values = times, values
}

// Encode returns a file. Of the points of each archive, whose times are multiples of its step and ascend, the
// latest of each slot stays.
func Encode(h Header, archives []Points) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	size := h.size()
	switch {
	case size > MaxBytes:
		return nil, fmt.Errorf("a whisper file of %d bytes; at most %d are written", size, MaxBytes)
	case len(archives) > len(h.Archives):
		return nil, fmt.Errorf("points of %d archives for %d", len(archives), len(h.Archives))
	}
	data := make([]byte, size)
	binary.BigEndian.PutUint32(data, uint32(slices.Index(methods, h.Method)+1))
	binary.BigEndian.PutUint32(data[4:], uint32(h.Archives[len(h.Archives)-1].Retention()))
	binary.BigEndian.PutUint32(data[8:], math.Float32bits(float32(h.XFF)))
	binary.BigEndian.PutUint32(data[12:], uint32(len(h.Archives)))
	offset := headerBytes + len(h.Archives)*archiveBytes
	for i, a := range h.Archives {
		info := data[headerBytes+i*archiveBytes:]
		binary.BigEndian.PutUint32(info, uint32(offset))
		binary.BigEndian.PutUint32(info[4:], uint32(a.Step))
		binary.BigEndian.PutUint32(info[8:], uint32(a.Points))
		end := offset + int(a.Points)*slotBytes
		if i < len(archives) {
			if err := putPoints(data[offset:end], uint32(a.Step), &archives[i]); err != nil {
				return nil, fmt.Errorf("archive of %d s: %w", a.Step, err)
			}
		}
		offset = end
	}
	return data, nil
}

// putPoints fills the slots of an archive.
func putPoints(slots []byte, step uint32, p *Points) error {
	n := len(slots) / slotBytes
	first, begun := uint32(0), false
	for i, t := range p.Times {
		switch {
		case t < int64(step) || t > math.MaxUint32 || t%int64(step) != 0:
			return fmt.Errorf("no slot has the time %d", t)
		case i > 0 && t <= p.Times[i-1]:
			return fmt.Errorf("the time %d follows %d", t, p.Times[i-1])
		case math.IsNaN(p.Values[i]):
			continue
		case !begun:
			first, begun = uint32(t), true
		}
		slot := slots[ringPlace(uint32(t), first, step, n)*slotBytes:]
		binary.BigEndian.PutUint32(slot, uint32(t))
		binary.BigEndian.PutUint64(slot[4:], math.Float64bits(p.Values[i]))
	}
	return nil
}
