package head

import (
	"iter"
	"math"
	"math/bits"
	"time"
	"unsafe"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// A Policy selects the rows that are due.
type Policy struct {
	EndedBefore int64 // rows of hours that ended before this time (milliseconds)
	// SettledBefore, when not zero, lets rows of ended hours wait whose first point arrived at or
	// after this time, in whole seconds: more of the hour may be on its way.
	SettledBefore time.Time
	OpenedBefore  time.Time // rows whose first point arrived before this time, in whole seconds
	// MarkedBefore: rows that hold records before this mark, which keep the log from being cut
	// there.
	MarkedBefore uint64
	// MaxBytes, when above 0, makes the biggest of the other rows due as well, as many as bring
	// Stats.Bytes under it once they are dropped.
	MaxBytes int64
	// Except, if not nil, returns true for rows that are not due whatever else holds: those of a
	// series in the hour that begins at base (seconds). It is called with a lock held and must be
	// quick.
	Except func(id, base uint32) bool
	// Rows and Points bound what is handed out at once; 0: 1024 rows, a million points. A single
	// row may have more points.
	Rows, Points int
	// Coded asks for rows that are plain floats as Row.Coded.
	Coded bool
}

const (
	defaultRows   = 1024
	defaultPoints = 1 << 20
)

// Everything returns a policy by which all rows are due.
func Everything() Policy { return Policy{EndedBefore: math.MaxInt64} }

// Sealed is a batch of rows that are handed out to be put. They stay readable in the head; what
// arrives for their hours meanwhile goes to rows of its own. Rows and all they point to are valid
// until Drop or Keep.
type Sealed struct {
	Rows []Row

	head    *Head
	handles []handle
	buffer  *RowBuffer
	coded   bool // see Policy
}

func (h *Head) newSealed(coded bool) *Sealed {
	b, _ := h.buffers.Get().(*RowBuffer)
	if b == nil {
		b = new(RowBuffer)
	}
	return &Sealed{head: h, buffer: b, coded: coded}
}

// handle is where a row lives.
type handle struct{ shard, row uint32 }

// Seal goes through the head once and hands out the rows that are due, in batches and no particular
// order. Each batch must be ended with Drop or Keep, before or after the next step of the loop, on
// any goroutine. A row of an hour that is handed out already waits for that to end, so that the
// puts of a row follow each other.
func (h *Head) Seal(p Policy) iter.Seq[*Sealed] {
	if p.Rows <= 0 {
		p.Rows = defaultRows
	}
	if p.Points <= 0 {
		p.Points = defaultPoints
	}
	return func(yield func(*Sealed) bool) {
		d := h.due(p)
		batch := h.newSealed(p.Coded)
		for n := range h.shards {
			for at, more := uint32(0), true; more; {
				at, more = h.shards[n].seal(batch, &d, uint32(n), at)
				batch.decode()
				if len(batch.Rows) < p.Rows && batch.points() < p.Points {
					continue
				}
				if !yield(batch) {
					return
				}
				batch = h.newSealed(p.Coded)
			}
		}
		if len(batch.Rows) > 0 {
			yield(batch)
		}
	}
}

// due is a policy at work.
type due struct {
	Policy
	opened   uint32
	settled  uint32
	minBytes int64 // rows of so many bytes are due for their size while
	excess   int64 // so many bytes are yet to go
}

// due measures how big a row must be to go.
func (h *Head) due(p Policy) due {
	d := due{Policy: p, opened: seconds(p.OpenedBefore, 0), settled: seconds(p.SettledBefore, math.MaxUint32)}
	if p.MaxBytes <= 0 {
		return d
	}
	st := h.Stats()
	excess := st.Bytes - st.SealedBytes - p.MaxBytes
	if excess <= 0 {
		return d
	}
	var sizes [65]int64 // bytes of the rows whose size has as many bits
	h.sweep(func(s *shard, r *openRow) {
		switch size := s.rowBytes(r); {
		case r.sealed || d.excepts(r):
		case d.aged(r):
			excess -= size
		default:
			sizes[bits.Len64(uint64(size))] += size
		}
	})
	d.excess = excess
	for n := len(sizes) - 1; n > 0 && excess > 0; n-- {
		excess -= sizes[n]
		d.minBytes = 1 << (n - 1)
	}
	return d
}

// seconds are those of a time that is not zero.
func seconds(at time.Time, zero uint32) uint32 {
	if at.IsZero() {
		return zero
	}
	return uint32(max(at.Unix(), 0))
}

func (d *due) aged(r *openRow) bool {
	return r.begin()+hour < d.EndedBefore && r.opened < d.settled || r.opened < d.opened || r.mark < d.MarkedBefore
}

func (d *due) excepts(r *openRow) bool { return d.Except != nil && d.Except(r.id, r.base) }

// takes reports whether a row is to go.
func (d *due) takes(s *shard, r *openRow) bool {
	if !r.used || r.sealed || d.excepts(r) {
		return false
	}
	if !d.aged(r) {
		size := s.rowBytes(r)
		if d.excess <= 0 || size < d.minBytes {
			return false
		}
		d.excess -= size
	}
	return true
}

// sealAtOnce bounds the rows that are copied under one lock.
const sealAtOnce = 64

// seal copies the rows from a number on that are due into a batch, a few at a time; next is where
// to go on.
func (s *shard) seal(b *Sealed, d *due, shard, from uint32) (next uint32, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	left, points := min(sealAtOnce, d.Rows-len(b.Rows)), d.Points-b.points()
	n := max(from, 1)
	for ; n < s.rows.next && n < from+slabChunk && left > 0 && points > 0; n++ {
		r := s.rows.at(n)
		if !d.takes(s, r) {
			continue
		}
		if duplicate, _ := s.duplicate(n, r); duplicate != 0 {
			continue // it is handed out
		}
		r.sealed = true
		s.sealed++
		s.sealedBytes += s.rowBytes(r)
		b.buffer.view.add(s, r)
		b.handles = append(b.handles, handle{shard, n})
		b.Rows = append(b.Rows, Row{ID: r.id, Base: r.base})
		left--
		points -= int(r.count)
	}
	return n, n < s.rows.next
}

// decode fills the rows that were copied.
func (b *Sealed) decode() {
	v := &b.buffer.view
	first := len(b.Rows) - len(v.rows)
	for i := range v.rows {
		r := &b.Rows[first+i]
		*r = b.buffer.row(r.ID, r.Base, v.rows[i:i+1], b.head.o.Values, b.coded)
	}
	v.rows = v.rows[:0]
}

// points counts what the batch holds; coded rows count by their memory.
func (b *Sealed) points() int {
	return len(b.buffer.points) + len(b.buffer.objects) + len(b.buffer.coded)/int(unsafe.Sizeof(schema.Point{}))
}

// Drop removes the rows: the table has them.
func (b *Sealed) Drop() {
	b.end(func(s *shard, n uint32, _ *openRow) { s.drop(n) })
}

// Keep takes the rows back: they could not be put. They are due again at the next Seal, with what
// arrived meanwhile.
func (b *Sealed) Keep() {
	b.end(func(s *shard, n uint32, r *openRow) {
		if m, newer := s.duplicate(n, r); newer != nil {
			s.fold(r, newer)
			s.drop(m)
		}
	})
}

// end ends the batch, row by row; a second end does nothing.
func (b *Sealed) end(each func(*shard, uint32, *openRow)) {
	for _, at := range b.handles {
		s := &b.head.shards[at.shard]
		s.mu.Lock()
		r := s.rows.at(at.row)
		r.sealed = false
		s.sealed--
		s.sealedBytes -= s.rowBytes(r)
		each(s, at.row, r)
		s.mu.Unlock()
	}
	if b.buffer != nil {
		b.buffer.Reset()
		b.head.buffers.Put(b.buffer)
	}
	b.handles, b.Rows, b.buffer = nil, nil, nil
}

// fold adds what a newer row of the hour holds to a row.
func (s *shard) fold(r, newer *openRow) {
	r.mark = min(r.mark, newer.mark)
	r.opened = min(r.opened, newer.opened)
	var v view // not the shard's: adding may put r in order
	v.add(s, newer)
	v.load(v.rows[0])
	for _, entries := range [][]entry{v.stream, v.side} {
		for _, e := range entries {
			s.add(r, e)
		}
	}
}
