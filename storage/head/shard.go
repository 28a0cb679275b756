package head

import (
	"fmt"
	"iter"
	"math"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

const (
	// shardCount is the number of locks. Senders repeat their series in one order and series that
	// came together have neighbouring numbers, so a batch crosses a shard border once in pageSize
	// points and takes as many locks.
	shardCount = 64
	pageSize   = 256
)

func shardOf(id uint32) uint32 { return id / pageSize % shardCount }
func pageOf(id uint32) int     { return int(id / (pageSize * shardCount)) }

// shard is the part of a head that one lock guards.
type shard struct {
	began func(id, base uint32) // Options.Began

	mu     sync.Mutex          // guards all below
	pages  []*[pageSize]uint32 // the first row of each series
	rows   slab[openRow]
	sides  slab[side]
	blocks slab[block]

	sealed      int   // rows that are handed out
	sealedBytes int64 // their memory

	view  view   // scratch of reorder
	entry []byte // scratch of addEntry

	_ [64]byte // neighbours' locks stay out of each other's cache line
}

// chain lists the rows of a series.
func (s *shard) chain(id uint32) iter.Seq2[uint32, *openRow] {
	return func(yield func(uint32, *openRow) bool) {
		if page := pageOf(id); page < len(s.pages) && s.pages[page] != nil {
			for n := s.pages[page][id%pageSize]; n != 0; {
				r := s.rows.at(n)
				if !yield(n, r) {
					return
				}
				n = r.next
			}
		}
	}
}

// page has the first rows of a series and its neighbours.
func (s *shard) page(id uint32) *[pageSize]uint32 {
	page := pageOf(id)
	if page >= len(s.pages) {
		s.pages = append(s.pages, make([]*[pageSize]uint32, page+1-len(s.pages))...)
	}
	if s.pages[page] == nil {
		s.pages[page] = new([pageSize]uint32)
	}
	return s.pages[page]
}

// find returns the open row that takes a time. It makes the row the first of its series, since the
// next point will look for it again, and begins one when there is none.
func (s *shard) find(id uint32, time int64, opened uint32) *openRow {
	slot := &s.page(id)[id%pageSize]
	for at := slot; *at != 0; {
		n := *at
		r := s.rows.at(n)
		if !r.sealed && uint64(time-r.begin()) < hour {
			*at, r.next, *slot = r.next, *slot, n
			return r
		}
		at = &r.next
	}
	if time < 0 || time/1000 > math.MaxUint32 {
		panic(fmt.Sprintf("head: time %d ms of series %d is outside the row keys", time, id))
	}
	n, r := s.rows.take()
	r.id, r.base, r.next, r.floor = id, schema.Base(time), *slot, -1
	r.opened, r.mark, r.used = opened, math.MaxUint64, true
	*slot = n
	if s.began != nil {
		s.began(id, r.base)
	}
	return r
}

// drop removes a row.
func (s *shard) drop(n uint32) {
	r := s.rows.at(n)
	at := &s.page(r.id)[r.id%pageSize]
	for *at != n {
		at = &s.rows.at(*at).next
	}
	*at = r.next
	s.clear(r)
	*r = openRow{}
	s.rows.give(n)
}

// duplicate returns the other row of the same series and hour; 0: none.
func (s *shard) duplicate(n uint32, r *openRow) (uint32, *openRow) {
	for m, other := range s.chain(r.id) {
		if m != n && other.base == r.base {
			return m, other
		}
	}
	return 0, nil
}

// bytes returns the memory in use by rows and their content.
func (s *shard) bytes() int64 {
	return int64(s.rows.used())*rowSize + int64(s.sides.used())*sideSize + int64(s.blocks.used())*blockSize
}

// held returns what the shard has taken from the runtime, but for its scratch memory.
func (s *shard) held() int64 {
	pages := int64(cap(s.pages)) * 8
	for _, p := range s.pages {
		if p != nil {
			pages += pageSize * 4
		}
	}
	return pages + s.rows.held() + s.sides.held() + s.blocks.held()
}
