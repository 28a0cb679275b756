package write

// Refuses returns why points are refused at the moment, or were the last time; nil: they are taken.
func (w *Writer) Refuses() error {
	if err := w.diskSpace(); err != nil {
		return err
	}
	if w.buffer == nil {
		return nil
	}
	if err := w.buffer.overload(); err != nil {
		return err
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
