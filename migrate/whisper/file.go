package whisper

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// A File is a whisper file in memory.
type File struct {
	Header
	archives []archive
}

// An archive is one of a file. points may be called by several at once.
type archive interface{ points() Points }

// Parse reads a file, also a compressed one. It keeps data. Errors are an ErrDamaged.
func Parse(data []byte) (*File, error) {
	if len(data) > MaxBytes {
		return nil, damaged("%d bytes; at most %d are read", len(data), MaxBytes)
	}
	if bytes.HasPrefix(data, []byte(packedMagic)) {
		return parsePacked(data)
	}
	h, offsets, err := parseHeader(data)
	if err != nil {
		return nil, err
	}
	f := &File{Header: h}
	for i, a := range h.Archives {
		f.archives = append(f.archives, &ring{data[offsets[i] : offsets[i]+int(a.Points)*slotBytes], uint32(a.Step)})
	}
	return f, nil
}

// Points are those of one archive: ascending times (epoch seconds, multiples of the step), and their
// values.
type Points struct {
	Times  []int64
	Values []float64
	// LeftOut is how many slots hold a time that does not belong there, which whisper does not read; of a
	// compressed file, how many blocks, and slots of buffers, cannot be read.
	LeftOut int
}

// Points returns the points of an archive, by its place in the header. Of coarser archives of a compressed file
// they are those, too, that are yet to be made of the finer points in its buffers.
func (f *File) Points(level int) Points { return f.archives[level].points() }

// sort sorts the points by time, unless they are. Of several points of one time the last stays.
func (p *Points) sort() {
	if ascending(p.Times) {
		return
	}
	order := make([]int, len(p.Times))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p.Times[a], p.Times[b]) })
	times, values := make([]int64, 0, len(order)), make([]float64, 0, len(order))
	for i, from := range order {
		if i+1 == len(order) || p.Times[order[i+1]] > p.Times[from] {
			times, values = append(times, p.Times[from]), append(values, p.Values[from])
		}
	}
	p.Times, p.Values = times, values
}

func ascending(times []int64) bool {
	for i := 1; i < len(times); i++ {
		if times[i] <= times[i-1] {
			return false
		}
	}
	return true
}

// Encode returns a file. Of the points of each archive, whose times are multiples of its step and ascend, the
// latest of each slot stays.
func Encode(h Header, archives []Points) ([]byte, error) {
	if err := h.check(); err != nil {
		return nil, err
	}
	size, method := h.size(), slices.Index(methods, h.Method)+1
	switch {
	case method == 0:
		return nil, fmt.Errorf("whisper has no aggregation method %q", h.Method)
	case size > MaxBytes:
		return nil, fmt.Errorf("a whisper file of %d bytes; at most %d are written", size, MaxBytes)
	case len(archives) > len(h.Archives):
		return nil, fmt.Errorf("points of %d archives for %d", len(archives), len(h.Archives))
	}
	data := make([]byte, size)
	binary.BigEndian.PutUint32(data, uint32(method))
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
