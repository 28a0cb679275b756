package head

import (
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Options of a Head.
type Options struct {
	// Values is the encoding of floats in the rows that are handed out.
	Values schema.Values
	// Now is the clock by which the arrival of the first point of a row is recorded.
	Now func() time.Time
	// Began, if not nil, is called for each row that begins, before the row can be read. It is
	// called with a lock held and must be quick.
	Began func(id, base uint32)
}

// A Head holds the open hours. All methods are safe for concurrent use.
type Head struct {
	o       Options
	shards  [shardCount]shard
	buffers sync.Pool // of *RowBuffer
}

// New makes an empty head.
func New(o Options) *Head {
	h := &Head{o: o}
	for n := range h.shards {
		h.shards[n].began = o.Began
	}
	return h
}

// Holds reports whether the head has anything in the hour of a series that begins at base
// (seconds).
func (h *Head) Holds(id, base uint32) bool {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.chain(id) {
		if r.base == base {
			return true
		}
	}
	return false
}

// OldestMark returns the smallest mark of the rows in the head, sealed ones included; ok is false
// when there is none.
func (h *Head) OldestMark() (mark uint64, ok bool) {
	h.sweep(func(_ *shard, r *openRow) {
		if !ok || r.mark < mark {
			mark, ok = r.mark, true
		}
	})
	return mark, ok
}

// Stats are figures of a head.
type Stats struct {
	Bytes       int64 // in use by rows and their content: what a budget bounds
	SealedBytes int64 // of Bytes, those of rows that are handed out
	// taken from the runtime: Bytes, free blocks, and the 4 bytes a series of the directory
	Held   int64
	Rows   int64
	Sealed int64 // of Rows, those handed out
}

// Stats counts. It costs a lock for each shard, not a look at each row.
func (h *Head) Stats() Stats {
	var st Stats
	for n := range h.shards {
		s := &h.shards[n]
		s.mu.Lock()
		st.Bytes += s.bytes()
		st.SealedBytes += s.sealedBytes
		st.Held += s.held()
		st.Rows += int64(s.rows.used())
		st.Sealed += int64(s.sealed)
		s.mu.Unlock()
	}
	return st
}

// OldestArrival returns the time when the first point of the oldest row arrived (whole seconds),
// sealed rows included: the lag of the flush.
func (h *Head) OldestArrival() (at time.Time, ok bool) {
	var oldest uint32
	h.sweep(func(_ *shard, r *openRow) {
		if !ok || r.opened < oldest {
			oldest, ok = r.opened, true
		}
	})
	return time.Unix(int64(oldest), 0), ok
}

// sweep shows every row, under the lock of its shard. The lock is released between chunks so that
// appends need not wait for the whole sweep.
func (h *Head) sweep(see func(*shard, *openRow)) {
	for n := range h.shards {
		s := &h.shards[n]
		for at, more := uint32(0), true; more; at += slabChunk {
			s.mu.Lock()
			more = s.rows.each(at, func(_ uint32, r *openRow) {
				if r.used {
					see(s, r)
				}
			})
			s.mu.Unlock()
		}
	}
}

func (h *Head) shard(id uint32) *shard { return &h.shards[shardOf(id)] }
