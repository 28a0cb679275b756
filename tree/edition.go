package tree

// An Edition says which leaves an index has lost. While it stays the same, a leaf that was found once is still
// where it was found; others may have come.
type Edition struct {
	index int // indexes that were in use before
	gone  int // leaves of it that were removed, were hidden or belong to another series now
}

// Edition returns the edition of the index in use. ok is always true.
func (f *Forest) Edition() (e Edition, ok bool) {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return Edition{index: f.indexes, gone: f.index.lost()}, true
}

// Edition returns the edition of the index. ok is false while paths are looked up in the table.
func (s *Service) Edition() (e Edition, ok bool) {
	if !s.forest.Loaded() {
		return Edition{}, false
	}
	return s.forest.Edition()
}

func (x *Index) lost() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.gone
}
