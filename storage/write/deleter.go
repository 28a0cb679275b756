package write

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/series"
)

// deleter deletes points of series from the log, the head and the table.
//
// A deletion is a record of the log. What stands before the record is deleted, what stands after it
// stays: that is the order of the acknowledgements. The head follows while appends wait. The table
// follows while nothing is flushed, so that no point that was written after the deletion is in it.
// A second record tells that the table has followed. A start that finds the first record without
// the second one carries out the deletion again, with all later points in the head.
type deleter struct {
	db       *kv.Engine
	buffer   *buffer // nil: there is no log
	table    *Table
	registry *catalog.Registry
	days     *catalog.Days
	forget   func(ctx context.Context, ids []index.ID) error // see Options.Forget
	revive   func(ctx context.Context, ids []index.ID) error // see Options.Revive
	logger   *slog.Logger

	// order is held for reading by appends, from their record of the log to the head, and for
	// writing by deletions.
	order sync.RWMutex

	// unfinished are deletions that the head has followed and the table has not. Nothing is flushed
	// and the log is not cut before they are finished. They are guarded by Flusher.mu.
	unfinished []*job
	// replayed are the series of deletions that the log had.
	replayed []index.ID
}

// job is a deletion under way.
type job struct {
	Deletion
	key     uint64
	broken  error // rows that cannot be read
	deleted Deleted
}

// largestDeletion bounds the series of one record of the log.
const largestDeletion = 1 << 19

// Delete deletes points. When it returns without an error, that is durable. After an error some of
// the points are deleted; if the log has the deletion, the rest follows by itself, at the latest
// when the store starts again. An error that wraps ErrBroken means that all was deleted but for
// rows that cannot be read.
//
// What is appended after Delete has returned stays. What is appended meanwhile may stay or not.
func (w *Writer) Delete(ctx context.Context, d Deletion) (Deleted, error) {
	if w.o.DB.Versioned != nil {
		return Deleted{}, errors.New("deleting from shared tables: not yet possible")
	}
	if d.Start < 0 || d.End > series.MaxTime {
		return Deleted{}, fmt.Errorf("%w: times %d to %d ms are not within 0 to %d", series.ErrInvalid, d.Start, d.End, int64(series.MaxTime))
	}
	if !w.o.Registry.Loaded() { // which series exist is not known yet
		return Deleted{}, fmt.Errorf("%w: the series are being read", series.ErrNotReady)
	}
	d.IDs = slices.Clone(d.IDs)
	slices.Sort(d.IDs)
	d.IDs = slices.DeleteFunc(slices.Compact(d.IDs), func(id index.ID) bool { return !w.o.Registry.Of(id).Exists() })
	if len(d.IDs) == 0 || d.Start > d.End {
		return Deleted{}, nil
	}
	if w.buffer == nil {
		return w.deleter.deleteUnlogged(ctx, d)
	}
	if err := w.buffer.await(ctx); err != nil {
		return Deleted{}, err
	}
	w.flusher.mu.Lock()
	defer w.flusher.mu.Unlock()
	return w.deleter.delete(ctx, d)
}

// ErrBroken means that rows hold cells that cannot be read, and were left as they are.
var ErrBroken = errors.New("rows cannot be read and were left as they are: repair them with OpenTSDB's fsck, and delete again")

// enter begins an append: no deletion begins before it leaves. Series of the batch that were deleted
// are registered again. Without an error the caller must leave.
func (d *deleter) enter(ctx context.Context, b *series.Batch) error {
	d.order.RLock()
	for d.registry.Forgotten() > 0 {
		gone := d.gone(b)
		if len(gone) == 0 {
			break
		}
		d.order.RUnlock()
		if err := d.revive(ctx, gone); err != nil {
			return fmt.Errorf("register %d series that were deleted: %w", len(gone), err)
		}
		d.order.RLock()
	}
	return nil
}

func (d *deleter) leave() { d.order.RUnlock() }

// gone returns the series of a batch that were deleted, each once.
func (d *deleter) gone(b *series.Batch) []index.ID {
	var gone []index.ID
	add := func(id index.ID) {
		if !d.registry.Of(id).Exists() {
			gone = append(gone, id)
		}
	}
	for _, ref := range b.Refs {
		add(ref.ID())
	}
	for i := range b.Objects {
		add(b.Objects[i].Ref.ID())
	}
	slices.Sort(gone)
	return slices.Compact(gone)
}

// deleteUnlogged deletes from a store without a log.
func (d *deleter) deleteUnlogged(ctx context.Context, deletion Deletion) (Deleted, error) {
	d.order.Lock()
	defer d.order.Unlock()
	j := &job{Deletion: deletion}
	if err := d.clear(ctx, j); err != nil {
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

// delete deletes by way of the log. The caller holds Flusher.mu.
func (d *deleter) delete(ctx context.Context, deletion Deletion) (Deleted, error) {
	if err := d.finish(ctx); err != nil {
		return Deleted{}, fmt.Errorf("finish an earlier deletion: %w", err)
	}
	if err := d.begin(ctx, deletion); err != nil {
		return Deleted{}, err
	}
	jobs := slices.Clone(d.unfinished)
	err := d.finish(ctx)
	var all Deleted
	for _, j := range jobs {
		all.Rows, all.Series = all.Rows+j.deleted.Rows, all.Series+j.deleted.Series
		err = errors.Join(err, j.broken)
	}
	return all, err
}

// begin puts the records of a deletion into the log and lets the head follow.
func (d *deleter) begin(ctx context.Context, deletion Deletion) error {
	d.order.Lock()
	defer d.order.Unlock()
	b := d.buffer
	for ids := range slices.Chunk(deletion.IDs, largestDeletion) {
		j := &job{Deletion: deletion, key: rand.Uint64()}
		j.IDs = ids
		if _, err := b.write(ctx, deletionRecord(j.key, &j.Deletion, b.numbers.index), nil); err != nil {
			return err
		}
		d.follow(j)
	}
	return nil
}

// follow lets the head follow a deletion whose record is in the log, and notes that the table has
// to. The caller holds order, or replays the log.
func (d *deleter) follow(j *job) {
	b := d.buffer
	for _, id := range j.IDs {
		b.head.Delete(uint32(id), j.Start, j.End)
	}
	if b.mixed {
		b.marks.noteIDs(j.IDs, b.numbers.index.Len(), b.log.End().Segment)
	}
	d.unfinished = append(d.unfinished, j)
}

// replay takes a record of a deletion in the order of the log.
func (d *deleter) replay(record []byte) error {
	if record[0] == recordDeletionDone {
		done, err := parseDeletionDone(record)
		d.unfinished = slices.DeleteFunc(d.unfinished, func(j *job) bool { return j.key == done })
		return err
	}
	key, deletion, err := parseDeletion(record, func(tsuid []byte) (index.ID, error) {
		id, _, err := d.buffer.numbers.index.Add(tsuid)
		return id, err
	})
	if err != nil {
		return err
	}
	d.follow(&job{Deletion: deletion, key: key})
	d.replayed = append(d.replayed, deletion.IDs...)
	return nil
}

// resume finishes the deletions that the end of the last process left unfinished. What cannot be
// finished now is tried again before anything is flushed. The caller holds Flusher.mu.
func (d *deleter) resume(ctx context.Context) {
	// Points that were replayed and deleted have widened the days.
	if err := d.recount(ctx); err != nil {
		d.logger.Warn("series may be found on days on which their points were deleted", "err", err)
	}
	if len(d.unfinished) == 0 {
		return
	}
	n := len(d.unfinished)
	if err := d.finish(ctx); err != nil {
		d.logger.Error("finishing deletions of the last run; they are tried again", "err", err)
		return
	}
	d.logger.Info("deletions of the last run finished", "deletions", n)
}

// recount corrects the days of the series of all deletions that were replayed.
func (d *deleter) recount(ctx context.Context) error {
	ids := d.replayed
	d.replayed = nil
	slices.Sort(ids)
	return d.narrow(ctx, slices.Compact(ids), 0, -1)
}

// finish carries out what is unfinished. The caller holds Flusher.mu.
func (d *deleter) finish(ctx context.Context) error {
	for len(d.unfinished) > 0 {
		j := d.unfinished[0]
		if err := d.finishOne(ctx, j); err != nil {
			return err
		}
		d.unfinished = d.unfinished[1:]
	}
	d.unfinished = nil
	return nil
}

func (d *deleter) finishOne(ctx context.Context, j *job) error {
	if err := d.clear(ctx, j); err != nil {
		return err
	}
	for ids := range slices.Chunk(j.IDs, rowsPerRead) { // appends wait for one part at a time
		if err := d.settle(ctx, j, ids); err != nil {
			return err
		}
	}
	if err := d.db.Flush(ctx); err != nil {
		return fmt.Errorf("sync the days of series: %w", err)
	}
	if _, err := d.buffer.log.Append(context.WithoutCancel(ctx), deletionDoneRecord(j.key)); err != nil {
		return fmt.Errorf("note the end of a deletion in the log: %w", err)
	}
	return nil
}

// clear deletes from the table, durably.
func (d *deleter) clear(ctx context.Context, j *job) error {
	rows, broken, err := d.table.deleteRows(ctx, &j.Deletion)
	j.deleted.Rows += rows
	if err != nil {
		return fmt.Errorf("delete rows: %w", err)
	}
	if j.broken = broken; broken != nil {
		d.logger.Error("deleting points: "+broken.Error(), "table", d.table.name)
	}
	if err := d.db.Flush(ctx); err != nil {
		return fmt.Errorf("sync what was deleted: %w", err)
	}
	return nil
}

// settle narrows the days of series, and forgets those that are to be deleted and have no new
// points.
func (d *deleter) settle(ctx context.Context, j *job, ids []index.ID) error {
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
	if err := d.forget(ctx, ids); err != nil {
		return fmt.Errorf("delete %d series: %w", len(ids), err)
	}
	j.deleted.Series += len(ids)
	return nil
}

// narrow takes the deleted days from the active days of series. The caller holds order.
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
