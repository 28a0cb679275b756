package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// failingShared is a shared engine whose changes fail from one on, once it is armed.
type failingShared struct {
	*kv.Shared
	left atomic.Int64 // changes that succeed
}

func (f *failingShared) change() error {
	if f.left.Add(-1) < 0 {
		return errFails
	}
	return nil
}

func (f *failingShared) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Shared.Apply(ctx, table, family, rows)
}

func (f *failingShared) ApplyUnchanged(ctx context.Context, table, family string, rows []kv.Conditional) ([]bool, error) {
	if err := f.change(); err != nil {
		return nil, err
	}
	return f.Shared.ApplyUnchanged(ctx, table, family, rows)
}

func (f *failingShared) CheckAndPut(ctx context.Context, c kv.Column, expected, value []byte) (bool, error) {
	if err := f.change(); err != nil {
		return false, err
	}
	return f.Shared.CheckAndPut(ctx, c, expected, value)
}

// fill has every adapter write some points of each series and hour; some are flushed.
func (w *world) fill() {
	w.t.Helper()
	for i, a := range w.adapters {
		for n := range a.refs {
			for h := range int64(hours) {
				for minute := range int64(6) {
					w.writeAt(a, n, h*3600_000+(minute*4+int64(i))*60_000, float64(i)+0.5)
				}
			}
		}
		if i == 1 {
			a.flush()
		}
	}
}

// writeAt has an adapter acknowledge a point, a millisecond after everything before.
func (w *world) writeAt(a *adapter, series int, offset int64, v float64) {
	w.t.Helper()
	w.clock.Add(1)
	var b storage.Batch
	b.Add(a.refs[series], 1356998400000+offset, v)
	w.model.Put(series, 1356998400000+offset, storetest.Sample{Bits: math.Float64bits(v)})
	if err := a.Append(w.t.Context(), &b); err != nil {
		w.t.Fatal(err)
	}
}

// erase has an adapter delete, and returns its error.
func (w *world) erase(a *adapter, d storage.Deletion) error {
	w.clock.Add(raised)
	w.deleting.Store(1)
	defer w.deleting.Store(0)
	_, err := a.Delete(w.t.Context(), d)
	return err
}

// journal returns the records of the journal of deletions.
func (w *world) journal() (records []own.Deletion) {
	w.t.Helper()
	scan := kv.Scan{Table: "tsdb-tree", Family: "t"}
	scan.Start, scan.Stop = own.Deletions()
	for row, err := range w.db.Scan(w.t.Context(), scan) {
		if err != nil {
			w.t.Fatal(err)
		}
		record, err := own.ParseDeletion(row.Cells[0].Value)
		if err != nil {
			w.t.Fatal(err)
		}
		records = append(records, record)
	}
	return records
}

// followAll has all adapters follow the journal and flush, twice: some finish what others left.
func (w *world) followAll() {
	w.t.Helper()
	for range 2 {
		for _, a := range w.adapters {
			w.clock.Add(1)
			a.flush()
		}
	}
}

// Each change of a deletion fails in turn, and then the process is killed or goes on. Other
// processes, or the next, finish what is in the journal. What is written afterwards stays.
func TestSharedDeletionIsFinished(t *testing.T) {
	for n := range 1 << 3 {
		whole, through, killed := n&1 != 0, n&2 != 0, n&4 != 0
		failures := int64(0)
		for sharedDeletionFails(t, failures, whole, through, killed) {
			failures++
		}
		if failures < 3 {
			t.Errorf("a deletion has %d changes", failures)
		}
	}
}

func sharedDeletionFails(t *testing.T, changes int64, whole, through, killed bool) (failed bool) {
	t.Helper()
	w := newWorld(t, uint64(changes), 0)
	defer func() { *w = world{} }()
	a := w.adapters[0]
	if through {
		a = w.adapters[2]
	}
	w.fill()
	faults := &failingShared{Shared: w.db}
	faults.left.Store(math.MaxInt64)
	a.db = faults
	a.kill()
	d := storage.Deletion{Refs: a.refs[:1], Start: 1356998400000 + 300_000, End: 1356998400000 + 4500_000, Whole: whole}
	faults.left.Store(changes)
	err := w.erase(a, d)
	faults.left.Store(math.MaxInt64)
	if begun := len(w.journal()) > 0; begun {
		if whole {
			d.Start, d.End = 0, storage.MaxTime
		}
		w.model.Delete(0, d.Start, d.End)
	} else if err == nil {
		t.Fatal("the journal has no record of a deletion that succeeded")
	}
	w.clock.Add(2 * raised)
	if a.db = w.db; killed {
		a.kill()
	}
	w.writeAt(w.adapters[3], 0, 600_000, 8)
	w.writeAt(w.adapters[1], 0, 3900_000, 9)
	w.clock.Add(2 * journal.Lease.Milliseconds())
	w.followAll()
	w.check()
	w.checkKnown()
	for _, r := range w.journal() {
		if r.State != own.DeletionSettled {
			t.Errorf("after %d changes, error %v: a record of the journal is %+v", changes, err, r)
		}
	}
	return err != nil
}

// find returns whether an adapter finds a series.
func (w *world) finds(s *store.Store, series int) bool {
	w.t.Helper()
	found, err := s.Find(w.t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	return slices.ContainsFunc(found, func(f storage.Found) bool { return f.String() == seriesOfWorld[series].String() })
}

func (w *world) open() *store.Store {
	return storetest.Open(w.t, w.db, func(o *store.Options) { o.Exclusive, o.Index = false, storage.IndexMeta })
}

// A series that one adapter deletes is gone from the others once they read the journal. It comes
// back when one of them writes a point of it, by a Ref from before, also if it did so before it read
// the journal.
func TestOthersFollowDeletedSeries(t *testing.T) {
	for name, a := range map[string]int{"buffered": 1, "through": 2} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, 0)
			other := w.adapters[a]
			w.fill()
			deleted := storage.Deletion{Refs: w.adapters[0].refs[:1], Whole: true}
			if err := w.erase(w.adapters[0], deleted); err != nil {
				t.Fatal(err)
			}
			w.model.Delete(0, 0, storage.MaxTime)
			w.followAll()
			w.check()
			for _, a := range append(w.adapters, &adapter{Process: &storetest.Process{Store: w.open()}}) {
				if w.finds(a.Store, 0) || !w.finds(a.Store, 1) {
					t.Errorf("adapter %q finds the series: %v, the other series: %v", a.name, w.finds(a.Store, 0), w.finds(a.Store, 1))
				}
			}
			w.writeAt(other, 0, 60_000, 7)
			if s := w.open(); !w.finds(other.Store, 0) || !w.finds(s, 0) {
				t.Error("a series that came back is not found")
			}
			if err := w.erase(w.adapters[3], storage.Deletion{Refs: w.adapters[3].refs[:1], Whole: true}); err != nil {
				t.Fatal(err)
			}
			w.model.Delete(0, 0, storage.MaxTime)
			w.clock.Add(10)
			w.writeAt(other, 0, 120_000, 7) // it does not know yet
			w.followAll()
			w.check()
			if s := w.open(); !w.finds(other.Store, 0) || !w.finds(s, 0) {
				t.Error("a series that was written to after its deletion is not found")
			}
		})
	}
}

// A put of a point that was acknowledged before a deletion, and that was on its way meanwhile, is
// deleted when the rows are looked at once more. A put of a point that was acknowledged later stays.
func TestLatePutsOfDeletedPoints(t *testing.T) {
	for _, replayed := range []bool{false, true} {
		w := newWorld(t, 1, 0)
		a, held := w.adapters[2], w.adapters[0]
		w.fill()
		late := w.clock.Add(1)
		w.writeAt(held, 0, 600_000, 4.5)
		if err := w.erase(a, storage.Deletion{Refs: a.refs[:1], Start: 1356998400000 + 300_000, End: 1356998400000 + 900_000}); err != nil {
			t.Fatal(err)
		}
		w.model.Delete(0, 1356998400000+300_000, 1356998400000+900_000)
		if replayed { // the deletion is over when the process that holds the point comes back
			for _, other := range w.adapters {
				if other != held {
					other.flush() // it has read the journal in time
				}
			}
			w.clock.Add(time.Hour.Milliseconds())
			a.flush()
			if r := w.journal(); len(r) != 1 || r[0].State != own.DeletionSettled {
				t.Fatalf("journal: %+v", r)
			}
		}
		point, _ := schema.FloatPoint(600_000, 4.5, schema.ValuesDouble)
		q, v := schema.AppendCell(nil, nil, []schema.Point{point})
		w.apply(kv.Mutation{Key: w.keys[0], Puts: []kv.Put{{Qualifier: q, Value: v, Time: late}}})
		w.clock.Add(10)
		w.writeAt(w.adapters[3], 0, 660_000, 5.5)
		if replayed {
			held.kill()
			held.flush()
		} else {
			a.flush()
		}
		w.followAll()
		w.check()
	}
}

// The journal is cleaned.
func TestOldDeletionsAreDropped(t *testing.T) {
	w := newWorld(t, 1, 0)
	a := w.adapters[2]
	w.fill()
	if err := w.erase(a, storage.Deletion{Refs: a.refs[:1], Start: 0, End: storage.MaxTime}); err != nil {
		t.Fatal(err)
	}
	w.followAll()
	w.clock.Add(journal.Keep.Milliseconds() + 1000)
	if len(w.journal()) != 1 {
		t.Fatal("the journal has no record")
	}
	w.adapters[1].flush()
	scan := kv.Scan{Table: "tsdb-tree", Family: "t"}
	for row := range w.db.Scan(t.Context(), scan) {
		t.Errorf("row %q is left", row.Key)
	}
}

// The journal has lost the series of a deletion. Adapters go on without them: they flush, start,
// delete, and finish what others left.
func TestLostSeriesOfADeletion(t *testing.T) {
	w := newWorld(t, 1, 0)
	a, other := w.adapters[2], w.adapters[0]
	w.fill()
	if err := w.erase(a, storage.Deletion{Refs: a.refs[:1], Start: 1356998400000, End: 1356998400000 + 900_000}); err != nil {
		t.Fatal(err)
	}
	w.model.Delete(0, 1356998400000, 1356998400000+900_000)
	w.followAll()
	lost := own.Deletion{State: own.DeletionBegun, Start: 1356998400000, End: storage.MaxTime, Whole: true, Until: w.clock.Load(), Parts: 2, Owner: "x"}
	key := own.DeletionKey(lost.Until, 7)
	for _, row := range []kv.Mutation{
		{Key: key, Puts: []kv.Put{{Qualifier: []byte(own.DeletionQualifier), Value: lost.Record()}}},
		{Key: own.DeletionSeriesKey(key, 1), Puts: []kv.Put{{Qualifier: []byte(own.DeletionSeriesQualifier), Value: []byte{9}}}},
	} {
		if err := w.db.Apply(t.Context(), "tsdb-tree", "t", []kv.Mutation{row}); err != nil {
			t.Fatal(err)
		}
	}
	w.writeAt(other, 0, 660_000, 5.5)
	if err := other.FlushAll(t.Context()); err != nil {
		t.Error(err)
	}
	if err := w.erase(a, storage.Deletion{Refs: a.refs[1:], Start: 1356998400000, End: 1356998400000 + 900_000}); err != nil {
		t.Error(err)
	}
	w.model.Delete(1, 1356998400000, 1356998400000+900_000)
	for _, a := range w.adapters {
		a.kill()
		w.clock.Add(2 * journal.Lease.Milliseconds())
		if a.Buffered() {
			if err := a.FlushAll(t.Context()); err != nil {
				t.Error(err)
			}
		}
		err := a.FollowDeletions(t.Context())
		for deadline := time.Now().Add(time.Minute); err == nil && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			err = a.FollowDeletions(t.Context()) // Run may have its turn
		}
		if !errors.Is(err, journal.ErrLost) {
			t.Errorf("a deletion that cannot be finished: %v", err)
		}
	}
	w.check()
	for _, r := range w.journal() {
		if (r.State == own.DeletionSettled) != (r.Owner != "x" && r.Parts == 1) {
			t.Errorf("%+v", r)
		}
	}
}

// An adapter whose clock is far ahead of the engine's follows deletions.
func TestFollowWithAFastClock(t *testing.T) {
	w := newWorld(t, 1, 0)
	a, fast := w.adapters[2], w.adapters[0]
	fast.skew = time.Hour.Milliseconds()
	fast.kill()
	w.clock.Add(1000)
	fast.flush()
	w.writeAt(a, 0, 60_000, 7)
	if err := w.erase(a, storage.Deletion{Refs: a.refs[:1], Whole: true}); err != nil {
		t.Fatal(err)
	}
	if fast.flush(); w.finds(fast.Store, 0) {
		t.Error("a series that was deleted is found")
	}
}

// countingShared counts the rows that are read with their past.
type countingShared struct {
	*kv.Shared
	rows atomic.Int64
}

func (c *countingShared) History(ctx context.Context, table, family string, keys [][]byte) ([]kv.History, error) {
	c.rows.Add(int64(len(keys)))
	return c.Shared.History(ctx, table, family, keys)
}

// Of a series that is deleted as a whole only hours are read that may have rows.
func TestDeleteReadsHoursThatMayHaveRows(t *testing.T) {
	db := &countingShared{Shared: kv.NewShared(storetest.Tables()...)}
	p := storetest.Start(t, db, func(o *store.Options) { o.Exclusive = false })
	var list []storage.Series
	for i := range 400 {
		list = append(list, storetest.Series("m", "host", fmt.Sprint(i)))
	}
	refs := p.Resolve(list)
	now, hour := time.Now().UnixMilli(), time.Hour.Milliseconds()
	for _, at := range []int64{now - 30*24*hour, now - hour, now, now + 23*hour, now + 24*hour, now + 1000*hour, storage.MaxTime} {
		var b storage.Batch
		for _, ref := range refs {
			b.Add(ref, at, 1)
		}
		if err := p.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	db.rows.Store(0)
	for _, d := range []storage.Deletion{
		{Refs: refs[:1], Whole: true},
		{Refs: refs[1:2], Start: now, End: storage.MaxTime},
		{Refs: refs[2:3], Start: 0, End: now - 10*24*hour},
		{Refs: refs[3:80], Start: now + 24*hour, End: now + 1000*hour},
		{Refs: refs[3:5], Start: 0, End: now - 40*24*hour},
	} {
		if _, err := p.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		if tally, err := p.Tally(t.Context(), d); err != nil || tally != (storage.Tally{}) {
			t.Errorf("after %+v: %+v, %v", d, tally, err)
		}
	}
	tally, err := p.Tally(t.Context(), storage.Deletion{Refs: refs, Start: 0, End: storage.MaxTime})
	if want := (storage.Tally{Series: 399, Points: 7*399 - 5 - 1 - 2*77}); err != nil || tally != want {
		t.Errorf("%+v, %v, want %+v", tally, err, want)
	}
	if n := db.rows.Load(); n > 3000 {
		t.Errorf("%d rows were read", n)
	}
}

// gatedShared is a shared engine at whose gate a caller stops that reads tsdb-meta, if its context is
// of gated.
type gatedShared struct {
	*kv.Shared
	reached, removed chan struct{}
}

func (g *gatedShared) Get(ctx context.Context, table, family string, keys [][]byte) ([]kv.Row, error) {
	if ctx.Value(gateKey{}) != nil && table == "tsdb-meta" {
		select {
		case g.reached <- struct{}{}:
		case <-g.removed:
		}
		select {
		case <-g.removed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.Shared.Get(ctx, table, family, keys)
}

// While a process asks the tables about series that were deleted, by itself or by another process,
// nothing is appended to these, and appends to others go on.
func TestAppendBesideForgottenSeries(t *testing.T) {
	for _, follows := range []bool{false, true} {
		w := newWorld(t, 1, 0)
		a := w.adapters[0]
		w.fill()
		db := &gatedShared{Shared: w.db, reached: make(chan struct{}), removed: make(chan struct{})}
		a.db = db
		a.kill()
		gate := context.WithValue(t.Context(), gateKey{}, true)
		done := make(chan error, 1)
		d := storage.Deletion{Refs: a.refs[:1], Whole: true}
		if follows {
			if err := w.erase(w.adapters[2], storage.Deletion{Refs: w.adapters[2].refs[:1], Whole: true}); err != nil {
				t.Fatal(err)
			}
			go func() { done <- a.FollowDeletions(gate) }()
		} else {
			w.deleting.Store(1)
			go func() {
				_, err := a.Delete(gate, d)
				done <- err
			}()
		}
		<-db.reached
		var to, to0 storage.Batch
		to.Add(a.refs[1], 1356998400000+60_000, 1)
		to0.Add(a.refs[0], 1356998400000+60_000, 1)
		other := make(chan error, 1)
		go func() { other <- a.Append(t.Context(), &to) }()
		select {
		case err := <-other:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(10 * time.Second):
			t.Fatal("an append to another series waits")
		}
		short, stop := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer stop()
		if err := a.Append(short, &to0); !errors.Is(err, storage.ErrNotReady) {
			t.Errorf("an append to the series: %v", err)
		}
		go func() { other <- a.Append(t.Context(), &to0) }()
		close(db.removed)
		if err := errors.Join(<-done, <-other); err != nil {
			t.Error(err)
		}
		w.deleting.Store(0)
		if s := w.open(); !w.finds(s, 0) || !w.finds(a.Store, 0) {
			t.Error("the series that came back is not found")
		}
	}
}

// A process appends to a series that was deleted, puts the point into the table, and ends for ever
// before it has read the journal again. Others register the series anew.
func TestSeriesThatCameBackIsRegisteredByOthers(t *testing.T) {
	for _, at := range []int{1, 2} { // buffered and through
		w := newWorld(t, 1, 0)
		a, other := w.adapters[3], w.adapters[at]
		w.fill()
		w.followAll()
		if err := w.erase(a, storage.Deletion{Refs: a.refs[:1], Whole: true}); err != nil {
			t.Fatal(err)
		}
		w.model.Delete(0, 0, storage.MaxTime)
		w.clock.Add(1)
		w.writeAt(other, 0, 60_000, 7)
		if other.Buffered() {
			if err := other.FlushAll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		other.Stop()
		w.adapters = slices.Delete(w.adapters, at, at+1)
		w.followAll()
		w.check()
		w.checkKnown()
		if s := w.open(); !w.finds(a.Store, 0) || !w.finds(s, 0) {
			t.Error("the series that came back is not found")
		}
	}
}

// A retention deletes the same again and again: the journal has no record of it. What another
// process puts later goes the next time.
func TestRepeatedDeletionsHaveNoRecord(t *testing.T) {
	w := newWorld(t, 1, 0)
	a := w.adapters[2]
	w.fill()
	d := storage.Deletion{Refs: a.refs[:1], Start: 1356998400000, End: 1356998400000 + 3600_000 - 1, Repeated: true}
	for range 2 {
		if err := w.erase(a, d); err != nil {
			t.Fatal(err)
		}
		w.followAll()
	}
	w.model.Delete(0, d.Start, d.End)
	w.check()
	if r := w.journal(); len(r) > 0 {
		t.Errorf("journal: %+v", r)
	}
}

// hookedShared is a shared engine that calls a function before changes of a table.
type hookedShared struct {
	*kv.Shared
	table string
	hook  func()
}

func (h *hookedShared) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if table == h.table {
		h.hook()
	}
	return h.Shared.Apply(ctx, table, family, rows)
}

func (h *hookedShared) ApplyUnchanged(ctx context.Context, table, family string, rows []kv.Conditional) ([]bool, error) {
	if table == h.table {
		h.hook()
	}
	return h.Shared.ApplyUnchanged(ctx, table, family, rows)
}

// Another adapter puts a point into the row between the read and the change of a deletion.
func TestDeleteFromARowThatChanges(t *testing.T) {
	w := newWorld(t, 1, 0)
	a, other := w.adapters[2], w.adapters[3]
	w.fill()
	w.followAll()
	var puts sync.Once
	a.db = &hookedShared{Shared: w.db, table: "tsdb", hook: func() { puts.Do(func() { w.writeAt(other, 0, 3000_000, 6) }) }}
	a.kill()
	d := storage.Deletion{Refs: a.refs[:1], Start: 1356998400000, End: 1356998400000 + 900_000}
	if err := w.erase(a, d); err != nil {
		t.Fatal(err)
	}
	w.model.Delete(0, d.Start, d.End)
	w.check()
}

// A flush takes so long that another process deletes, and looks at the rows for the last time, before
// they are put.
func TestFlushLongerThanADeletion(t *testing.T) {
	w := newWorld(t, 1, 0)
	slow, a := w.adapters[0], w.adapters[2]
	d := storage.Deletion{Refs: a.refs[:1], Start: 1356998400000, End: 1356998400000 + 900_000}
	var deletes sync.Once
	slow.db = &hookedShared{Shared: w.db, table: "tsdb", hook: func() {
		deletes.Do(func() {
			w.clock.Add(1000)
			if err := w.erase(a, d); err != nil {
				t.Error(err)
			}
			w.clock.Add(time.Hour.Milliseconds())
			for range 2 {
				a.flush()
			}
			if r := w.journal(); len(r) != 1 || r[0].State != own.DeletionSettled {
				t.Errorf("journal: %+v", r)
			}
		})
	}}
	slow.kill()
	w.clock.Add(1000)
	slow.flush()
	w.writeAt(slow, 0, 60_000, 7)
	w.writeAt(slow, 0, 960_000, 8)
	slow.flush()
	w.model.Delete(0, d.Start, d.End)
	w.followAll()
	w.check()
}

// racingShared is a shared engine in which a flush reads a row between the read and the change of a
// deletion, and changes it after the deletion, if the store lets it.
type racingShared struct {
	*kv.Shared
	deleting atomic.Bool
	flush    func()
	once     sync.Once
	read     chan struct{} // the flush has read
	deleted  chan struct{}
}

func (r *racingShared) History(ctx context.Context, table, family string, keys [][]byte) ([]kv.History, error) {
	rows, err := r.Shared.History(ctx, table, family, keys)
	if table == "tsdb" && r.deleting.Load() {
		select {
		case r.read <- struct{}{}:
		default:
		}
	}
	return rows, err
}

func (r *racingShared) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if table == "tsdb" && r.deleting.Load() {
		<-r.deleted
	}
	return r.Shared.Apply(ctx, table, family, rows)
}

func (r *racingShared) ApplyUnchanged(ctx context.Context, table, family string, rows []kv.Conditional) ([]bool, error) {
	if table != "tsdb" {
		return r.Shared.ApplyUnchanged(ctx, table, family, rows)
	}
	r.once.Do(func() {
		r.deleting.Store(true)
		go r.flush()
		select {
		case <-r.read:
		case <-time.After(300 * time.Millisecond): // it waits for the deletion, as it should
		}
	})
	made, err := r.Shared.ApplyUnchanged(ctx, table, family, rows)
	if r.deleting.Swap(false) {
		close(r.deleted)
	}
	return made, err
}

// A flush of the same process does not put what a deletion has taken out of a row.
func TestDeleteBesideAFlush(t *testing.T) {
	w := newWorld(t, 1, 0)
	a := w.adapters[0]
	w.fill()
	w.followAll()
	a.flush()
	flushed := make(chan struct{})
	a.db = &racingShared{Shared: w.db, read: make(chan struct{}, 1), deleted: make(chan struct{}), flush: func() { a.flush(); close(flushed) }}
	a.kill()
	w.writeAt(a, 0, 16*60_000, 7) // corrects a point that stays
	d := storage.Deletion{Refs: a.refs[:1], Start: 1356998400000, End: 1356998400000 + 900_000}
	if err := w.erase(a, d); err != nil {
		t.Fatal(err)
	}
	w.model.Delete(0, d.Start, d.End)
	<-flushed
	w.check()
}

// The lease of a deletion of many series is renewed while they are taken out of the tables.
func TestLeaseOfALongDeletion(t *testing.T) {
	db := kv.NewShared(storetest.Tables()...)
	var clock atomic.Int64
	clock.Store(1_700_000_000_000)
	db.SetClock(func() int64 { return clock.Add(1) })
	lease := func() (ends int64) {
		scan := kv.Scan{Table: "tsdb-tree", Family: "t"}
		scan.Start, scan.Stop = own.Deletions()
		for row := range db.Scan(t.Context(), scan) {
			d, err := own.ParseDeletion(row.Cells[0].Value)
			if err != nil {
				t.Error(err)
			}
			ends = d.Lease
		}
		return ends
	}
	steps := 0
	hooked := &hookedShared{Shared: db, table: "tsdb-meta", hook: func() {
		if ends := lease(); ends > 0 {
			if now := clock.Add(50_000); now > ends {
				t.Errorf("the lease has ended %d ms ago", now-ends)
			}
			steps++
		}
	}}
	p := storetest.Start(t, hooked, func(o *store.Options) {
		o.Exclusive, o.Now = false, func() time.Time { return time.UnixMilli(clock.Load()) }
	})
	var list []storage.Series
	for i := range 6000 {
		list = append(list, storetest.Series("m", "host", fmt.Sprint(i)))
	}
	deleted, err := p.Delete(t.Context(), storage.Deletion{Refs: p.Resolve(list), Whole: true})
	if err != nil || deleted.Series != len(list) || steps < 5 {
		t.Errorf("%+v, %v in %d steps", deleted, err, steps)
	}
}

// The clock of the adapter that deletes is behind the engine's: what was put before by the latter is
// deleted too, and what is put afterwards stays.
func TestDeleteWithASlowClock(t *testing.T) {
	for _, part := range []int64{900_000, 3600_000 - 1} {
		w := newWorld(t, 1, 0)
		slow, a := w.adapters[0], w.adapters[2]
		slow.skew = -5000
		holder := w.adapters[1] // follows before the deletion knows how late the others' points are
		var follows sync.Once
		slow.db = &hookedShared{Shared: w.db, table: "tsdb", hook: func() {
			follows.Do(func() {
				if err := holder.FollowDeletions(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}}
		slow.kill()
		w.clock.Add(10_000)
		w.writeAt(holder, 0, 240_000, 6)
		w.writeAt(a, 0, 60_000, 7)
		w.writeAt(a, 0, 120_000, 8)
		if err := w.erase(slow, storage.Deletion{Refs: slow.refs[:1], Start: 1356998400000, End: 1356998400000 + part}); err != nil {
			t.Fatal(err)
		}
		w.model.Delete(0, 1356998400000, 1356998400000+part)
		w.followAll()
		w.check()
		w.writeAt(a, 0, 120_000, 9)
		w.writeAt(slow, 0, 180_000, 10)
		w.followAll()
		w.check()
	}
}

// The clock of the adapter that deletes is ahead of the engine's. What a TSD puts by the engine's
// clock after the deletion has returned stays.
func TestDeleteWithAFastClock(t *testing.T) {
	w := newWorld(t, 1, 0)
	fast := w.adapters[0]
	fast.skew = 40
	fast.kill()
	w.fill()
	w.clock.Add(1000)
	w.deleting.Store(1) // by which each use of the engine moves its clock
	d := storage.Deletion{Refs: fast.refs[:1], Start: 1356998400000, End: 1356998400000 + 3600_000 - 1}
	if _, err := fast.Delete(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	w.deleting.Store(0)
	w.model.Delete(0, d.Start, d.End)
	point, _ := schema.FloatPoint(120_000, 9.5, schema.ValuesDouble)
	q, v := schema.AppendCell(nil, nil, []schema.Point{point})
	w.apply(kv.Mutation{Key: w.keys[0], Puts: []kv.Put{{Qualifier: q, Value: v}}})
	w.model.Put(0, 1356998400000+120_000, storetest.Sample{Bits: math.Float64bits(9.5)})
	w.followAll()
	w.check()
}

// A point that was acknowledged in the millisecond in which the deletion begins is deleted.
func TestDeleteInTheMillisecondOfAnAppend(t *testing.T) {
	for n := range 4 {
		w := newWorld(t, 1, 0)
		a := w.adapters[n]
		w.clock.Add(1000)
		w.writeAt(a, 0, 120_000, 9)
		w.deleting.Store(1)
		d := storage.Deletion{Refs: a.refs[:1], Start: 1356998400000, End: 1356998400000 + 600_000}
		if _, err := a.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		w.deleting.Store(0)
		w.model.Delete(0, d.Start, d.End)
		w.check()
		w.followAll()
		w.check()
	}
}

// The clock of a process is earlier after a restart than the last point of its log. What it
// acknowledges then is later than that.
func TestClockGoesBackAtARestart(t *testing.T) {
	w := newWorld(t, 1, 0)
	a := w.adapters[0]
	a.skew = 3000
	a.kill()
	for _, offset := range []int64{120_000, 60_000} { // the log is cut after the first one alone
		w.writeAt(a, 0, offset, 7)
		if err := a.FlushAll(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	a.skew = 0
	a.kill()
	w.writeAt(a, 0, 60_000, 8)
	w.followAll()
	w.check()
}
