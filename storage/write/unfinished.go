package write

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// unfinished are the deletions that the head has followed and the table has not. Until a deletion is
// finished,
//
//   - no row of its series and hours is flushed: what the head has of them was written after the
//     deletion, and the deletion would take it out of the table;
//   - the log keeps the deletion's record, and with it all later records.
//
// All other rows are flushed meanwhile.
type unfinished struct {
	// turn contains a token. Deletions are carried out one after the other, by the caller that has
	// it. The turn is taken before flush and order.
	turn  chan struct{}
	flush *sync.Mutex // Flusher.mu
	// jobs change while the turn and flush are held, and while the log is replayed.
	jobs  []*job
	count atomic.Int64         // of jobs
	free  func(segment uint64) // lets the log be cut in a segment that a job has held
}

// job is a deletion under way.
type job struct {
	Deletion        // its IDs ascend
	key      uint64 // of its records
	segment  uint64 // of the log: its record is there or later, and the segment is held
	// withdrawn means that the log failed to take the record, but may have it. Nothing is deleted.
	// The end of the deletion must be in the log before rows are flushed that a start would delete.
	withdrawn bool
	broken    error // rows that cannot be read
	deleted   storage.Deleted
}

// touches reports whether the row of a series in the hour that begins at base (seconds) may hold
// points that the deletion deletes.
func (j *job) touches(id index.ID, base uint32) bool {
	begin := int64(base) * 1000
	if begin > j.End || begin+schema.RowSeconds*1000 <= j.Start {
		return false
	}
	_, found := slices.BinarySearch(j.IDs, id)
	return found
}

// open makes the deletions of a log ready.
func (u *unfinished) open(b *buffer, flush *sync.Mutex) {
	u.turn, u.flush, u.free = make(chan struct{}, 1), flush, b.end
	u.turn <- struct{}{}
}

// take takes the turn. The caller must release it.
func (u *unfinished) take(ctx context.Context) error {
	select {
	case <-u.turn:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (u *unfinished) release() { u.turn <- struct{}{} }

func (u *unfinished) add(j *job) {
	u.jobs = append(u.jobs, j)
	u.count.Store(int64(len(u.jobs)))
}

// drop ends a job.
func (u *unfinished) drop(j *job) {
	u.jobs = slices.DeleteFunc(u.jobs, func(o *job) bool { return o == j })
	u.count.Store(int64(len(u.jobs)))
	u.free(j.segment)
}

// touches returns what reports whether a row must wait for a deletion; nil: none must. The caller
// holds flush, also while it uses the function.
func (u *unfinished) touches() func(id, base uint32) bool {
	if len(u.jobs) == 0 {
		return nil
	}
	return func(id, base uint32) bool {
		return slices.ContainsFunc(u.jobs, func(j *job) bool { return j.touches(index.ID(id), base) })
	}
}

// run finishes what a failure or the end of the last process has left unfinished, until ctx ends.
func (d *deleter) run(ctx context.Context) error {
	if err := d.buffer.await(ctx); err != nil {
		return nil //nolint:nilerr // ctx has ended
	}
	var finished retry.Outcome
	for {
		n, err := d.finishLeft(ctx)
		switch {
		case finished.Note(ctx, err):
			d.logger.Error("deletions cannot be finished, which is tried again; see TsdbridgeDeletionsUnfinished in docs/monitoring.md", "table", d.table.name, "err", err)
		case err == nil && n > 0:
			d.logger.Info("deletions finished that were left unfinished", "deletions", n)
		}
		if !retry.Sleep(ctx, d.buffer.o.CheckInterval) {
			return nil
		}
	}
}

// finishLeft finishes deletions that no caller waits for, and returns how many there were.
func (d *deleter) finishLeft(ctx context.Context) (n int, err error) {
	if err := d.take(ctx); err != nil {
		return 0, err
	}
	defer d.release()
	jobs := slices.Clone(d.jobs)
	if len(jobs) == 0 {
		return 0, nil
	}
	before := sum(jobs)
	err = d.finish(ctx)
	all := sum(jobs)
	d.metrics.count(storage.Deleted{Rows: all.Rows - before.Rows, Series: all.Series - before.Series})
	return len(jobs), err
}

// sum returns what jobs have deleted so far.
func sum(jobs []*job) (all storage.Deleted) {
	for _, j := range jobs {
		all.Rows, all.Series = all.Rows+j.deleted.Rows, all.Series+j.deleted.Series
	}
	return all
}
