package storage

import "fmt"

// Refuses says why points are refused at the moment, or were the last time; nil: they are taken.
func (s *Store) Refuses() error {
	if err := s.diskSpace(); err != nil {
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

// diskSpace fails when the table has no space for what goes into the log, which may be on the same
// disk: points of the log need space in the table soon.
func (s *Store) diskSpace() error {
	if s.db.Local == nil {
		return nil
	}
	return s.db.Local.DiskSpace()
}
