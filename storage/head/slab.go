package head

import "unsafe"

// slabChunk is the number of items that a slab takes from the runtime at once.
const slabChunk = 256

// slab holds items that refer to each other by number, in chunks that never move. Items without
// pointers cost the garbage collector nothing, and neither growth nor reuse copies or wastes more
// than a chunk. Number 0 is never given out: it means none.
type slab[T any] struct {
	chunks []*[slabChunk]T
	next   uint32   // the first number that was never given out; 0 while the slab is empty
	free   []uint32 // numbers given back
}

// at returns the item of a number; the pointer is valid until the number is given back.
func (s *slab[T]) at(n uint32) *T { return &s.chunks[n/slabChunk][n%slabChunk] }

// take gives out an item, zeroed.
func (s *slab[T]) take() (uint32, *T) {
	if n := len(s.free); n > 0 {
		i := s.free[n-1]
		s.free = s.free[:n-1]
		item := s.at(i)
		var zero T
		*item = zero
		return i, item
	}
	s.next = max(s.next, 1)
	if int(s.next/slabChunk) == len(s.chunks) {
		s.chunks = append(s.chunks, new([slabChunk]T))
	}
	s.next++
	return s.next - 1, s.at(s.next - 1)
}

// give takes an item back.
func (s *slab[T]) give(n uint32) { s.free = append(s.free, n) }

// each shows the chunk of items that begins at a number, and reports whether there are more beyond.
// Items that were given back are shown as well.
func (s *slab[T]) each(from uint32, see func(uint32, *T)) (more bool) {
	for n := max(from, 1); n < min(s.next, from+slabChunk); n++ {
		see(n, s.at(n))
	}
	return from+slabChunk < s.next
}

// used returns the number of items that are given out.
func (s *slab[T]) used() int { return max(int(s.next)-1, 0) - len(s.free) }

// held returns the memory of the chunks and the free list in bytes.
func (s *slab[T]) held() int64 {
	var item T
	return int64(len(s.chunks))*slabChunk*int64(unsafe.Sizeof(item)) + int64(cap(s.free)*4)
}
