package write

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/changes"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log"
)

// deleter deletes points of series from the log, the head and the table.
//
// A deletion is a record of the log. What stands before the record is deleted, what stands after it
// stays: that is the order of the acknowledgements. The head follows while appends wait and nothing
// is flushed. The table follows while appends and flushes go on; see unfinished. A second record
// tells that the table has followed. A start that finds the first record without the second one
// carries out the deletion again, with all later points in the head.
type deleter struct {
	db       *kv.Engine
	buffer   *buffer // nil: there is no log
	table    *Table
	registry *catalog.Registry
	days     *catalog.Days
	forget   func(ctx context.Context, ids []index.ID, until int64) error // see Options.Forget
	revive   func(ctx context.Context, ids []index.ID) error              // see Options.Revive
	stored   func(ctx context.Context, ids []index.ID) (map[index.ID]bool, error)
	// deleteRolled: see Options.DeleteRolled. It is called before the points are deleted: what it did is
	// repeated with the deletion. With series that are deleted as a whole it is called when nothing can
	// be put beside their points any more, so that nothing is left of a series that is forgotten.
	deleteRolled func(ctx context.Context, d *Deletion, until int64) error
	changes      *changes.Log // see Options.Changes
	logger       *slog.Logger
	metrics      deletionMetrics

	// order is held for reading by appends, from their record of the log to the head, and for
	// writing by deletions.
	order sync.RWMutex
	held  heldSeries // guarded by order

	unfinished
	// replayed are the series of deletions that the log had.
	replayed []index.ID
}

// largestDeletion bounds the series of one record of the log.
const largestDeletion = 1 << 19

// Delete deletes points. When it returns without an error, that is durable. After an error some of
// the points are deleted; if the log has the deletion, the rest follows by itself, at the latest
// after the store starts again. An error that wraps ErrBroken means that all was deleted but for
// rows that cannot be read. One that wraps storage.ErrDamaged means that the deletion was given up.
//
// What is appended after Delete has returned stays. What is appended meanwhile may stay or not.
func (w *Writer) Delete(ctx context.Context, d Deletion) (storage.Deleted, error) {
	if d.Start < 0 || d.End > storage.MaxTime {
		return storage.Deleted{}, fmt.Errorf("%w: times %d to %d ms are not within 0 to %d", storage.ErrInvalid, d.Start, d.End, int64(storage.MaxTime))
	}
	if !w.o.Registry.Loaded() { // which series exist is not known yet
		return storage.Deleted{}, fmt.Errorf("%w: the series are being read", storage.ErrNotReady)
	}
	if err := w.deletable(); err != nil {
		return storage.Deleted{}, err
	}
	d.IDs = slices.Clone(d.IDs)
	slices.Sort(d.IDs)
	d.IDs = slices.DeleteFunc(slices.Compact(d.IDs), func(id index.ID) bool {
		return w.shared == nil && !w.o.Registry.Of(id).Exists() // on shared tables others write series without it
	})
	if len(d.IDs) == 0 || d.Start > d.End {
		return storage.Deleted{}, nil
	}
	begin := time.Now()
	deleted, err := w.carryOut(ctx, d)
	w.deleter.metrics.ended(begin, deleted, err)
	return deleted, err
}

// deletable refuses a deletion for which the table has no space, before anything of it is done.
func (w *Writer) deletable() error {
	if err := w.diskSpace(); err != nil {
		return fmt.Errorf("nothing was deleted: %w", err)
	}
	return nil
}

// carryOut carries out a deletion that is valid.
func (w *Writer) carryOut(ctx context.Context, d Deletion) (storage.Deleted, error) {
	if w.shared != nil {
		return w.deleteShared(ctx, d)
	}
	if w.buffer != nil {
		if err := w.buffer.await(ctx); err != nil {
			return storage.Deleted{}, err
		}
	}
	if !d.Whole && !d.Repeated {
		if err := w.deleter.deleteRolled(ctx, &d, math.MaxInt64); err != nil {
			return storage.Deleted{}, err
		}
	}
	if w.buffer == nil {
		return w.deleter.deleteUnlogged(ctx, d)
	}
	if err := w.deleter.take(ctx); err != nil {
		return storage.Deleted{}, err
	}
	defer w.deleter.release()
	return w.deleter.delete(ctx, d)
}

// enter begins an append: no deletion begins before it leaves. Series of the batch that were deleted
// are registered again. Without an error the caller must leave.
func (d *deleter) enter(ctx context.Context, b *storage.Batch) error {
	d.order.RLock()
	for {
		held, gone := d.held.of(b), []index.ID(nil)
		if d.registry.Forgotten() > 0 {
			gone = d.gone(b)
		}
		if held == nil && len(gone) == 0 {
			return nil
		}
		d.order.RUnlock()
		if err := d.prepare(ctx, held, gone); err != nil {
			return err
		}
		d.order.RLock()
	}
}

// prepare waits for the end of a hold, or registers series that were deleted.
func (d *deleter) prepare(ctx context.Context, held *hold, gone []index.ID) error {
	if held != nil {
		return held.wait(ctx)
	}
	if err := d.revive(ctx, gone); err != nil {
		return fmt.Errorf("register %d series that were deleted: %w", len(gone), err)
	}
	return nil
}

func (d *deleter) leave() { d.order.RUnlock() }

// gone returns the series of a batch that were deleted, each once.
func (d *deleter) gone(b *storage.Batch) []index.ID {
	var gone []index.ID
	add := func(id index.ID) {
		if !d.registry.Of(id).Exists() {
			gone = append(gone, id)
		}
	}
	for _, ref := range b.Refs {
		add(index.IDOf(ref))
	}
	for i := range b.Objects {
		add(index.IDOf(b.Objects[i].Ref))
	}
	slices.Sort(gone)
	return slices.Compact(gone)
}

// deleteUnlogged deletes from a store without a log.
func (d *deleter) deleteUnlogged(ctx context.Context, deletion Deletion) (storage.Deleted, error) {
	d.order.Lock()
	defer d.order.Unlock()
	deletion.IDs = slices.Sorted(slices.Values(deletion.IDs)) // those of a salvaged log do not ascend
	j := &job{Deletion: deletion}
	alone := func(change func() error) error { return change() }
	if err := d.clear(ctx, j, alone); err != nil {
		return j.deleted, err
	}
	if err := d.narrow(ctx, j.IDs, j.Start, j.End); err != nil {
		return j.deleted, err
	}
	if j.Whole {
		if err := d.forgetUnused(ctx, j, j.IDs); err != nil {
			return j.deleted, err
		}
	}
	if err := d.db.Flush(ctx); err != nil {
		return j.deleted, fmt.Errorf("sync the days of series: %w", err)
	}
	return j.deleted, j.broken
}

// delete deletes by way of the log. The caller has the turn.
func (d *deleter) delete(ctx context.Context, deletion Deletion) (storage.Deleted, error) {
	if err := d.finish(ctx); err != nil {
		return storage.Deleted{}, fmt.Errorf("nothing was deleted, an earlier deletion is unfinished: %w", err)
	}
	if err := d.begin(ctx, deletion); err != nil {
		return storage.Deleted{}, d.begun(len(deletion.IDs), err)
	}
	return d.finishBegun(ctx)
}

// begun tells how much of a deletion of so many series has begun, although not all has.
func (d *deleter) begun(series int, err error) error {
	begun := 0
	for _, j := range d.jobs {
		if !j.withdrawn {
			begun += len(j.IDs)
		}
	}
	if begun == 0 {
		return fmt.Errorf("nothing was deleted: %w", err)
	}
	return fmt.Errorf("%w: that of %d of %d series, nothing was deleted of the others: %w", storage.ErrUnfinished, begun, series, err)
}

// finishBegun carries out the deletions that have begun. The caller has the turn.
func (d *deleter) finishBegun(ctx context.Context) (storage.Deleted, error) {
	jobs := slices.Clone(d.jobs)
	err := d.finish(ctx)
	if err != nil {
		err = fmt.Errorf("%w: %d rows were deleted or changed so far: %w", storage.ErrUnfinished, sum(jobs).Rows, err)
	}
	for _, j := range jobs {
		err = errors.Join(err, j.broken)
	}
	return sum(jobs), err
}

// begin puts the records of a deletion into the log and lets the head follow. The caller has the
// turn.
func (d *deleter) begin(ctx context.Context, deletion Deletion) error {
	d.flush.Lock()
	defer d.flush.Unlock()
	d.order.Lock()
	defer d.order.Unlock()
	b := d.buffer
	for ids := range slices.Chunk(deletion.IDs, largestDeletion) {
		j := &job{Deletion: deletion, key: rand.Uint64(), segment: b.begin()}
		j.IDs = ids
		switch _, err := b.write(ctx, deletionRecord(j.key, &j.Deletion, b.numbers.index), nil); {
		case err == nil:
			d.follow(j)
		case errors.Is(err, log.ErrFull) || errors.Is(err, log.ErrTooLarge) || errors.Is(err, log.ErrClosed): // the record is not there
			b.end(j.segment)
			return err
		default:
			j.withdrawn = true
			d.add(j)
			return err
		}
	}
	return nil
}

// follow lets the head follow a deletion whose record is in the log, and notes that the table has
// to. The caller holds order and Flusher.mu, or replays the log.
func (d *deleter) follow(j *job) {
	b := d.buffer
	for _, id := range j.IDs {
		b.head.Delete(uint32(id), j.Start, j.End)
	}
	d.changes.Times(j.Start, j.End)
	if b.mixed {
		b.marks.noteIDs(j.IDs, b.numbers.index.Len(), b.log.End().Segment)
	}
	d.add(j)
}

// replay takes a record of a deletion, of a segment of the log, in the order of the log.
func (d *deleter) replay(segment uint64, record []byte) error {
	if record[0] == recordDeletionDone {
		done, err := parseDeletionDone(record)
		for _, j := range d.jobs {
			if j.key == done {
				d.drop(j)
				break
			}
		}
		return err
	}
	key, deletion, err := parseDeletion(record, func(tsuid []byte) (index.ID, error) {
		id, _, err := d.buffer.numbers.index.Add(tsuid)
		return id, err
	})
	if err != nil {
		return err
	}
	slices.Sort(deletion.IDs)
	d.buffer.hold(segment)
	d.follow(&job{Deletion: deletion, key: key, segment: segment})
	d.replayed = append(d.replayed, deletion.IDs...)
	return nil
}

// recount corrects the days of the series of all deletions that were replayed: points that were
// replayed and deleted have widened them. No append has begun.
func (d *deleter) recount(ctx context.Context) error {
	ids := d.replayed
	d.replayed = nil
	slices.Sort(ids)
	return d.narrow(ctx, slices.Compact(ids), 0, -1)
}

// finish carries out what is unfinished. The caller has the turn.
func (d *deleter) finish(ctx context.Context) error {
	for len(d.jobs) > 0 {
		j := d.jobs[0]
		if err := d.finishOne(ctx, j); err != nil {
			return err
		}
		d.flush.Lock()
		d.drop(j)
		d.flush.Unlock()
	}
	return nil
}

func (d *deleter) finishOne(ctx context.Context, j *job) error {
	if !j.withdrawn {
		if err := d.carryOut(ctx, j); err != nil {
			return err
		}
	}
	// With tables that have not followed, the end of the deletion would hide that.
	if err := d.buffer.lineage.advance(ctx); err != nil {
		return err
	}
	if _, err := d.buffer.log.Append(context.WithoutCancel(ctx), deletionDoneRecord(j.key)); err != nil {
		return fmt.Errorf("note the end of a deletion in the log: %w", err)
	}
	return nil
}

// carryOut deletes from the table, durably. It takes Flusher.mu and order for one part at a time.
func (d *deleter) carryOut(ctx context.Context, j *job) error {
	switch err := d.clear(ctx, j, d.alone); {
	case errors.Is(err, storage.ErrDamaged): // trying again would hold the log for ever
		d.logger.Error("a deletion meets a damaged file and is given up; see TsdbridgeDamage in docs/monitoring.md, then delete again", "table", d.table.name, "err", err)
		j.broken = err
		return nil
	case err != nil:
		return err
	}
	for ids := range slices.Chunk(j.IDs, rowsPerRead) {
		if err := d.settle(ctx, j, ids); err != nil {
			return err
		}
	}
	if err := d.db.Flush(ctx); err != nil {
		return fmt.Errorf("sync the days of series: %w", err)
	}
	return nil
}

// alone makes a change while no points are appended and nothing is flushed.
func (d *deleter) alone(change func() error) error {
	d.flush.Lock()
	defer d.flush.Unlock()
	d.order.Lock()
	defer d.order.Unlock()
	return change()
}

// clear deletes from the table, durably.
func (d *deleter) clear(ctx context.Context, j *job, alone func(change func() error) error) error {
	defer d.changes.Times(j.Start, j.End) // also after an error: some of it may be done
	if j.Whole {
		if err := d.deleteRolled(ctx, &j.Deletion, math.MaxInt64); err != nil {
			return err
		}
	}
	rows, broken, err := d.table.deleteRows(ctx, &j.Deletion, alone)
	j.deleted.Rows += rows
	if err != nil {
		return fmt.Errorf("delete rows: %w", err)
	}
	if j.broken = broken; broken != nil {
		d.logger.Error("a row of a deletion cannot be read, its points stay; look at it with tsdbridge fsck, then delete again", "table", d.table.name, "err", broken)
	}
	if err := d.db.Flush(ctx); err != nil {
		return fmt.Errorf("sync what was deleted: %w", err)
	}
	return nil
}

// settle narrows the days of series, and forgets those that are to be deleted and have no new
// points. Appends and flushes wait, because they widen the days of series.
func (d *deleter) settle(ctx context.Context, j *job, ids []index.ID) error {
	d.flush.Lock()
	defer d.flush.Unlock()
	d.order.Lock()
	defer d.order.Unlock()
	if err := d.narrow(ctx, ids, j.Start, j.End); err != nil {
		return err
	}
	if !j.Whole || j.broken != nil {
		return nil
	}
	unused := slices.DeleteFunc(slices.Clone(ids), func(id index.ID) bool { return d.buffer.head.Any(uint32(id)) })
	// A number without its series would mean that the log is another store's: the numbers go first.
	if err := d.buffer.numbers.forget(ctx, unused); err != nil {
		return err
	}
	return d.forgetUnused(ctx, j, unused)
}

func (d *deleter) forgetUnused(ctx context.Context, j *job, ids []index.ID) error {
	if err := d.forget(ctx, ids, math.MaxInt64); err != nil {
		return fmt.Errorf("delete %d series: %w", len(ids), err)
	}
	j.deleted.Series += len(ids)
	return nil
}

// narrow takes the deleted days from the active days of series. The caller holds order, and
// Flusher.mu where there is a log.
func (d *deleter) narrow(ctx context.Context, ids []index.ID, start, end int64) error {
	if d.days == nil {
		return nil
	}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id index.ID) bool { return !d.registry.Of(id).Exists() })
	hours := func(index.ID, func(base uint32)) {}
	if d.buffer != nil {
		hours = func(id index.ID, see func(base uint32)) { d.buffer.head.Hours(uint32(id), see) }
	}
	if err := d.days.Narrow(ctx, ids, start, end, hours); err != nil {
		return fmt.Errorf("narrow the days of %d series: %w", len(ids), err)
	}
	return nil
}
