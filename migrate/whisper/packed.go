package whisper

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"math"
	"slices"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// A packed is an archive of a compressed file: blocks, each a run of points, and a buffer of points that are in no block
// yet. The buffer holds all points of a few slots of the next coarser archive. These slots are made when the buffer
// gives its points to a block, so until then no archive has them.
type packed struct {
	data        []byte // of the file
	step, slots int64
	offset      int    // of the first block
	size        int    // of a block
	ranges      []byte // of the blocks
	// current is the block that is being written. Its checksum is that of its first written bytes.
	current, written int
	buffer           []byte
	unit             int // slots in the buffer of one slot of the next archive

	finer     *packed          // nil: it is the finest
	aggregate conf.Aggregation // of any number of finer slots
	xff       float32
}

// points implements archive. Blocks may hold any number of points that the archive does not reach back to: of
// these some are left out.
func (a *packed) points() (p Points) {
	for _, b := range a.sorted() {
		one, ok := a.block(b)
		if !ok {
			p.LeftOut++
			continue
		}
		if p.add(one); len(p.Times) > 4*int(a.slots) {
			p.sort()
			p.newest(2 * int(a.slots))
		}
	}
	pending := a.pending()
	p.add(pending)
	p.LeftOut += pending.LeftOut
	p.sort()
	return p
}

// add appends other points.
func (p *Points) add(other Points) {
	p.Times, p.Values = append(p.Times, other.Times...), append(p.Values, other.Values...)
}

// newest leaves the last n points.
func (p *Points) newest(n int) {
	if more := len(p.Times) - n; more > 0 {
		p.Times, p.Values = slices.Delete(p.Times, 0, more), slices.Delete(p.Values, 0, more)
	}
}

// A blockRange is what a file tells of a block.
type blockRange struct {
	index      int
	start, end int64 // times of the first and of the last point
	sum        uint32
}

const rangeBytes = 16

// endMark ends the points of a block. Where it is taken for a time nothing was written: making a file with an empty block larger,
// go-whisper copies the mark at its beginning as a point.
const endMark = 0xF0000000

// sorted returns the blocks that have points, the oldest first.
func (a *packed) sorted() (blocks []blockRange) {
	for i := range len(a.ranges) / rangeBytes {
		at := a.ranges[i*rangeBytes:]
		b := blockRange{i, int64(binary.BigEndian.Uint32(at)), int64(binary.BigEndian.Uint32(at[4:])), binary.BigEndian.Uint32(at[12:])}
		if b.start > 0 && b.start != endMark {
			blocks = append(blocks, b)
		}
	}
	slices.SortStableFunc(blocks, func(a, b blockRange) int { return cmp.Compare(a.start, b.start) })
	return blocks
}

// block returns the points of a block, unless it is damaged.
func (a *packed) block(b blockRange) (p Points, ok bool) {
	from := a.offset + b.index*a.size
	data := a.data[from : from+a.size]
	whole := a.size
	if b.index == a.current {
		whole = a.written
	}
	if crc32.ChecksumIEEE(data[:whole]) != b.sum {
		return p, false
	}
	reader := blockReader{bits: bitReader{data: data[slotBytes:]}, step: a.step}
	reader.time, reader.value = int64(binary.BigEndian.Uint32(data)), binary.BigEndian.Uint64(data[4:])
	if reader.time != b.start || b.start%a.step != 0 || b.end < b.start || b.end%a.step != 0 {
		return p, false
	}
	reader.last, reader.lastValue = reader.time, reader.value
	for {
		if n := len(p.Times); n > 0 && p.Times[n-1] == reader.time { // older versions write a time twice
			p.Times, p.Values = p.Times[:n-1], p.Values[:n-1]
		}
		if v := math.Float64frombits(reader.value); !math.IsNaN(v) {
			p.Times, p.Values = append(p.Times, reader.time), append(p.Values, v)
		}
		if len(p.Times) > 4*int(a.slots) {
			p.newest(2 * int(a.slots))
		}
		before := reader.time
		switch more, ok := reader.next(); {
		case !ok || more && reader.time < before:
			return Points{}, false
		case !more || reader.time > b.end: // what follows are bits that nothing was written to
			return p, before == b.end
		}
	}
}

// pending returns the points that are in no block yet: those in the buffer, and those of the slots that the points in
// the buffer of the finer archive make.
func (a *packed) pending() (p Points) {
	for i := range len(a.buffer) / slotBytes {
		slot := a.buffer[i*slotBytes:]
		t := int64(binary.BigEndian.Uint32(slot))
		switch v := math.Float64frombits(binary.BigEndian.Uint64(slot[4:])); {
		case t == 0 || math.IsNaN(v):
		case t%a.step != 0 || int(t/a.step)%a.unit != i%a.unit:
			p.LeftOut++
		default:
			p.Times, p.Values = append(p.Times, t), append(p.Values, v)
		}
	}
	if a.finer != nil {
		p.add(a.made(a.finer.pending()))
	}
	p.sort()
	return p
}

// made returns the slots that points of the finer archive make.
func (a *packed) made(finer Points) (p Points) {
	for i := 0; i < len(finer.Times); {
		slot := finer.Times[i] / a.step * a.step
		end := i
		for end < len(finer.Times) && finer.Times[end] < slot+a.step {
			end++
		}
		// go-whisper compares floats of 32 bits, whisper does not.
		n := int(a.step / a.finer.step)
		if float32(end-i)/float32(n) >= a.xff {
			if v, ok := a.aggregate.Slot(finer.Values[i:end], n); ok && !math.IsNaN(v) {
				p.Times, p.Values = append(p.Times, slot), append(p.Values, v)
			}
		}
		i = end
	}
	return p
}
