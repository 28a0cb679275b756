package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// Adapters write to the same series, correct, flush, follow the journal and are killed, while two of
// them delete, all at once and by the real clock. Each instant has one writer. What was acknowledged
// before a deletion began is gone in the end, what was appended after it returned is there, and what
// was appended meanwhile is one of the two for all adapters.
func TestSharedDeleteBesideWriters(t *testing.T) {
	for seed := range scale.Of[uint64](t, "deletions from shared tables with concurrent writers", 3, 6, 100) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			w := newBesideWorld(t, seed)
			w.run()
			w.later.Add(2 * journal.Lease.Milliseconds()) // what a killed adapter began is free
			w.check("")
			for _, a := range w.adapters {
				a.kill()
			}
			w.check("after kills")
			for _, a := range w.adapters {
				a.process.Stop()
			}
			*w = besideWorld{} // the test keeps its cleanups, and so w, until its parent ends
		})
	}
}

// besideWorld is adapters on the tables of one cluster.
type besideWorld struct {
	t        *testing.T
	db       *kv.Shared
	later    atomic.Int64 // by which all clocks are ahead of the real one, milliseconds
	steps    atomic.Int64 // the order of beginnings and ends
	ended    atomic.Bool
	adapters []*besideAdapter
	series   []storage.Series

	mu        sync.Mutex // guards all below
	deletions []besideDeletion
	told      map[besideInstant][]string
}

// besideAdapter is one process and its writer.
type besideAdapter struct {
	w    *besideWorld
	n    int
	disk *logtest.Disk

	mu      sync.RWMutex // held for writing while the process is killed
	process *storetest.Process
	refs    []storage.Ref
	ctx     context.Context // ends when the process is to be killed
	end     context.CancelFunc

	written map[besideInstant]besideWrite // used by its writer alone until all have ended
}

type besideInstant struct {
	series int
	time   int64
}

// besideWrite is the last write of an instant. Numbers are steps.
type besideWrite struct {
	value      float64
	began, end int64
}

type besideDeletion struct {
	series      []int
	start, stop int64 // of the times, milliseconds, inclusive
	began, end  int64
	failed      bool
}

func newBesideWorld(t *testing.T, seed uint64) *besideWorld {
	w := &besideWorld{t: t, db: kv.NewShared(storetest.Tables()...), told: map[besideInstant][]string{}}
	w.db.SetClock(func() int64 { return w.now().UnixMilli() })
	for i := range 4 {
		w.series = append(w.series, storetest.Series("m", "host", fmt.Sprint(i)))
	}
	for n := range 4 {
		a := &besideAdapter{w: w, n: n, disk: logtest.New(seed + uint64(n)), written: map[besideInstant]besideWrite{}}
		a.start()
		w.adapters = append(w.adapters, a)
	}
	return w
}

func (w *besideWorld) now() time.Time { return time.UnixMilli(time.Now().UnixMilli() + w.later.Load()) }

// start starts the process: two are buffered, one writes through, and one does both.
func (a *besideAdapter) start() {
	a.ctx, a.end = context.WithCancel(a.w.t.Context())
	a.process = storetest.Start(a.w.t, a.w.db, func(o *store.Options) {
		o.Exclusive, o.Now = false, a.w.now
		o.Buffer.Dir, o.Buffer.FS, o.Buffer.SegmentBytes, o.Buffer.CheckInterval = "log", a.disk, 16<<10, 5*time.Millisecond
		o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
		if a.n < 2 {
			o.Mode = write.Buffered
		}
		o.LogUnacknowledged = a.n == 3
	})
	a.refs = a.process.Resolve(a.w.series)
}

func (a *besideAdapter) kill() {
	a.end()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.process.Stop()
	a.process.Store = nil // the test keeps its cleanups, and so the process
	a.disk = a.disk.Kill(uint64(a.n))
	a.start()
}

// live calls act with the process, which is not killed meanwhile.
func (a *besideAdapter) live(act func(ctx context.Context, p *storetest.Process, refs []storage.Ref) error) error {
	a.mu.RLock()
	defer a.mu.RUnlock()
	return act(a.ctx, a.process, a.refs)
}

func (w *besideWorld) run() {
	var writers, deleters sync.WaitGroup
	for _, a := range w.adapters {
		writers.Go(func() { w.repeat(a.n, a.write) })
		writers.Go(func() { w.repeat(10+a.n, a.upkeep) })
	}
	writers.Go(func() {
		w.repeat(20, func(rng *rand.Rand) error {
			time.Sleep(time.Duration(rng.IntN(100)) * time.Millisecond)
			w.adapters[rng.IntN(len(w.adapters))].kill()
			return nil
		})
	})
	for n, a := range []*besideAdapter{w.adapters[0], w.adapters[2]} {
		deleters.Go(func() {
			rng := rand.New(rand.NewPCG(30, uint64(n)))
			for range 12 {
				w.delete(a, rng)
				time.Sleep(time.Duration(rng.IntN(30)) * time.Millisecond)
			}
		})
	}
	deleters.Wait()
	w.ended.Store(true)
	writers.Wait()
}

// repeat calls act until all deleters have ended.
func (w *besideWorld) repeat(stream int, act func(rng *rand.Rand) error) {
	rng := rand.New(rand.NewPCG(7, uint64(stream)))
	for !w.ended.Load() {
		if err := act(rng); err != nil {
			w.t.Error(err)
			return
		}
	}
}

// write appends some points at instants that no other adapter writes.
func (a *besideAdapter) write(rng *rand.Rand) error {
	return a.live(func(_ context.Context, p *storetest.Process, refs []storage.Ref) error {
		var b storage.Batch
		began := a.w.steps.Add(1)
		some := map[besideInstant]besideWrite{}
		for range 1 + rng.IntN(8) {
			at := besideInstant{rng.IntN(len(refs)), deleteBegin + (rng.Int64N(30)*4+int64(a.n))*120_000}
			some[at] = besideWrite{value: float64(began) + rng.Float64(), began: began}
			b.Add(refs[at.series], at.time, some[at].value)
		}
		to := storage.Appender(p.Store)
		if a.n == 3 && rng.IntN(2) == 0 {
			to = p.Logged()
		}
		if err := to.Append(a.w.t.Context(), &b); err != nil {
			return err
		}
		end := a.w.steps.Add(1)
		for at, write := range some {
			write.end = end
			a.written[at] = write
			a.w.tell(at, "%d to %d: adapter %d writes %v", began, end, a.n, write.value)
		}
		return nil
	})
}

// upkeep flushes, or follows the journal.
func (a *besideAdapter) upkeep(rng *rand.Rand) error {
	time.Sleep(time.Duration(rng.IntN(20)) * time.Millisecond)
	return a.live(func(ctx context.Context, p *storetest.Process, _ []storage.Ref) (err error) {
		switch n := rng.IntN(9); {
		case n < 3:
			err = p.FollowDeletions(ctx)
		case n < 5:
			err = p.VerifyAll(ctx)
		case p.Buffered():
			err = p.FlushAll(ctx)
		}
		if ctx.Err() != nil {
			return nil
		}
		return err
	})
}

// delete deletes until it succeeds, or once.
func (w *besideWorld) delete(a *besideAdapter, rng *rand.Rand) {
	d := besideDeletion{start: deleteBegin + rng.Int64N(5*60)*60_000}
	d.stop = d.start + rng.Int64N(3*3600_000)
	whole := rng.IntN(4) == 0
	switch {
	case whole:
		d.start, d.stop = 0, storage.MaxTime
	case rng.IntN(2) == 0:
		d.start -= d.start % 3600_000
		d.stop = d.start + 2*3600_000 - 1
	}
	for n := range w.series {
		if rng.IntN(2) == 0 {
			d.series = append(d.series, n)
		}
	}
	for tries := 1 + rng.IntN(10); tries > 0; tries-- {
		d.failed = a.live(func(ctx context.Context, p *storetest.Process, refs []storage.Ref) error {
			request := storage.Deletion{Start: d.start, End: d.stop, Whole: whole}
			for _, n := range d.series {
				request.Refs = append(request.Refs, refs[n])
			}
			d.began = w.steps.Add(1)
			_, err := p.Delete(ctx, request)
			d.end = w.steps.Add(1)
			if err != nil && ctx.Err() == nil {
				w.t.Error(err)
			}
			return err
		}) != nil
		w.mu.Lock()
		w.deletions = append(w.deletions, d)
		w.mu.Unlock()
		if !d.failed {
			return
		}
	}
}

func (w *besideWorld) tell(at besideInstant, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told[at] = append(w.told[at], fmt.Sprintf(format, args...))
}

// touches reports whether a deletion has an instant.
func (d *besideDeletion) touches(at besideInstant) bool {
	return slices.Contains(d.series, at.series) && at.time >= d.start && at.time <= d.stop
}

// check has all adapters follow and flush, and compares what they have with what was written.
func (w *besideWorld) check(when string) {
	w.t.Helper()
	for range 2 {
		for _, a := range w.adapters {
			err := a.live(func(_ context.Context, p *storetest.Process, _ []storage.Ref) error {
				ctx := w.t.Context()
				var err error
				if p.Buffered() {
					err = p.FlushAll(ctx)
				}
				return errors.Join(err, p.VerifyAll(ctx), p.FollowDeletions(ctx))
			})
			if err != nil {
				w.t.Fatal(when, err)
			}
		}
	}
	all := make([]map[besideInstant]float64, len(w.adapters))
	for i, a := range w.adapters {
		all[i] = a.read()
	}
	wrong := 0
	for _, a := range w.adapters {
		for at, write := range a.written {
			got, is := all[0][at]
			gone, maybe := w.verdict(at, write)
			switch {
			case is && got != write.value, is && gone, !is && !gone && !maybe, w.differs(all, at):
				if wrong++; wrong < 5 {
					w.explain(when, at, all)
				}
			}
		}
	}
	if wrong > 0 {
		w.t.Fatalf("%s %d instants are wrong", when, wrong)
	}
	w.checkFound(when, all[0])
}

// verdict tells whether a deletion had to take a write, or may have.
func (w *besideWorld) verdict(at besideInstant, write besideWrite) (gone, maybe bool) {
	for i := range w.deletions {
		if d := &w.deletions[i]; d.touches(at) {
			gone = gone || d.began > write.end && !d.failed
			maybe = maybe || d.end > write.began
		}
	}
	return gone, maybe
}

func (w *besideWorld) differs(all []map[besideInstant]float64, at besideInstant) bool {
	first, is := all[0][at]
	return slices.ContainsFunc(all[1:], func(m map[besideInstant]float64) bool {
		other, also := m[at]
		return other != first || is != also
	})
}

func (w *besideWorld) explain(when string, at besideInstant, all []map[besideInstant]float64) {
	for i, m := range all {
		v, is := m[at]
		w.t.Logf("%s: adapter %d has %v (%v) at %v", when, i, v, is, at)
	}
	told := w.told[at]
	for _, line := range told[max(len(told)-4, 0):] {
		w.t.Log(line)
	}
	for _, d := range w.deletions {
		if d.touches(at) {
			w.t.Logf("%d to %d: deletion from %d to %d, failed %v", d.began, d.end, d.start, d.stop, d.failed)
		}
	}
}

// read returns what an adapter has.
func (a *besideAdapter) read() map[besideInstant]float64 {
	got := map[besideInstant]float64{}
	q := storage.Query{Refs: a.refs, Start: 0, End: storage.MaxTime, Samples: true}
	for p, err := range a.process.Select(a.w.t.Context(), q) {
		if err != nil {
			a.w.t.Fatal(err)
		}
		for i, time := range p.Times {
			got[besideInstant{slices.Index(a.refs, p.Ref), time}] = p.Values[i]
		}
	}
	return got
}

// checkFound checks that the adapters, and a process that starts now, find the series that have
// points.
func (w *besideWorld) checkFound(when string, points map[besideInstant]float64) {
	w.t.Helper()
	stores := []*store.Store{storetest.Open(w.t, w.db, func(o *store.Options) { o.Exclusive, o.Index = false, storage.IndexMeta })}
	for _, a := range w.adapters {
		stores = append(stores, a.process.Store)
	}
	for i, s := range stores {
		found, err := s.Find(w.t.Context(), nil, 0, storage.MaxTime, 0)
		if err != nil {
			w.t.Fatal(err)
		}
		for at := range points {
			if !slices.ContainsFunc(found, func(f storage.Found) bool { return f.String() == w.series[at.series].String() }) {
				w.t.Fatalf("%s: store %d does not find series %d, which has points", when, i, at.series)
			}
		}
	}
}
