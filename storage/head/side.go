package head

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Kinds of entries in addition to those of schema, which are small numbers.
const (
	kindFloat   storage.Kind = 0xF0
	kindInteger storage.Kind = 0xF1
	kindDouble  storage.Kind = 0xF2 // a float of storage.FormDouble that would fit 4 bytes
)

// side holds what does not fit the stream of a row, in order of arrival: samples that are not later
// than all others of the row, and objects. An entry is newer than what the stream has at its
// instant.
type side struct {
	chain chain
	count uint32 // entries
	limit uint32 // of entries; beyond it the row is put in order
}

const (
	rowSize  = int64(unsafe.Sizeof(openRow{}))
	sideSize = int64(unsafe.Sizeof(side{}))

	// firstLimit is the limit of a new side: so many late points are cheaper to sort at every read
	// than to avoid.
	firstLimit = 64

	// minEntry is the size of the smallest entry in bytes: offset, kind and a length.
	minEntry = 4 + 1 + 1
)

// kindOf returns the kind of a float.
func kindOf(v float64, double bool) storage.Kind {
	if double && schema.FitsFloat4(v) {
		return kindDouble
	}
	return kindFloat
}

// entry is a point or an object on its own.
type entry struct {
	offset uint32
	kind   storage.Kind
	bits   uint64 // of a point
	data   []byte // of an object
}

func (e entry) isPoint() bool { return e.kind >= kindFloat && e.kind <= kindDouble }

// rowKind returns the kind of the entry in a row of the table.
func (e entry) rowKind() storage.Kind {
	switch {
	case e.kind == kindFloat:
		return row.KindOf(math.Float64frombits(e.bits))
	case e.isPoint():
		return row.Number
	default:
		return e.kind
	}
}

// addLate adds a point that is not later than all others. A point that the row holds already is
// left out.
func (s *shard) addLate(r *openRow, offset uint32, kind storage.Kind, bits uint64) {
	if r.side == 0 && r.count > 0 && offset == r.last && kind == kindOf(math.Float64frombits(r.bits), r.double) && bits == r.bits && r.scale != integerScale && r.mode != modeNone {
		return // a batch that was sent twice, or by two senders
	}
	s.addEntry(r, entry{offset: offset, kind: kind, bits: bits})
}

// addObject adds an object; the data are copied.
func (s *shard) addObject(r *openRow, offset uint32, kind storage.Kind, data []byte) {
	if kind == storage.KindFloat && len(data) == 8 {
		s.addFloat(r, offset, math.Float64frombits(binary.BigEndian.Uint64(data)), r.double)
		return
	}
	s.addEntry(r, entry{offset: offset, kind: kind, data: data})
}

func (s *shard) addEntry(r *openRow, e entry) {
	if r.side == 0 {
		n, sd := s.sides.take()
		r.side, sd.limit = n, firstLimit
	}
	sd := s.sides.at(r.side)
	s.entry = e.appendTo(s.entry[:0])
	sd.chain.write(&s.blocks, s.entry)
	sd.count++
	r.floor = max(r.floor, int32(e.offset))
	if sd.count > sd.limit {
		s.reorder(r)
	}
}

// reorder moves the points of the side into the stream and drops what was replaced. The limit grows
// with what remains, so that a point is moved a few times at most however many arrive late.
func (s *shard) reorder(r *openRow) {
	s.view.reset()
	s.view.add(s, r)
	s.refill(r, s.view.settled(s.view.rows))
}

// refill gives a row other entries, in order and with one sample an instant.
func (s *shard) refill(r *openRow, entries []entry) {
	s.clear(r)
	for _, e := range entries {
		if e.isPoint() {
			s.add(r, e)
		}
	}
	left := 0
	for _, e := range entries {
		if !e.isPoint() {
			left++
			s.addUnlimited(r, e)
		}
	}
	if left > 0 {
		s.sides.at(r.side).limit = firstLimit + 2*uint32(left) + r.count
	}
}

// add adds an entry as if it had arrived now.
func (s *shard) add(r *openRow, e entry) {
	switch e.kind {
	case kindInteger:
		s.addInteger(r, e.offset, int64(e.bits))
	case kindFloat, kindDouble:
		v := math.Float64frombits(e.bits)
		// where it makes no difference, as before
		s.addFloat(r, e.offset, v, e.kind == kindDouble || r.double && !schema.FitsFloat4(v))
	default:
		s.addObject(r, e.offset, e.kind, e.data)
	}
}

func (s *shard) addUnlimited(r *openRow, e entry) {
	if r.side == 0 {
		r.side, _ = s.sides.take()
	}
	s.sides.at(r.side).limit = math.MaxUint32
	s.addEntry(r, e)
}

// appendTo appends the bytes of an entry: offset, kind, then 8 bytes or the length and the data.
func (e entry) appendTo(dst []byte) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, e.offset)
	dst = append(dst, byte(e.kind))
	if e.isPoint() {
		return binary.LittleEndian.AppendUint64(dst, e.bits)
	}
	dst = binary.AppendUvarint(dst, uint64(len(e.data)))
	return append(dst, e.data...)
}

// appendEntries appends the entries that b holds; their data point into b.
func appendEntries(dst []entry, b []byte) []entry {
	for len(b) > 0 {
		e := entry{offset: binary.LittleEndian.Uint32(b), kind: storage.Kind(b[4])}
		b = b[5:]
		if e.isPoint() {
			e.bits = binary.LittleEndian.Uint64(b)
			b = b[8:]
		} else {
			size, n := binary.Uvarint(b)
			end := n + int(size)
			e.data = b[n:end:end]
			b = b[end:]
		}
		dst = append(dst, e)
	}
	return dst
}
