// Package write is the write path of a store: it puts points into the rows of the data table, or
// first into a log and the head, from which whole rows are put later. It also deletes rows that are
// too old. It registers no series and answers no query.
package write

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/changes"
	"github.com/tsdbridge/tsdbridge/storage/head"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Options are what a Writer needs.
type Options struct {
	DB     *kv.Engine
	Tables storage.Tables
	Layout schema.Layout
	Values schema.Values // encoding of floats
	// AppendCells means that points are put into the append cells of their rows, where others write
	// to the tables.
	AppendCells bool
	Series      *index.Index
	Registry    *catalog.Registry
	Days        *catalog.Days // nil: others write to the tables
	// Mode is when a point is durable. With LogUnacknowledged there is a log even with
	// WriteThrough, for the writers that take Logged.
	Mode              Mode
	LogUnacknowledged bool
	Buffer            BufferOptions // of the log, if there is one
	// Forget takes series without points out of the tables and the index; if they are there no more
	// it does nothing. On shared tables series stay that were registered anew after until
	// (milliseconds).
	Forget func(ctx context.Context, ids []index.ID, until int64) error
	// Follow takes series out of the index that other processes have deleted.
	Follow func(ctx context.Context, ids []index.ID) error
	// Revive registers series that were forgotten.
	Revive func(ctx context.Context, ids []index.ID) error
	// Stored returns those of some series of which the store has anything but their names: points in the
	// log or the table, annotations, rolled up values, slots of archives.
	Stored func(ctx context.Context, ids []index.ID) (map[index.ID]bool, error)
	// DeleteRolled deletes what was made of the points that a deletion deletes: rolled up values and slots
	// of archives, durably. On shared tables what was put after until (milliseconds) stays. nil: there
	// are none.
	DeleteRolled func(ctx context.Context, d *Deletion, until int64) error
	// Changes is told of every change of points that can be read; nil: nobody asks.
	Changes *changes.Log
	// Late is told of points before they are there and when they can be read; nil: nobody asks. An
	// error before refuses them.
	Late func(ctx context.Context, b *storage.Batch) error
	// Appended is told of each batch when it is durable, before it is acknowledged, and does not keep it; nil: nobody
	// asks.
	Appended func(b *storage.Batch)
	// Retention is how long rows of points are kept, 0: for ever.
	Retention  time.Duration
	Now        func() time.Time
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

// registryOfLog is the registry of series by which a log is known to be the store's; nil where
// others write to the tables.
func (o *Options) registryOfLog() *catalog.Registry {
	if !o.DB.Exclusive {
		return nil
	}
	return o.Registry
}

// Writer is the write path of a store: it puts points of series into the table,
// or first into the log and the head. It is safe for concurrent use.
type Writer struct {
	o         Options
	table     *Table
	buffer    *buffer  // nil: there is no log
	flusher   *Flusher // of buffer
	deleter   *deleter
	shared    *sharedDeleter // nil: no other process writes to the tables
	retention *retention     // nil: rows are kept for ever
	metrics   *metrics
}

// New opens the log, if there is to be one or one is left. Run makes the writer ready.
func New(o Options) (*Writer, error) {
	if o.DeleteRolled == nil {
		o.DeleteRolled = func(context.Context, *Deletion, int64) error { return nil }
	}
	states, metrics := &index.Pages[state]{}, newMetrics(o.Registerer)
	w := &Writer{table: newTable(&o, states, metrics), metrics: metrics}
	var err error
	if o.Retention > 0 {
		if w.retention, err = newRetention(&o); err != nil {
			return nil, err
		}
	}
	o.Buffer.ask(o.DB.LogKeeper())
	w.o = o
	w.deleter = &deleter{
		db: o.DB, table: w.table, registry: o.Registry, days: o.Days, forget: o.Forget, revive: o.Revive, changes: o.Changes, logger: o.Logger,
	}
	w.deleter.deleteRolled, w.deleter.stored, w.deleter.held.order = o.DeleteRolled, o.Stored, &w.deleter.order
	if o.DB.Versioned != nil {
		w.shared = newSharedDeleter(&w.o, w.table, &w.deleter.held)
	}
	w.deleter.metrics = newDeletionMetrics(o.Registerer, w.unfinished)
	logged, err := w.o.needsLog()
	if err != nil || !logged {
		return w, err
	}
	if w.buffer, err = openBuffer(&w.o, w.table.stamps); err != nil {
		return nil, err
	}
	w.deleter.buffer = w.buffer
	w.flusher = &Flusher{db: o.DB, buffer: w.buffer, table: w.table, deleter: w.deleter, shared: w.shared, metrics: metrics}
	w.deleter.open(w.buffer, &w.flusher.mu)
	if w.shared != nil {
		w.shared.usage.buffer, w.shared.flushing = w.buffer, &w.flusher.mu
	}
	return w, nil
}

// needsLog reports whether points go through a log, or one holds points of an earlier run.
func (o *Options) needsLog() (bool, error) {
	if o.Mode == Buffered || o.LogUnacknowledged {
		return true, nil
	}
	left, err := o.Buffer.HoldsLog()
	if left {
		o.Logger.Info("a log is left from an earlier run with other flags; it is replayed and put into the table", "path", o.Buffer.Dir)
	}
	return left, err
}

// Run replays the log, puts rows of the head into the table, deletes what is too old and verifies
// what was put unread, until ctx ends.
func (w *Writer) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	if w.buffer != nil {
		group.Go(func() error { return w.flusher.run(ctx) })
		group.Go(func() error { return w.deleter.run(ctx) })
	}
	if w.retention != nil {
		group.Go(func() error { return w.retention.run(ctx) })
	}
	if w.o.DB.Versioned != nil {
		group.Go(func() error { return w.table.verifyEvery(ctx) })
		group.Go(func() error { return w.shared.run(ctx) })
	}
	return group.Wait()
}

// Close puts what is in memory into the table, unless nothing may be written any more (readOnly),
// settles what was put into shared tables without reading, as far as ctx allows, and closes the
// log. What is not put is replayed by the next process.
func (w *Writer) Close(ctx context.Context, readOnly bool) error {
	if !readOnly {
		defer w.table.verifyLast(ctx)
	}
	if w.buffer == nil {
		return nil
	}
	var err error
	if w.Replayed() == nil && !readOnly {
		err = w.FlushAll(ctx)
	}
	flushed := err == nil && w.Replayed() == nil && w.buffer.head.Stats().Rows == 0 && w.buffer.waits() == nil
	if err = errors.Join(err, w.buffer.close()); err != nil || !flushed {
		return err
	}
	return w.buffer.remove()
}

// NoteNew notes that a series was registered which had no points before; see register.Options.
func (w *Writer) NoteNew(id index.ID) bool { return w.table.NoteNew(id) }

// FlushAll finishes all deletions and puts all rows of the head into the table.
func (w *Writer) FlushAll(ctx context.Context) error { return w.flusher.FlushAll(ctx) }

// Head has the points that are not in the table yet; nil: all are.
func (w *Writer) Head() *head.Head {
	if w.buffer == nil {
		return nil
	}
	return w.buffer.head
}

// Ages returns when what is in a row of the head was acknowledged; of shared tables alone.
func (w *Writer) Ages(r head.Row) []own.Age { return w.buffer.agesOf(r) }

// Unfinished reports whether a deletion has begun and is not finished, on tables that no other process writes to.
func (w *Writer) Unfinished() bool { return w.deleter.count.Load() > 0 }

// Replayed fails reads that would not see what the log holds.
func (w *Writer) Replayed() error {
	if w.buffer == nil {
		return nil
	}
	select {
	case <-w.buffer.ready:
		return nil
	default:
		return fmt.Errorf("%w: the log is being replayed", storage.ErrNotReady)
	}
}

// unfinished is how many deletions are recorded and not carried out.
func (w *Writer) unfinished() float64 {
	n := w.deleter.count.Load()
	if w.shared != nil {
		n += w.shared.lessons.begun.Load()
	}
	return float64(n)
}

// Steps does at once what Run does from time to time. Tests use it.
type Steps struct{ w *Writer }

// Steps returns what Run does.
func (w *Writer) Steps() Steps { return Steps{w} }

// FlushDue puts the rows of the head into the table that are due.
func (s Steps) FlushDue(ctx context.Context) error { return s.w.flusher.Flush(ctx, s.w.flusher.due()) }

// FinishDeletions finishes the deletions that an error or the end of the last process has left
// unfinished, as Run does.
func (s Steps) FinishDeletions(ctx context.Context) error {
	_, err := s.w.deleter.finishLeft(ctx)
	return err
}

// DeleteOld deletes what is older than the retention.
func (s Steps) DeleteOld(ctx context.Context) error { return s.w.retention.pass(ctx) }

// VerifyAll looks at all rows that were put without being read.
func (s Steps) VerifyAll(ctx context.Context) error {
	return s.w.table.verifyRows(ctx, s.w.table.now().Add(everything))
}

// VerifyDue looks at the rows that are due to be.
func (s Steps) VerifyDue(ctx context.Context) error {
	return s.w.table.verifyRows(ctx, s.w.table.now())
}

// FollowDeletions follows the deletions of other processes, carries out what they left unfinished,
// and looks once more at the rows of all that are done. It waits for a deletion that Run carries out.
func (s Steps) FollowDeletions(ctx context.Context) error {
	err := s.w.shared.step(ctx)
	if taken := s.w.shared.running.take(ctx); taken != nil {
		return errors.Join(err, taken)
	}
	defer s.w.shared.running.free()
	return errors.Join(err, s.w.shared.learn(ctx), s.w.shared.goOnAll(ctx, s.w.o.Now().Add(everything)))
}
