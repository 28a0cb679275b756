package write

import "fmt"

// Refuses returns why points are refused at the moment, or were the last time; nil: they are taken.
func (w *Writer) Refuses() error {
	if err := w.diskSpace(); err != nil {
		return err
	}
	if w.buffer == nil {
		return nil
	}
	if w.buffer.full.Load() {
		return fmt.Errorf("%d bytes of points wait in memory for the table, --write.buffer.max-bytes is %d", w.buffer.head.Stats().Bytes, w.buffer.o.MaxHeadBytes)
	}
	if err := w.buffer.waits(); err != nil {
		return err
	}
	if err := w.buffer.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// diskSpace fails when the table has no space for what goes into the log, which may be on the same
// disk: points of the log need space in the table soon.
func (w *Writer) diskSpace() error {
	if w.o.DB.Local == nil {
		return nil
	}
	return w.o.DB.Local.DiskSpace()
}
