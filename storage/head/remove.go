package head

// Remove forgets what the head holds of the hour of a series that begins at base (seconds), but for
// what is handed out.
func (h *Head) Remove(id, base uint32) {
	s := h.shard(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, r := range s.chain(id) {
		if r.base == base && !r.sealed {
			s.drop(n)
			return
		}
	}
}
