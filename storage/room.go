package storage

// A roomKeeper is an engine that knows when its disk is nearly full.
type roomKeeper interface {
	Room() error // ErrFull, or nil
}

// room fails when the table has no room for what goes into the log, which may be on the same disk: points of the log need room in the table soon.
func (s *Store) room() error {
	if engine, ok := s.db.(roomKeeper); ok {
		return engine.Room()
	}
	return nil
}
