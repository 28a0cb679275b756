package write_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// deletionBegin is the begin of an hour of 2013.
const deletionBegin = 1356998400000

// ledger is tables with some series, what they should hold, and a reader of them. Writers of the
// ledger are its only writers.
type ledger struct {
	t      *testing.T
	db     kv.KV
	clock  atomic.Int64 // of the tables and of all writers, milliseconds; it moves with each look
	reader *store.Store
	tsuids [][]byte
	refs   []storage.Ref
	model  *storetest.Model
}

func newLedger(t *testing.T, shared bool) *ledger {
	l := &ledger{t: t}
	l.clock.Store(1_700_000_000_000)
	l.db = kv.NewMem(storetest.Tables()...)
	if shared {
		db := kv.NewShared(storetest.Tables()...)
		db.SetClock(func() int64 { return l.clock.Add(1) })
		l.db = db
	}
	reader := storetest.Start(t, l.db, func(o *store.Options) { o.Exclusive, o.Now = false, l.now })
	for _, host := range []string{"a", "b", "c"} { // one after the other, so that their rows are in this order
		l.refs = append(l.refs, reader.Resolve([]storage.Series{storetest.Series("m", "host", host)})...)
	}
	reader.Stop() // what it does in the background; it goes on reading
	l.reader = reader.Store
	for row, err := range l.db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: schema.FamilyMeta}) {
		if err != nil {
			t.Fatal(err)
		}
		l.tsuids = append(l.tsuids, bytes.Clone(row.Key))
	}
	l.model = storetest.NewModel(len(l.refs))
	return l
}

func (l *ledger) now() time.Time { return time.UnixMilli(l.clock.Add(1)) }

// check compares the tables with the model.
func (l *ledger) check() {
	l.t.Helper()
	l.model.Check(l.t, l.reader, l.refs, 0, storage.MaxTime)
}

// point is a batch of one point of a series, minutes after the begin, which the model notes.
func (l *ledger) point(n int, minute int64, value float64) *storage.Batch {
	var b storage.Batch
	b.Add(l.refs[n], deletionBegin+minute*60_000, value)
	l.model.Put(n, deletionBegin+minute*60_000, storetest.Sample{Bits: math.Float64bits(value)})
	return &b
}

// points writes a point of each series each ten minutes for some hours.
func (l *ledger) points(s *scribe, hours int64) {
	l.t.Helper()
	for n := range l.refs {
		for minute := int64(0); minute < hours*60; minute += 10 {
			s.append(l.point(n, minute, float64(minute)+float64(n)/8))
		}
	}
}

// scribe is a writer of a ledger, and the room above it.
type scribe struct {
	*write.Writer
	write.Steps
	l        *ledger
	o        write.Options
	disk     *logtest.Disk
	registry *catalog.Registry
	stop     func()

	mu       sync.Mutex // guards all below
	forgot   []index.ID
	followed []index.ID
}

// open starts a writer over db, which is the ledger's, perhaps with faults.
func (l *ledger) open(db kv.KV, change func(*write.Options)) *scribe {
	l.t.Helper()
	_, isShared := l.db.(*kv.Shared)
	layout, engine := schema.DefaultLayout(), kv.NewEngine(db, !isShared)
	s := &scribe{l: l, disk: logtest.New(1)}
	x := index.New(layout)
	s.registry = catalog.NewRegistry(x, layout, engine.Exclusive)
	s.o = write.Options{
		DB: engine, Tables: storage.Tables{Data: "tsdb", UID: "tsdb-uid", Meta: "tsdb-meta", Tree: "tsdb-tree"},
		Layout: layout, Series: x, Registry: s.registry, Mode: write.Through, Buffer: write.DefaultBufferOptions(),
		Forget: s.forget, Follow: s.follow, Revive: s.revive, Now: l.now, Logger: slog.New(slog.DiscardHandler),
	}
	if engine.Exclusive {
		s.o.Days = catalog.NewDays(engine, s.o.Tables, x, s.registry)
	}
	for _, tsuid := range l.tsuids {
		id, _, err := x.Add(tsuid)
		if err != nil {
			l.t.Fatal(err)
		}
		s.registry.Note(id)
	}
	s.registry.SetLoaded()
	if s.o.Days != nil {
		if err := s.o.Days.Begin(l.t.Context()); err != nil {
			l.t.Fatal(err)
		}
	}
	s.o.Buffer.SegmentBytes, s.o.Buffer.CheckInterval = 16<<10, 1<<40 // nothing is flushed by itself
	change(&s.o)
	s.start()
	l.t.Cleanup(func() { s.stop() })
	return s
}

func buffered(o *write.Options) { o.Mode, o.Buffer.Dir = write.Buffered, "log" }
func through(*write.Options)    {}

// logged is through, with a log for what is not acknowledged.
func logged(o *write.Options) { o.LogUnacknowledged, o.Buffer.Dir = true, "log" }

// start starts the writer, and waits until it has replayed its log.
func (s *scribe) start() {
	t := s.l.t
	t.Helper()
	s.o.Buffer.FS, s.o.Registerer = s.disk, prometheus.NewRegistry()
	w, err := write.New(s.o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	s.Writer, s.Steps = w, w.Steps()
	s.stop = sync.OnceFunc(func() {
		end()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	for w.Replayed() != nil {
		time.Sleep(time.Millisecond)
	}
}

// kill ends the process without a word, and starts the next one.
func (s *scribe) kill(seed uint64) {
	s.stop()
	s.disk = s.disk.Kill(seed)
	s.start()
}

func (s *scribe) forget(_ context.Context, ids []index.ID, _ int64) error {
	s.registry.Forget(ids)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forgot = append(s.forgot, ids...)
	return nil
}

func (s *scribe) follow(_ context.Context, ids []index.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followed = append(s.followed, ids...)
	return nil
}

func (s *scribe) revive(_ context.Context, ids []index.ID) error {
	for _, id := range ids {
		s.registry.Note(id)
	}
	return nil
}

// must fails the test on an error of the writer.
func (s *scribe) must(err error) {
	s.l.t.Helper()
	if err != nil {
		s.l.t.Fatal(err)
	}
}

func (s *scribe) append(b *storage.Batch) {
	s.l.t.Helper()
	s.must(s.Append(s.l.t.Context(), b))
}

// flush puts everything into the tables.
func (s *scribe) flush() {
	t := s.l.t
	t.Helper()
	if s.Head() != nil {
		s.must(s.FlushAll(t.Context()))
	}
	if s.o.DB.Versioned != nil {
		s.must(s.VerifyAll(t.Context()))
		s.must(s.FollowDeletions(t.Context()))
	}
}

// of returns the numbers of series.
func (l *ledger) of(some ...int) (ids []index.ID) {
	for _, n := range some {
		ids = append(ids, index.IDOf(l.refs[n]))
	}
	return ids
}

// whole is the deletion of series.
func (l *ledger) whole(some ...int) write.Deletion {
	return write.Deletion{IDs: l.of(some...), Start: 0, End: storage.MaxTime, Whole: true}
}

// note applies a deletion to the model.
func (l *ledger) note(d write.Deletion) {
	for _, id := range d.IDs {
		l.model.Delete(slices.Index(l.refs, index.RefOf(id)), d.Start, d.End)
	}
}

var writerKinds = []struct {
	name   string
	shared bool
	flags  func(*write.Options)
}{
	{"local, through", false, through},
	{"local, buffered", false, buffered},
	{"local, logged", false, logged},
	{"shared, through", true, through},
	{"shared, buffered", true, buffered},
	{"shared, logged", true, logged},
}

// TestWriterAgainstModel: after random appends, flushes, deletions and kills, the tables have what
// was written since the last deletion of each instant, and nothing else.
func TestWriterAgainstModel(t *testing.T) {
	for _, kind := range writerKinds {
		t.Run(kind.name, func(t *testing.T) {
			for seed := range scale.Of[uint64](t, "random histories of a writer that deletes", 12, 24, 400) {
				rng := rand.New(rand.NewPCG(seed, 11))
				l := newLedger(t, kind.shared)
				s := l.open(l.db, kind.flags)
				for range 40 {
					s.randomStep(rng)
				}
				if rng.IntN(2) == 0 {
					s.flush()
				}
				s.stop()
				s.must(s.Close(t.Context(), false))
				l.check()
				if left, err := s.o.Buffer.HoldsLog(); left || err != nil {
					t.Errorf("a log is left: %v, %v", left, err)
				}
				if t.Failed() {
					t.Fatalf("seed %d", seed)
				}
			}
		})
	}
}

func (s *scribe) randomStep(rng *rand.Rand) {
	t, l := s.l.t, s.l
	t.Helper()
	switch rng.IntN(8) {
	default:
		var b storage.Batch
		one := rng.IntN(2)
		for range 1 + rng.IntN(20) {
			l.model.AddRandom(rng, &b, l.refs, 3*7200)
		}
		if one == 0 {
			s.append(&b)
		} else {
			s.must(s.AppendLogged(t.Context(), &b))
		}
	case 0, 1:
		s.randomDelete(rng)
	case 2:
		s.flush()
	case 3:
		if s.Head() != nil {
			s.must(s.FlushDue(t.Context()))
		}
	case 4:
		s.kill(rng.Uint64())
	}
}

func (s *scribe) randomDelete(rng *rand.Rand) {
	t, l := s.l.t, s.l
	t.Helper()
	n := rng.IntN(len(l.refs))
	d := l.whole(n, (n+rng.IntN(2))%len(l.refs))
	if rng.IntN(3) > 0 {
		d.Whole = false
		d.Start = deletionBegin + rng.Int64N(3*7200)*500
		d.End = d.Start + rng.Int64N(2*7200)*500
		if rng.IntN(3) == 0 { // whole hours
			d.Start -= d.Start % 3600_000
			d.End = d.Start + 2*3600_000 - 1
		}
		// On shared tables such a deletion is not recorded: a log that is replayed has its points.
		d.Repeated = rng.IntN(2) == 0 && (s.o.DB.Exclusive || s.Head() == nil)
	}
	_, err := s.Delete(t.Context(), d)
	s.must(err)
	l.note(d)
}

// TestDeleteCounts: a deletion returns how many rows and series it deleted, forgets the series that
// it deletes whole, and no others.
func TestDeleteCounts(t *testing.T) {
	for _, kind := range writerKinds {
		t.Run(kind.name, func(t *testing.T) {
			l := newLedger(t, kind.shared)
			s := l.open(l.db, kind.flags)
			l.points(s, 4)
			s.flush()
			part := write.Deletion{IDs: l.of(1, 0, 1), Start: deletionBegin + 30*60_000, End: deletionBegin + 3*3600_000 - 1}
			for _, step := range []struct {
				name   string
				d      write.Deletion
				want   storage.Deleted
				forgot []index.ID
			}{
				{"of three hours of two series", part, storage.Deleted{Rows: 6}, nil},
				{"of the same again", part, storage.Deleted{}, nil},
				{"of no time", write.Deletion{IDs: l.of(2), Start: 5, End: 4}, storage.Deleted{}, nil},
				{"of no series", write.Deletion{Start: 0, End: storage.MaxTime}, storage.Deleted{}, nil},
				{"of two series", l.whole(2, 0), storage.Deleted{Rows: 4 + 2, Series: 2}, l.of(0, 2)},
			} {
				got, err := s.Delete(t.Context(), step.d)
				s.must(err)
				if got != step.want {
					t.Errorf("a deletion %s = %+v, want %+v", step.name, got, step.want)
				}
				slices.Sort(s.forgot)
				if diff := cmp.Diff(step.forgot, s.forgot); diff != "" {
					t.Errorf("a deletion %s forgot (-want +got):\n%s", step.name, diff)
				}
				l.note(step.d)
				l.check()
			}
			// A later point brings its series back, and nothing else.
			s.append(l.point(0, 5, 42))
			if !s.registry.Of(index.IDOf(l.refs[0])).Exists() || s.registry.Of(index.IDOf(l.refs[2])).Exists() {
				t.Error("an append registers its series again, and no others")
			}
			s.flush()
			l.check()
		})
	}
}

// TestDeleteRefuses what it cannot do, and deletes nothing then.
func TestDeleteRefuses(t *testing.T) {
	for _, kind := range writerKinds {
		l := newLedger(t, kind.shared)
		s := l.open(l.db, kind.flags)
		l.points(s, 1)
		for _, d := range []write.Deletion{
			{IDs: l.of(0), Start: -1, End: storage.MaxTime}, {IDs: l.of(0), Start: 0, End: storage.MaxTime + 1},
		} {
			if _, err := s.Delete(t.Context(), d); !errors.Is(err, storage.ErrInvalid) {
				t.Errorf("%s: Delete of %d to %d = %v, want ErrInvalid", kind.name, d.Start, d.End, err)
			}
		}
		s.flush()
		l.check()
	}
	l := newLedger(t, false)
	s := l.open(l.db, func(o *write.Options) {
		o.Registry = catalog.NewRegistry(o.Series, o.Layout, true)
	})
	if _, err := s.Delete(t.Context(), l.whole(0)); !errors.Is(err, storage.ErrNotReady) {
		t.Errorf("Delete before the series are known = %v, want ErrNotReady", err)
	}
}

// TestDeletionGoesOn: whichever change of the tables fails during a deletion, the points before it
// go in the end, and those that were appended after the error stay, over a kill too.
func TestDeletionGoesOn(t *testing.T) {
	for _, when := range []kvtest.When{kvtest.Before, kvtest.Midway} {
		for _, whole := range []bool{false, true} {
			failures := 0
			for nth := 1; deletionFails(t, nth, when, whole); nth++ {
				failures++
			}
			if failures == 0 {
				t.Errorf("no change of a deletion failed (%s, whole %v)", when, whole)
			}
		}
	}
}

// deletionFails reports whether there was an nth change to fail.
func deletionFails(t *testing.T, nth int, when kvtest.When, whole bool) bool {
	t.Helper()
	l := newLedger(t, false)
	faulty := kvtest.New(l.db)
	s := l.open(faulty, func(o *write.Options) {
		buffered(o)
		o.Buffer.FlushDelay = 0 // all rows are due
	})
	l.points(s, 3)
	s.flush()
	s.append(l.point(0, 95, 1.5)) // in the head
	d := write.Deletion{IDs: l.of(0, 1), Start: deletionBegin + 30*60_000, End: deletionBegin + 130*60_000}
	if whole {
		d = l.whole(0, 1)
	}
	faulty.Fail(kvtest.Apply, nth, when)
	_, err := s.Delete(t.Context(), d)
	l.note(d)
	if err == nil { // it had fewer changes
		return false
	}
	if !errors.Is(err, kvtest.ErrFault) {
		t.Fatal(err)
	}
	s.append(l.point(0, 100, 2.5))
	s.append(l.point(1, 50, 3.5))
	if nth%2 == 0 {
		s.kill(uint64(nth))
	}
	s.must(s.FlushDue(t.Context()))
	if n := s.Head().Stats().Rows; n != 2 {
		t.Errorf("%d rows wait for the end of the deletion, want 2", n)
	}
	s.must(s.FinishDeletions(t.Context()))
	if got := slices.Contains(s.forgot, index.IDOf(l.refs[0])); got && !whole {
		t.Error("a deletion of points forgot a series")
	}
	s.flush()
	l.check()
	s.stop()
	return true
}

// TestDeletionOfManyRows: where all rows of a time are of series that a deletion names they go as a
// range, else one by one. Both leave the points of other times and series, and count the same.
func TestDeletionOfManyRows(t *testing.T) {
	const hours = 24
	start, end := int64(deletionBegin+90*60_000), int64(deletionBegin+20*3600_000+30*60_000)
	for _, kind := range writerKinds {
		for _, c := range []struct {
			name       string
			series     []int
			start, end int64
			rows       int
		}{
			{"all series", []int{0, 1, 2}, start, end, 3 * 20},
			{"all series, whole hours", []int{0, 1, 2}, start - 30*60_000, end + 30*60_000 - 1, 3 * 20},
			{"some series", []int{0, 2}, start, end, 2 * 20},
			{"all series and times", []int{0, 1, 2}, 0, storage.MaxTime, 3 * hours},
		} {
			t.Run(fmt.Sprint(kind.name, ", ", c.name), func(t *testing.T) {
				l := newLedger(t, kind.shared)
				s := l.open(l.db, kind.flags)
				l.points(s, hours)
				s.flush()
				d := write.Deletion{IDs: l.of(c.series...), Start: c.start, End: c.end}
				got, err := s.Delete(t.Context(), d)
				s.must(err)
				if got.Rows != c.rows {
					t.Errorf("%d rows deleted, want %d", got.Rows, c.rows)
				}
				l.note(d)
				l.check()
			})
		}
	}
}

// TestRangesKeepUnknownSeries: a row of a series that no index knows stays where all others go.
func TestRangesKeepUnknownSeries(t *testing.T) {
	l := newLedger(t, false)
	s := l.open(l.db, through)
	l.points(s, 24)
	tsuid := bytes.Clone(l.tsuids[0])
	tsuid[len(tsuid)-1] = 99
	key := schema.DefaultLayout().AppendRowKey(nil, tsuid, deletionBegin/1000+3600)
	row := kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: []byte{0, 0}, Value: []byte{42}}}}
	s.must(l.db.Apply(t.Context(), "tsdb", schema.FamilyData, []kv.Mutation{row}))
	d := write.Deletion{IDs: l.of(0, 1, 2), Start: 0, End: storage.MaxTime}
	_, err := s.Delete(t.Context(), d)
	s.must(err)
	l.note(d)
	l.check()
	rows, err := l.db.Get(t.Context(), "tsdb", schema.FamilyData, [][]byte{key})
	s.must(err)
	if len(rows[0].Cells) != 1 {
		t.Error("the row of another series is gone")
	}
}

// TestUnrecordedDeletion deletes from shared tables and from the head, and leaves no record for
// other processes.
func TestUnrecordedDeletion(t *testing.T) {
	for _, flags := range []func(*write.Options){through, buffered} {
		l := newLedger(t, true)
		s := l.open(l.db, flags)
		l.points(s, 3)
		s.flush()
		s.append(l.point(0, 125, 1.5))
		if s.Head() != nil { // an hour without a row in the table
			s.append(l.point(0, 245, 1.5))
		}
		d := write.Deletion{IDs: l.of(0, 1), Start: deletionBegin + 3600_000, End: deletionBegin + 5*3600_000 - 1, Repeated: true}
		got, err := s.Delete(t.Context(), d)
		s.must(err)
		if got != (storage.Deleted{Rows: 4}) {
			t.Errorf("deleted %+v, want 4 rows", got)
		}
		l.note(d)
		s.append(l.point(0, 126, 2.5))
		s.flush()
		l.check()
		for row := range l.db.Scan(t.Context(), kv.Scan{Table: "tsdb-tree", Family: "t"}) {
			t.Errorf("there is a record %x", row.Key)
		}
	}
}

// TestSalvageDeletes: a log that is salvaged into its tables brings no deleted point back, and keeps
// what came after the deletion.
func TestSalvageDeletes(t *testing.T) {
	for _, whole := range []bool{false, true} {
		db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
		s := storetest.StartBuffered(t, db, disk, neverFlush)
		refs, m := s.Resolve(twoSeries), storetest.NewModel(len(twoSeries))
		add := func(n int, minute int64) {
			t.Helper()
			var b storage.Batch
			b.Add(refs[n], deletionBegin+minute*60_000, float64(minute))
			m.Put(n, deletionBegin+minute*60_000, storetest.Sample{Bits: math.Float64bits(float64(minute))})
			if err := s.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
		}
		for minute := range int64(100) {
			add(0, minute)
			add(1, minute)
		}
		d := storage.Deletion{Refs: refs[:1], Start: deletionBegin + 10*60_000, End: deletionBegin + 80*60_000, Whole: whole}
		if _, err := s.Delete(t.Context(), d); err != nil {
			t.Fatal(err)
		}
		m.Delete(0, d.Start, d.End)
		if whole {
			m.Delete(0, 0, storage.MaxTime)
		}
		add(0, 50)
		s.Stop()
		disk = disk.Kill(1)
		after := storetest.Open(t, db)
		if _, left, err := after.SalvageLog(t.Context(), write.BufferOptions{Dir: "log", FS: disk}); err != nil || left != 0 {
			t.Fatalf("salvage leaves %d records: %v", left, err)
		}
		m.Check(t, after, storetest.Resolve(t, after, twoSeries...), 0, storage.MaxTime)
	}
}

// TestHeadsFollowDeletions: what another process holds in memory goes too if it was acknowledged
// before the deletion, stays if it was acknowledged after it, and each process is told of the series
// that are deleted.
func TestHeadsFollowDeletions(t *testing.T) {
	for _, whole := range []bool{false, true} {
		t.Run(fmt.Sprint("whole ", whole), func(t *testing.T) {
			l := newLedger(t, true)
			one, other := l.open(l.db, buffered), l.open(l.db, buffered)
			l.points(one, 2)
			one.flush()
			other.append(l.point(0, 35, 1.5))
			other.append(l.point(2, 35, 2.5))
			d := write.Deletion{IDs: l.of(0, 1), Start: deletionBegin + 30*60_000, End: deletionBegin + 90*60_000}
			if whole {
				d = l.whole(0, 1)
			}
			_, err := one.Delete(t.Context(), d)
			one.must(err)
			l.note(d)
			other.append(l.point(0, 36, 3.5))
			other.kill(5)
			other.flush()
			one.flush()
			l.check()
			if got := len(other.followed) > 0; got != whole {
				t.Errorf("the other process was told of %d series that were deleted", len(other.followed))
			}
		})
	}
}

// TestDeletionIsTakenOver: a process that ends in the middle of a deletion leaves it to another one,
// as soon as its lease has expired.
func TestDeletionIsTakenOver(t *testing.T) {
	taken := 0
	for nth := 1; ; nth++ {
		l := newLedger(t, true)
		faulty := kvtest.NewVersioned(l.db.(*kv.Shared))
		one, other := l.open(faulty, through), l.open(l.db, through)
		l.points(one, 3)
		d := write.Deletion{IDs: l.of(0, 2), Start: deletionBegin + 30*60_000, End: deletionBegin + 130*60_000}
		faulty.Fail(kvtest.Unchanged, nth, kvtest.Before)
		_, err := one.Delete(t.Context(), d)
		one.stop()
		if err == nil {
			break
		}
		if !errors.Is(err, kvtest.ErrFault) {
			t.Fatal(err)
		}
		taken++
		l.clock.Add(journal.Lease.Milliseconds() + 1000)
		other.must(other.FollowDeletions(t.Context()))
		other.append(l.point(0, 61, 1.5))
		model := l.model.Clone()
		l.note(d)
		l.model.Put(0, deletionBegin+61*60_000, storetest.Sample{Bits: math.Float64bits(1.5)})
		if l.model.Diff(model) == "" {
			t.Fatal("the deletion has nothing to delete")
		}
		l.check()
		other.stop()
	}
	if taken == 0 {
		t.Error("no deletion was taken over")
	}
}

// TestWriterRetention deletes the rows of the hours that are older than the retention, and those
// only.
func TestWriterRetention(t *testing.T) {
	l := newLedger(t, false)
	now := time.UnixMilli(deletionBegin)
	s := l.open(l.db, func(o *write.Options) {
		o.Retention, o.Now = 10*time.Hour, func() time.Time { return now }
	})
	s.stop() // passes by themselves
	l.points(s, 8)
	for _, at := range []time.Duration{0, 11*time.Hour - time.Millisecond, 11 * time.Hour, 13*time.Hour + 59*time.Minute, 100 * time.Hour} {
		now = time.UnixMilli(deletionBegin).Add(at)
		s.must(s.DeleteOld(t.Context()))
		for n := range l.refs {
			l.model.Delete(n, 0, deletionBegin+((at-10*time.Hour)/time.Hour*time.Hour).Milliseconds()-1)
		}
		l.check()
	}
	for n := range l.refs {
		if l.model.Has(n) {
			t.Errorf("series %d has points in the end", n)
		}
	}
	if _, err := write.New(write.Options{DB: kv.NewEngine(kv.NewShared(storetest.Tables()...), false), Retention: time.Hour, Registerer: prometheus.NewRegistry()}); err == nil {
		t.Error("a retention on tables of others is no error")
	}
}
