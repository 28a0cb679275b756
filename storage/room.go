package storage

import "fmt"

// A roomKeeper is an engine that knows when its disk is nearly full.
type roomKeeper interface {
	Room() error // ErrFull, or nil
}

// Refuses says why points are refused at the moment, or were the last time; nil: they are taken.
func (s *Store) Refuses() error {
	if err := s.room(); err != nil {
		return err
	}
	if s.buffer == nil {
		return nil
	}
	if s.buffer.full.Load() {
		return fmt.Errorf("%d bytes of points wait in memory for the table, --write.buffer.max-bytes is %d", s.buffer.head.Stats().Bytes, s.buffer.o.MaxHeadBytes)
	}
	if err := s.buffer.waits(); err != nil {
		return err
	}
	if err := s.buffer.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// room fails when the table has no room for what goes into the log, which may be on the same disk: points of the log need room in the table soon.
func (s *Store) room() error {
	if engine, ok := s.db.(roomKeeper); ok {
		return engine.Room()
	}
	return nil
}
