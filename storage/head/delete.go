package head

import "slices"

// Delete removes the points and objects of a series from start to end (milliseconds, inclusive).
// The caller sees to it that none of its rows is handed out. A row that becomes empty is dropped.
func (h *Head) Delete(id uint32, start, end int64) {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	var rows []uint32
	for n, r := range s.chain(id) {
		if r.overlaps(start, end) {
			rows = append(rows, n)
		}
	}
	for _, n := range rows {
		s.cut(n, start, end)
	}
}

// cut removes what a row holds from start to end.
func (s *shard) cut(n uint32, start, end int64) {
	r := s.rows.at(n)
	begin := r.begin()
	if start <= begin && end >= begin+hour-1 {
		s.drop(n)
		return
	}
	s.view.reset()
	s.view.add(s, r)
	was := s.view.settled(s.view.rows)
	kept := slices.DeleteFunc(was, func(e entry) bool {
		time := begin + int64(e.offset)
		return time >= start && time <= end
	})
	if len(kept) == 0 {
		s.drop(n)
		return
	}
	s.refill(r, kept)
}

// Any reports whether the head has anything of a series.
func (h *Head) Any(id uint32) bool {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for range s.chain(id) {
		return true
	}
	return false
}

// Hours calls see with the begin (seconds) of each hour of a series that the head has anything of,
// in no particular order.
func (h *Head) Hours(id uint32, see func(base uint32)) {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.chain(id) {
		see(r.base)
	}
}
