package write

import (
	"context"
	"fmt"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// Append implements Appender.
//
// No instant may stand in a row twice with different bytes (a TSD answers 400 to every query that
// meets it), so a row is read before it is written unless this process knows that the new points
// come after all that it holds; see state. Two adapters, or an adapter and a TSD, that write one
// series at once are the one way left to such a row.
func (w *Writer) Append(ctx context.Context, b *storage.Batch) error {
	return w.append(ctx, b, w.o.Mode == Buffered)
}

// AppendLogged is Append for writers without an acknowledgement (carbon, telnet put): what they
// append is durable when the log has it, whatever the mode, so that a cluster that is away loses
// nothing of theirs. Without a log it is Append.
func (w *Writer) AppendLogged(ctx context.Context, b *storage.Batch) error {
	return w.append(ctx, b, true)
}

// append writes a batch through the log or, where it may, to the table at once.
func (w *Writer) append(ctx context.Context, b *storage.Batch, throughLog bool) error {
	if len(b.Refs) == 0 && len(b.Objects) == 0 {
		return nil
	}
	begin := time.Now()
	if err := w.checkBatch(b); err != nil {
		return err
	}
	if w.buffer != nil {
		if err := w.buffer.await(ctx); err != nil {
			return err
		}
	}
	if err := w.deleter.enter(ctx, b); err != nil {
		return err
	}
	defer w.deleter.leave()
	readable, err := w.late(ctx, b)
	if err != nil {
		return err
	}
	defer readable()
	defer w.o.Changes.Batch(b) // also after an error: some of it may be there
	bound, free := b, (*storage.Batch)(nil)
	switch {
	case w.buffer == nil:
		bound, free = nil, b
	case !throughLog:
		bound, free = w.buffer.marks.part(b)
	}
	if bound != nil {
		if err := w.diskSpace(); err != nil {
			return err
		}
		if err := w.buffer.append(ctx, bound); err != nil {
			return err
		}
	}
	if free != nil {
		if err := w.table.put(ctx, free); err != nil {
			return err
		}
	}
	w.metrics.appended(b, begin)
	if w.o.Appended != nil {
		w.o.Appended(b)
	}
	return nil
}

// checkBatch refuses what cannot be stored.
func (w *Writer) checkBatch(b *storage.Batch) error {
	if len(b.Times) != len(b.Refs) || len(b.Values) != len(b.Refs) || b.Forms != nil && len(b.Forms) != len(b.Refs) {
		return fmt.Errorf("%w: batch of %d refs, %d times, %d values, %d forms", storage.ErrInvalid, len(b.Refs), len(b.Times), len(b.Values), len(b.Forms))
	}
	known := w.o.Series.Len()
	times := b.Times[:len(b.Refs)]
	for i, ref := range b.Refs {
		if uint64(times[i]) > storage.MaxTime || ref == 0 || uint64(ref) > uint64(known) {
			return checkDatum(ref, times[i], known)
		}
	}
	for i := range b.Objects {
		if err := checkDatum(b.Objects[i].Ref, b.Objects[i].Time, known); err != nil {
			return err
		}
	}
	return nil
}

// checkDatum refuses a time that no row has, and a series that is none of those known.
func checkDatum(ref storage.Ref, time int64, known int) error {
	if time < 0 || time > storage.MaxTime {
		return fmt.Errorf("%w: time %d ms is outside 0 to %d", storage.ErrInvalid, time, int64(storage.MaxTime))
	}
	return ref.Check(known)
}

// late tells Late of points that are about to be there. The caller calls readable when they can be read.
func (w *Writer) late(ctx context.Context, b *storage.Batch) (readable func(), err error) {
	if w.o.Late == nil {
		return func() {}, nil
	}
	if err := w.o.Late(ctx, b); err != nil {
		return nil, err
	}
	return func() { _ = w.o.Late(ctx, b) }, nil // it refuses nothing any more
}

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
