package head

import (
	"iter"
	"time"
)

// Methods of the head that only tests need.

// DefaultOptions returns the options of a head on the clock of the machine.
func DefaultOptions() Options { return Options{Now: time.Now} }

// Row reads an hour of a series; it is empty when the head has nothing of it. The row is valid
// until the buffer's Reset.
func (h *Head) Row(id, base uint32, b *RowBuffer) Row {
	b.view.rows = b.view.rows[:0]
	h.copyRows(id, &b.view, func(r *openRow) bool { return r.base == base })
	b.view.sort()
	return b.row(id, base, b.view.rows, h.o.Values, false)
}

// HoldsBetween reports whether the head has rows of a series that overlap start to end
// (milliseconds, inclusive).
func (h *Head) HoldsBetween(id uint32, start, end int64) bool {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.chain(id) {
		if r.overlaps(start, end) {
			return true
		}
	}
	return false
}

// Series lists the series that have anything in the head, in no particular order. Series that come
// or go meanwhile may be missing.
func (h *Head) Series() iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		var ids []uint32
		for n := range h.shards {
			s := &h.shards[n]
			for page := 0; ; page++ {
				var more bool
				if ids, more = s.series(ids[:0], n, page); !more {
					break
				}
				for _, id := range ids {
					if !yield(id) {
						return
					}
				}
			}
		}
	}
}

// series appends the series of a page that have rows; more is false after the last page.
func (s *shard) series(ids []uint32, shard, page int) (_ []uint32, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if page >= len(s.pages) {
		return ids, false
	}
	if s.pages[page] != nil {
		for i, n := range s.pages[page] {
			if n != 0 {
				ids = append(ids, uint32((page*shardCount+shard)*pageSize+i))
			}
		}
	}
	return ids, true
}
