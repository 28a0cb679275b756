package read

import (
	"cmp"
	"encoding/binary"
	"errors"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// A shelf holds packed rows of series that are neighbours in a query, and what the head had of them
// before the rows were read. It is safe for concurrent use.
type shelf struct {
	from int // index of its first series in the query

	mu     sync.Mutex // guards all below
	last   []int32    // by series: 1 + the index of its last row in rows; 0: none
	rows   []heldRow
	chunks [][]byte // of packed cells
	head   head.Snapshot
	taken  []head.Taken // by series, if the store has a head
	bytes  int64        // of all of these
	gone   bool
}

// heldRow is a row of a series.
type heldRow struct {
	base     uint32
	before   int32 // 1 + the index of the row of the same series that came before; 0: none
	chunk    int32
	from, to int32 // of its cells in the chunk
}

const (
	heldRowBytes = 20
	firstChunk   = 2 << 10
	largestChunk = 1 << 20
)

// add keeps a row of its i-th series and returns how many bytes the shelf has grown by. A shelf
// that is gone keeps nothing.
func (s *shelf) add(i int, base uint32, packed []byte) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gone {
		return 0
	}
	before, capacity := s.bytes, cap(s.rows)
	n := len(s.chunks) - 1
	if n < 0 || cap(s.chunks[n])-len(s.chunks[n]) < len(packed) {
		size := firstChunk
		if n >= 0 {
			size = min(2*cap(s.chunks[n]), largestChunk)
		}
		size = max(size, len(packed))
		s.chunks = append(s.chunks, make([]byte, 0, size))
		s.bytes += int64(size)
		n++
	}
	at := len(s.chunks[n])
	s.chunks[n] = append(s.chunks[n], packed...)
	s.rows = append(s.rows, heldRow{base, s.last[i], int32(n), int32(at), int32(len(s.chunks[n]))})
	s.last[i] = int32(len(s.rows))
	s.bytes += int64(cap(s.rows)-capacity) * heldRowBytes
	return s.bytes - before
}

// drop forgets everything and returns how many bytes that was.
func (s *shelf) drop() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.bytes
	s.gone, s.bytes = true, 0
	s.last, s.rows, s.chunks, s.taken = nil, nil, nil, nil
	s.head = head.Snapshot{}
	return n
}

// rowsOf appends the rows of its i-th series in order of time. Nothing is added any more.
func (s *shelf) rowsOf(i int, dst []heldRow) []heldRow {
	for at := s.last[i]; at > 0; at = s.rows[at-1].before {
		dst = append(dst, s.rows[at-1])
	}
	slices.SortFunc(dst, func(a, b heldRow) int { return cmp.Compare(a.base, b.base) })
	return dst
}

// cells returns the packed cells of a row.
func (s *shelf) cells(r heldRow) []byte { return s.chunks[r.chunk][r.from:r.to] }

// appendPacked appends cells in little memory: the lengths of qualifier and value, the time after
// that of the cell before, qualifier and value. Cells of one sample take 14 bytes and more.
func appendPacked(dst []byte, cells []kv.StoredCell) []byte {
	time := int64(0)
	for i := range cells {
		c := &cells[i]
		dst = binary.AppendUvarint(dst, uint64(len(c.Qualifier)))
		dst = binary.AppendUvarint(dst, uint64(len(c.Value)))
		dst = binary.AppendVarint(dst, c.Time-time)
		dst = append(append(dst, c.Qualifier...), c.Value...)
		time = c.Time
	}
	return dst
}

var errPacked = errors.New("a packed row is malformed")

// parsePacked appends what appendPacked packed, in its memory.
func parsePacked(dst []kv.StoredCell, b []byte) ([]kv.StoredCell, error) {
	time := int64(0)
	for len(b) > 0 {
		q, n := binary.Uvarint(b)
		v, m := binary.Uvarint(b[max(n, 0):])
		if n <= 0 || m <= 0 {
			return dst, errPacked
		}
		b = b[n+m:]
		later, k := binary.Varint(b)
		if k <= 0 || q > uint64(len(b)-k) || v > uint64(len(b)-k)-q {
			return dst, errPacked
		}
		b, time = b[k:], time+later
		dst = append(dst, kv.StoredCell{Qualifier: b[:q:q], Value: b[q : q+v : q+v], Time: time})
		b = b[q+v:]
	}
	return dst, nil
}
