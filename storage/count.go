package storage

// Series is how many series the index knows.
func (s *Store) Series() int { return s.index.Len() }
