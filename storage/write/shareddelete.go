package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/retry"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// sharedDeleter deletes from tables that other processes write to.
//
// A deletion has the time of its acknowledgement, as points have, and is recorded in the journal
// before anything is deleted. What was acknowledged until that time goes: from the table by the
// process that deletes, from the heads of all processes when they read the journal, which they do
// from time to time and before they put rows, and from logs when they are replayed. So a point that
// was acknowledged before and is put afterwards does not come back. The rows are looked at again
// after some seconds, for what a TSD's compaction puts that had read them before, and after some
// minutes, for points that were on their way.
//
// A process that ends in the middle finishes when it, or another one, finds its lease expired.
type sharedDeleter struct {
	journal  *journal.Journal
	table    *Table
	usage    usage
	order    *sync.RWMutex // deleter.order
	held     *heldSeries
	registry *catalog.Registry
	forget   func(ctx context.Context, ids []index.ID, until int64) error // see Options.Forget
	follow   func(ctx context.Context, ids []index.ID) error              // see Options.Follow
	revive   func(ctx context.Context, ids []index.ID) error              // see Options.Revive

	// deleteRolled: see Options.DeleteRolled. It is called when the journal has the deletion.
	deleteRolled func(ctx context.Context, d *Deletion, until int64) error
	flushing     sync.Locker // Flusher.mu, if there is a log
	reports      reports
	now          func() time.Time

	// running has room for one: the deletion that is carried out.
	running turn

	lessons lessons
}

// lesson is a deletion of the journal as this process knows it.
type lesson struct {
	*journal.Entry
	cut      int64 // the head has lost what was acknowledged until then
	followed bool  // series that are deleted are forgotten here
	looked   bool  // this process has looked at the rows once more
}

func newSharedDeleter(o *Options, table *Table, held *heldSeries) *sharedDeleter {
	return &sharedDeleter{
		journal: journal.New(o.DB, o.Tables.Tree, o.Now), table: table, order: held.order, held: held, registry: o.Registry,
		forget: o.Forget, follow: o.Follow, revive: o.Revive, usage: usage{table: table, stored: o.Stored}, deleteRolled: o.DeleteRolled,
		reports: reports{o.Logger}, now: o.Now, lessons: lessons{learned: map[string]*lesson{}}, running: make(turn, 1),
	}
}

const (
	// journalEvery is how often the journal is read.
	journalEvery = 10 * time.Second
	// journalMargin is how far before the latest record it is read each time: clocks of servers
	// differ, and records may be on their way.
	journalMargin = 5 * time.Minute
	// soonAfter is when the rows of a deletion are looked at for the first time again: a TSD that was
	// compacting one of them puts what it read within two seconds.
	soonAfter  = 15 * time.Second
	renewEvery = journal.Lease / 4
	// lateAfter is when a process has read the journal so long ago, because a flush takes long, that
	// rows may have been looked at for the last time before it puts them.
	lateAfter = verifyDelay / 4
)

var errTaken = errors.New("another process has taken the deletion over")

func (w *Writer) deleteShared(ctx context.Context, d Deletion) (storage.Deleted, error) {
	if w.buffer != nil {
		if err := w.buffer.await(ctx); err != nil {
			return storage.Deleted{}, err
		}
	}
	if d.Repeated && !d.Whole {
		return w.shared.deleteUnrecorded(ctx, d)
	}
	return w.shared.delete(ctx, d)
}

// deleteUnrecorded deletes from the head of this process and from the rows of the table.
func (s *sharedDeleter) deleteUnrecorded(ctx context.Context, d Deletion) (storage.Deleted, error) {
	if err := s.running.take(ctx); err != nil {
		return storage.Deleted{}, err
	}
	defer s.running.free()
	until := s.table.stamps.now()
	if s.usage.buffer != nil {
		s.cutAlone(&d, until)
	}
	r := s.unrecorded(&d, until, true)
	err := r.all(ctx, d.IDs)
	return storage.Deleted{Rows: r.rows}, errors.Join(err, r.damage())
}

// cutAlone lets the head follow a deletion while nothing is appended or flushed.
func (s *sharedDeleter) cutAlone(d *Deletion, until int64) {
	s.flushing.Lock()
	defer s.flushing.Unlock()
	s.order.Lock()
	defer s.order.Unlock()
	s.usage.buffer.cut(d.IDs, d.Start, d.End, until)
}

// delete carries a deletion out.
func (s *sharedDeleter) delete(ctx context.Context, d Deletion) (storage.Deleted, error) {
	if err := s.running.take(ctx); err != nil {
		return storage.Deleted{}, err
	}
	defer s.running.free()
	s.order.Lock() // everything that was acknowledged here is older, what comes is newer
	until := s.table.stamps.now()
	s.table.stamps.raise(until + 1)
	s.table.forgetBeside(d.IDs)
	s.order.Unlock()
	tsuids := s.table.index.TSUIDBytes(nil, d.IDs)
	e, err := s.journal.Begin(ctx, own.Deletion{Start: d.Start, End: d.End, Whole: d.Whole, Until: until}, tsuids)
	if err != nil {
		return storage.Deleted{}, err
	}
	if err := s.learn(ctx); err != nil {
		return storage.Deleted{}, err
	}
	return s.carryOut(ctx, e, d, true)
}

// A turn has room for one who has it.
type turn chan struct{}

// take returns when no other deletion is carried out. Without an error the caller must free.
func (t turn) take(ctx context.Context) error {
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) free() { <-t }

// carryOut deletes from the tables, and records that.
func (s *sharedDeleter) carryOut(ctx context.Context, e *journal.Entry, d Deletion, first bool) (deleted storage.Deleted, err error) {
	if err := s.clearRolled(ctx, e, &d, first); err != nil {
		return deleted, err
	}
	r := s.removal(e, &d, first)
	if err := r.all(ctx, d.IDs); err != nil {
		return storage.Deleted{Rows: r.rows}, fmt.Errorf("delete rows: %w", err)
	}
	deleted.Rows = r.rows
	if d.onlyEmpty() {
		if err := s.usage.findStored(ctx, d.IDs, r.shared); err != nil {
			return deleted, err
		}
	}
	broken := r.damage()
	if d.Whole && broken == nil {
		for ids := range slices.Chunk(d.IDs, rowsPerRead) { // appends to one part wait at a time
			n, err := s.forgetUnused(ctx, ids, r.shared)
			deleted.Series += n
			if err = cmp.Or(err, r.shared.renew(ctx)); err != nil {
				return deleted, err
			}
		}
	}
	done, err := s.journal.Change(ctx, e, func(next *own.Deletion) {
		next.State, next.Until, next.Done = own.DeletionDone, r.shared.until, s.now().UnixMilli()
	})
	switch {
	case err != nil:
		return deleted, err
	case !done:
		return deleted, errTaken
	}
	s.table.stamps.raise(e.Until + 1)
	if err := s.learn(ctx); err != nil {
		return deleted, err
	}
	return deleted, errors.Join(broken, s.pass(ctx, e))
}

// clearRolled deletes what was made of the points. The first time, all that stands was put before the
// deletion was acknowledged.
func (s *sharedDeleter) clearRolled(ctx context.Context, e *journal.Entry, d *Deletion, first bool) error {
	if d.onlyEmpty() {
		return nil
	}
	until := e.Until
	if first {
		until = math.MaxInt64
	}
	return s.deleteRolled(ctx, d, until)
}

// removal returns what deletes from the table.
func (s *sharedDeleter) removal(e *journal.Entry, d *Deletion, first bool) *removal {
	renewed := s.now()
	renew := func(ctx context.Context) error {
		if s.now().Sub(renewed) < renewEvery {
			return nil
		}
		renewed = s.now()
		mine, err := s.journal.Renew(ctx, e)
		if err == nil && !mine {
			err = errTaken
		}
		return err
	}
	return &removal{
		table: s.table, deletion: d, lo: schema.Base(d.Start), hi: schema.Base(d.End),
		shared: &erasure{until: e.Until, seen: first, renew: renew, left: map[string]bool{}},
	}
}

// unrecorded is removal for what has no lease in the journal.
func (s *sharedDeleter) unrecorded(d *Deletion, until int64, first bool) *removal {
	r := s.removal(&journal.Entry{Deletion: own.Deletion{Until: until}}, d, first)
	r.shared.renew = func(context.Context) error { return nil }
	return r
}

// forgetUnused deletes series of which nothing is there.
func (s *sharedDeleter) forgetUnused(ctx context.Context, ids []index.ID, e *erasure) (n int, err error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id index.ID) bool { return e.left[s.table.index.TSUID(id)] })
	err = s.held.while(ctx, ids, func(ctx context.Context) error {
		used, err := s.usage.writtenTo(ctx, ids)
		if err != nil {
			return err
		}
		if err := s.usage.addBeside(ctx, ids, used); err != nil {
			return err
		}
		unused := slices.DeleteFunc(ids, func(id index.ID) bool { return used[id] })
		if err := s.forget(ctx, unused, e.until); err != nil {
			return fmt.Errorf("delete %d series: %w", len(unused), err)
		}
		n = len(unused)
		return nil
	})
	return n, err
}

// addBeside adds those of some series beside whose points this process has put what stands.
func (u *usage) addBeside(ctx context.Context, ids []index.ID, used map[index.ID]bool) error {
	noted := slices.DeleteFunc(u.table.besideOf(ids), func(id index.ID) bool { return used[id] })
	if len(noted) == 0 {
		return nil
	}
	stored, err := u.stored(ctx, noted)
	if err != nil {
		return fmt.Errorf("look what is stored of series: %w", err)
	}
	maps.Copy(used, stored)
	return nil
}

// writtenTo returns the series into which this process has written points that stand: in the head,
// or in the row that it wrote last.
func (u *usage) writtenTo(ctx context.Context, ids []index.ID) (map[index.ID]bool, error) {
	used := map[index.ID]bool{}
	var keys [][]byte
	var of []index.ID
	for _, id := range ids {
		if u.buffer != nil && u.buffer.head.Any(uint32(id)) {
			used[id] = true
			continue
		}
		st := u.table.states.Of(id)
		st.mu.Lock()
		base := st.base
		st.mu.Unlock()
		if base > 0 {
			of, keys = append(of, id), append(keys, u.table.layout.AppendRowKey(nil, []byte(u.table.index.TSUID(id)), base))
		}
	}
	for n := 0; n < len(keys); n += rowsPerRead {
		part := keys[n:min(n+rowsPerRead, len(keys))]
		rows, err := u.table.db.Get(ctx, u.table.name, schema.FamilyData, part)
		if err != nil {
			return nil, fmt.Errorf("look which series are written to: %w", err)
		}
		for i := range rows {
			used[of[n+i]] = len(rows[i].Cells) > 0
		}
	}
	return used, nil
}

// pass returns when the engine's clock has passed the time of a deletion: what any process puts by
// that clock from now on is newer.
func (s *sharedDeleter) pass(ctx context.Context, e *journal.Entry) error {
	for {
		at, err := s.journal.Changed(ctx, e)
		if err != nil || at > e.Until {
			return err
		}
		if !retry.Sleep(ctx, time.Duration(e.Until-at+1)*time.Millisecond) {
			return ctx.Err()
		}
		if mine, err := s.journal.Renew(ctx, e); err != nil || !mine {
			return err
		}
	}
}

// lessons are the deletions of the journal as this process knows them.
type lessons struct {
	begun    atomic.Int64 // deletions of all processes that are not carried out
	learning sync.Mutex   // guards all below
	since    int64        // the journal was read up to this time of the engine's clock
	readAt   time.Time    // when it was read last, by the clock of this process
	learned  map[string]*lesson
	again    []Deletion // parts of deletions to carry out once more; see replayFilter
}

// usage finds out which series have points.
type usage struct {
	table  *Table
	buffer *buffer // nil: there is no log
	stored func(ctx context.Context, ids []index.ID) (map[index.ID]bool, error)
}
