package store_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// failing is an engine whose changes fail from one on, once it is armed.
type failing struct {
	kv.Local
	left atomic.Int64 // changes that succeed
}

var errFails = errors.New("the engine fails")

func (f *failing) change() error {
	if f.left.Add(-1) < 0 {
		return errFails
	}
	return nil
}

func (f *failing) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Local.Apply(ctx, table, family, rows)
}

func (f *failing) ApplyUnlogged(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Local.ApplyUnlogged(ctx, table, family, rows)
}

func (f *failing) Flush(ctx context.Context) error {
	if err := f.change(); err != nil {
		return err
	}
	return f.Local.Flush(ctx)
}

var deleteList = []storage.Series{
	storetest.Series("m", "host", "a"), storetest.Series("m", "host", "b"), storetest.Series("n", "host", "a"),
}

// fill writes points of three hours, flushes them, and then corrects some of them.
func fill(t *testing.T, s *store.Store, refs []storage.Ref, m *storetest.Model) {
	t.Helper()
	write := func(step int, value float64) {
		var b storage.Batch
		for n, ref := range refs {
			for i := 0; i < 3*60; i += step {
				v := value + float64(i)
				b.Add(ref, deleteBegin+int64(i)*60_000, v)
				m.Put(n, deleteBegin+int64(i)*60_000, storetest.Sample{Bits: math.Float64bits(v)})
			}
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
	}
	write(1, 0)
	if err := s.FlushAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	write(7, 0.5)
}

const deleteBegin = 1356998400000

// TestDeletionIsFinished lets each change of a deletion fail in turn: of the engine, or of the log's
// disk. Points that are written afterwards stay. After a kill, or a power failure, the next process
// has the whole deletion, or, if its record did not reach the log, perhaps none of it.
func TestDeletionIsFinished(t *testing.T) {
	for n := range 1 << 4 {
		f := deletionFault{whole: n&1 != 0, power: n&2 != 0, recovers: n&4 != 0, through: n&8 != 0, log: math.MaxInt64}
		for f.engine = 0; f.happens(t); f.engine++ {
		}
		if f.engine < 2 {
			t.Errorf("the engine failed %d times", f.engine)
		}
		f.engine = math.MaxInt64
		for f.log = 0; f.happens(t); f.log++ {
		}
		if f.log < 2 {
			t.Errorf("the disk of the log failed %d times", f.log)
		}
	}
}

// deletionFault is a fault in the middle of a deletion.
type deletionFault struct {
	whole    bool // a deletion of series
	power    bool // the power fails afterwards; else the process is killed
	recovers bool // the engine works again before that
	through  bool // writes go through the log only where they must
	// changes that succeed before they fail
	engine, log int64
}

// happens reports whether the deletion failed.
func (f deletionFault) happens(t *testing.T) bool {
	t.Helper()
	mem := &failing{Local: kv.NewMem(storetest.Tables()...)}
	mem.left.Store(math.MaxInt64)
	disk := logtest.New(uint64(f.engine + f.log))
	var diskLeft atomic.Int64
	diskLeft.Store(math.MaxInt64)
	disk.SetBefore(func(op logtest.Op, _ string) error {
		if (op == logtest.OpWrite || op == logtest.OpSyncData || op == logtest.OpSync) && diskLeft.Add(-1) < 0 {
			return errFails
		}
		return nil
	})
	keep := func(o *store.Options) {
		o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
		if f.through {
			o.Mode, o.LogUnacknowledged = write.Through, true
		}
	}
	p := storetest.StartBuffered(t, mem, disk, keep)
	refs, m := p.Resolve(deleteList), storetest.NewModel(len(deleteList))
	fill(t, p.Store, refs, m)
	d := storage.Deletion{Refs: refs[:2], Start: deleteBegin + 30*60_000, End: deleteBegin + 130*60_000, Whole: f.whole}
	if f.whole {
		d.Start, d.End = 0, storage.MaxTime
	}
	mem.left.Store(f.engine)
	diskLeft.Store(f.log)
	_, deleteErr := p.Delete(t.Context(), d)
	if diskLeft.Store(math.MaxInt64); f.recovers {
		mem.left.Store(math.MaxInt64)
	}

	before := m.Clone()
	after := m.Clone()
	after.Delete(0, d.Start, d.End)
	after.Delete(1, d.Start, d.End)
	var b storage.Batch
	b.Add(refs[0], deleteBegin+45*60_000, 99)
	late := p.Append(t.Context(), &b)
	if late == nil {
		for _, m := range []*storetest.Model{before, after} {
			m.Put(0, deleteBegin+45*60_000, storetest.Sample{Bits: math.Float64bits(99)})
		}
		if deleteErr == nil {
			after.Check(t, p.Store, refs, 0, storage.MaxTime)
		}
		f.goOn(t, p, refs, after, before)
	}
	p.Stop()
	mem.left.Store(math.MaxInt64)
	if f.power {
		disk = disk.Crash(7)
	} else {
		disk = disk.Kill(7)
	}
	p = storetest.StartBuffered(t, mem, disk, keep)
	if found, err := p.Find(t.Context(), nil, deleteBegin, deleteBegin+day, 0); err != nil || late == nil && !findsFirst(found) {
		t.Errorf("%+v: the series with a late point is not among %v, %v", f, found, err)
	}
	if err := p.FinishDeletions(t.Context()); err != nil {
		t.Errorf("%+v: finish deletions after the start: %v", f, err)
	}
	refs = p.Resolve(deleteList)
	got := storetest.Read(t, p.Store, refs)
	if after.Diff(got) != "" && (deleteErr == nil || f.log == math.MaxInt64 || before.Diff(got) != "") {
		t.Errorf("%+v, delete: %v, append: %v\n(-want +got) %s", f, deleteErr, late, after.Diff(got))
	}
	p.End()
	return deleteErr != nil
}

// goOn flushes after a fault, and deletes something else.
func (f deletionFault) goOn(t *testing.T, p *storetest.Process, refs []storage.Ref, models ...*storetest.Model) {
	t.Helper()
	if !f.recovers || f.engine%2 == 0 {
		return
	}
	if err := p.FlushAll(t.Context()); err != nil {
		t.Errorf("%+v: flush: %v", f, err)
	}
	d := storage.Deletion{Refs: refs[2:], Start: deleteBegin, End: deleteBegin + 20*60_000}
	if _, err := p.Delete(t.Context(), d); err != nil {
		t.Errorf("%+v: second deletion: %v", f, err)
	}
	for _, m := range models {
		m.Delete(2, d.Start, d.End)
	}
}

func findsFirst(found []storage.Found) bool {
	return slices.ContainsFunc(found, func(f storage.Found) bool { return f.String() == deleteList[0].String() })
}

const day = 24 * 3600_000

// TestSalvageKeepsDeletions: what a salvage puts of a log into the tables is without what was
// deleted, whether the table had followed or not, and with all that was written afterwards.
func TestSalvageKeepsDeletions(t *testing.T) {
	for n := range 1 << 3 {
		whole, fails, flushed := n&1 != 0, n&2 != 0, n&4 != 0
		mem, disk := &failing{Local: kv.NewMem(storetest.Tables()...)}, logtest.New(uint64(n))
		mem.left.Store(math.MaxInt64)
		p := storetest.StartBuffered(t, mem, disk, func(o *store.Options) { o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60 })
		refs, m := p.Resolve(deleteList), storetest.NewModel(len(deleteList))
		fill(t, p.Store, refs, m)
		if fails {
			mem.left.Store(0)
		}
		d := storage.Deletion{Refs: refs[:2], Start: deleteBegin + 30*60_000, End: deleteBegin + 130*60_000, Whole: whole}
		if _, err := p.Delete(t.Context(), d); (err != nil) != fails {
			t.Fatal(err)
		}
		if whole {
			d.Start, d.End = 0, storage.MaxTime
		}
		m.Delete(0, d.Start, d.End)
		m.Delete(1, d.Start, d.End)
		late := func(time int64) {
			var b storage.Batch
			b.Add(refs[0], time, 99)
			if err := p.Append(t.Context(), &b); err != nil {
				t.Fatal(err)
			}
			m.Put(0, time, storetest.Sample{Bits: math.Float64bits(99)})
		}
		late(deleteBegin + 45*60_000)
		if flushed && !fails {
			if err := p.FlushAll(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		late(deleteBegin + 46*60_000)
		p.Stop()
		mem.left.Store(math.MaxInt64)
		last := storetest.Open(t, mem)
		if _, left, err := last.SalvageLog(t.Context(), write.BufferOptions{Dir: "log", FS: disk.Kill(1)}); err != nil || left != 0 {
			t.Fatalf("%d records are left: %v", left, err)
		}
		if diff := m.Diff(storetest.Read(t, last, storetest.Resolve(t, last, deleteList...))); diff != "" {
			t.Errorf("whole %v, fails %v, flushed %v (-want +got):\n%s", whole, fails, flushed, diff)
		}
	}
}

// TestDeleteBesideWriters deletes while every series is written to, flushed and read: what was
// acknowledged before a deletion began is gone, what was appended after it returned is there.
func TestDeleteBesideWriters(t *testing.T) {
	for seed := range scale.Of[uint64](t, "deletions with concurrent writers", 3, 6, 100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			db, disk := kv.NewMem(storetest.Tables()...), logtest.New(seed)
			through := func(o *store.Options) {
				o.Buffer.FlushDelay = 0
				if seed%3 == 2 {
					o.Mode, o.LogUnacknowledged = write.Through, true
				}
			}
			p := storetest.StartBuffered(t, db, disk, through)
			var list []storage.Series
			for i := range 4 {
				list = append(list, storetest.Series("m", "host", fmt.Sprint(i)))
			}
			refs := p.Resolve(list)
			var group sync.WaitGroup
			writers := make([]*deleteWriter, len(list))
			for i := range writers {
				writers[i] = &deleteWriter{p: p, ref: refs[i], rng: rand.New(rand.NewPCG(seed, uint64(i)))}
				group.Go(func() { writers[i].run(t) })
			}
			group.Wait()
			p.Stop()
			disk = disk.Kill(seed)
			p = storetest.StartBuffered(t, db, disk, through)
			refs = p.Resolve(list)
			for i, w := range writers {
				w.p, w.ref = p, refs[i]
				w.check(t)
			}
			p.End()
		})
	}
}

// deleteWriter writes to one series, deletes from it and reads it, one after the other; the others
// do so at the same time.
type deleteWriter struct {
	p    *storetest.Process
	ref  storage.Ref
	rng  *rand.Rand
	want map[int64]float64
}

func (w *deleteWriter) run(t *testing.T) {
	w.want = map[int64]float64{}
	for step := range 60 {
		var b storage.Batch
		for range 1 + w.rng.IntN(20) {
			time, v := deleteBegin+w.rng.Int64N(4*60)*60_000, float64(w.rng.IntN(1000))
			b.Add(w.ref, time, v)
			w.want[time] = v
		}
		var appender storage.Appender = w.p.Store
		if w.rng.IntN(2) == 0 {
			appender = w.p.Logged()
		}
		if err := appender.Append(t.Context(), &b); err != nil {
			t.Error(err)
			return
		}
		if step%5 == 4 {
			w.delete(t)
		}
		if step%7 == 6 {
			w.check(t)
		}
	}
}

func (w *deleteWriter) delete(t *testing.T) {
	d := storage.Deletion{Refs: []storage.Ref{w.ref}, Start: deleteBegin + w.rng.Int64N(4*60)*60_000}
	d.End = d.Start + w.rng.Int64N(3*3600_000)
	if w.rng.IntN(4) == 0 {
		d.Start, d.End, d.Whole = 0, storage.MaxTime, true
	}
	if _, err := w.p.Delete(t.Context(), d); err != nil {
		t.Error(err)
	}
	for time := range w.want {
		if time >= d.Start && time <= d.End {
			delete(w.want, time)
		}
	}
}

func (w *deleteWriter) check(t *testing.T) {
	t.Helper()
	got := map[int64]float64{}
	for p, err := range w.p.Select(t.Context(), storage.Query{Refs: []storage.Ref{w.ref}, Start: 0, End: storage.MaxTime, Samples: true}) {
		if err != nil {
			t.Error(err)
			return
		}
		for i, time := range p.Times {
			got[time] = p.Values[i]
		}
	}
	if len(got) != len(w.want) {
		t.Errorf("series %d has %d points, want %d", w.ref, len(got), len(w.want))
	}
	for time, v := range w.want {
		if have, ok := got[time]; !ok || have != v {
			t.Errorf("series %d at %d: %v %v, want %v", w.ref, time, have, ok, v)
		}
	}
}
