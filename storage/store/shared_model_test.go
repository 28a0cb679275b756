package store_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// world is some adapters and a TSD on the tables of one cluster, and a plain list of the writes
// that they were given.
type world struct {
	t        *testing.T
	rng      *rand.Rand
	clock    atomic.Int64 // the server's, milliseconds
	db       *kv.Shared
	adapters []*adapter
	model    *storetest.Model
	keys     [][]byte        // of the rows, by series and hour
	told     []string        // what happened, to be printed on a failure
	later    []kv.Mutation   // what a compaction of the TSD has yet to delete
	closing  *kv.Conditional // the change of a compaction of ours, whose row was read
	span     int64           // by which our compactions make points later, milliseconds
	closed   int             // rows that we compacted
	deleting atomic.Int64    // by how much the server's clock moves with each use, while we delete
	deleted  int             // deletions of ours
	// The tables forget what is hidden, and the TSD makes no compactions: those count as writes
	// then.
	forgets bool
	// Adapters and the TSD put points into append cells.
	appends bool
	raced   int              // appends of the TSD while an adapter wrote
	tails   map[string]*tail // of the append cells of rows
}

// adapter is one process.
type adapter struct {
	*storetest.Process
	w      *world
	name   string
	skew   int64 // of its clock, milliseconds
	flags  func(*store.Options)
	logged bool // takes Logged
	disk   *logtest.Disk
	refs   []storage.Ref
	db     kv.KV // of the world, perhaps with faults
}

// raised is by how many milliseconds a stamp of an adapter may be ahead of the clock, because a cell
// of its row has a stamp of now already: what a TSD writes within this time may be the older one.
const raised = 4

const (
	hours    = 2
	instants = 25 // of an hour, a minute apart
)

var seriesOfWorld = []storage.Series{storetest.Series("m", "host", "a"), storetest.Series("m", "host", "b")}

func newWorld(t *testing.T, seed uint64, skew int64) *world { return newWorldOf(t, seed, skew, false) }

func newWorldOf(t *testing.T, seed uint64, skew int64, appends bool) *world {
	w := &world{appends: appends, tails: map[string]*tail{}, t: t, rng: rand.New(rand.NewPCG(seed, 3)), db: kv.NewShared(storetest.Tables()...), model: storetest.NewModel(len(seriesOfWorld))}
	w.clock.Store(1_700_000_000_000)
	w.db.SetClock(func() int64 { return w.clock.Add(w.deleting.Load()) })
	for i, flags := range []func(*store.Options){
		func(o *store.Options) { o.Mode = write.Buffered },
		func(o *store.Options) { o.Mode = write.Buffered },
		func(*store.Options) {},
		func(o *store.Options) { o.LogUnacknowledged = true },
	} {
		a := &adapter{w: w, name: fmt.Sprint("C", i), flags: flags, logged: i == 3, disk: logtest.New(seed + uint64(i)), db: w.db}
		if appends {
			a.db = racing{w.db, w}
		}
		if skew > 0 {
			a.skew = w.rng.Int64N(2*skew+1) - skew
		}
		a.start()
		w.adapters = append(w.adapters, a)
	}
	layout := schema.DefaultLayout()
	for row, err := range w.db.Scan(t.Context(), kv.Scan{Table: "tsdb-meta", Family: "name"}) {
		if err != nil {
			t.Fatal(err)
		}
		for h := range uint32(hours) {
			w.keys = append(w.keys, layout.AppendRowKey(nil, row.Key, 1356998400+3600*h))
		}
	}
	return w
}

func (a *adapter) start() {
	a.Process = storetest.Start(a.w.t, a.db, func(o *store.Options) {
		o.Exclusive, o.Now = false, func() time.Time { return time.UnixMilli(a.w.clock.Load() + a.skew) }
		o.Buffer.Dir, o.Buffer.FS, o.Buffer.SegmentBytes = "log", a.disk, 16<<10
		o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
		o.AppendCells = a.w.appends
		a.flags(o)
	})
	a.refs = nil
	for _, s := range seriesOfWorld { // one after the other, so that their rows are in this order
		a.refs = append(a.refs, a.Resolve([]storage.Series{s})...)
	}
}

func (a *adapter) kill() {
	a.Stop()
	a.disk = a.disk.Kill(a.w.rng.Uint64())
	a.start()
}

func (a *adapter) flush() {
	a.w.t.Helper()
	if a.Buffered() {
		if err := a.FlushAll(a.w.ofTest()); err != nil {
			a.w.t.Fatal(err)
		}
	}
	if err := errors.Join(a.VerifyAll(a.w.ofTest()), a.FollowDeletions(a.w.ofTest())); err != nil {
		a.w.t.Fatal(err)
	}
}

// delete has an adapter delete points or series. The clock moves meanwhile: a deletion waits until
// the server's clock has passed its time.
func (w *world) delete(a *adapter, gap int64) {
	w.t.Helper()
	w.finish() // a TSD that compacts puts what it read before
	w.clock.Add(raised)
	w.deleting.Store(gap)
	defer w.deleting.Store(0)
	d := storage.Deletion{Start: w.instant(), Whole: w.rng.IntN(4) == 0}
	d.End = d.Start + w.rng.Int64N(3600_000)
	if w.rng.IntN(3) == 0 { // whole hours
		d.Start -= d.Start % 3600_000
		d.End = d.Start + 3600_000 - 1
	}
	if d.Whole {
		d.Start, d.End = 0, storage.MaxTime
	}
	for n, ref := range a.refs {
		if w.rng.IntN(2) == 0 {
			d.Refs = append(d.Refs, ref)
			w.model.Delete(n, d.Start, d.End)
			w.tell("%s: series %d from %d to %d: deleted, whole %v", a.name, n, d.Start, d.End, d.Whole)
		}
	}
	if _, err := a.Delete(w.ofTest(), d); err != nil {
		w.t.Fatal(err)
	}
	if tally, err := a.Tally(w.t.Context(), d); err != nil || tally != (storage.Tally{}) {
		w.t.Fatalf("after %+v there are %+v, %v", d, tally, err)
	}
	w.deleted++
}

// write has an adapter acknowledge some points.
func (w *world) write(a *adapter) {
	w.t.Helper()
	logged := a.logged && w.rng.IntN(2) == 0
	// the compaction of a row may delete what is put without reading the row
	if !logged && !a.Buffered() && len(w.later) > 0 {
		if w.rng.IntN(2) == 0 {
			w.tell("%s is killed", a.name)
			a.kill()
		} else {
			w.finish()
		}
	}
	var b storage.Batch
	for range 1 + w.rng.IntN(4) {
		n, time := w.rng.IntN(len(a.refs)), w.instant()
		if w.rng.IntN(6) == 0 {
			data := fmt.Sprintf("histogram %d", w.rng.IntN(3))
			b.AddObject(a.refs[n], time, storage.KindHistogram, []byte(data))
			w.model.Put(n, time, storetest.Sample{Histogram: data})
			w.tell("%s: series %d at %d: %s", a.name, n, time, data)
			continue
		}
		v := storetest.Values[w.rng.IntN(len(storetest.Values))]
		b.Add(a.refs[n], time, v)
		w.model.Put(n, time, storetest.Sample{Bits: math.Float64bits(v)})
		w.tell("%s: series %d at %d: %v", a.name, n, time, v)
	}
	var to storage.Appender = a.Store
	if logged {
		to = a.Logged()
	}
	if err := to.Append(w.ofTest(), &b); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) instant() int64 {
	return 1356998400000 + w.rng.Int64N(hours)*3600_000 + w.rng.Int64N(instants)*60_000
}

// put has the TSD put a point, in 8 bytes like one that came by HTTP.
func (w *world) put() {
	at := w.rng.IntN(len(w.keys))
	offset, v := uint32(w.rng.IntN(instants)*60_000), float64(w.rng.IntN(5))+0.5
	point, _ := schema.FloatPoint(offset, v, schema.ValuesDouble)
	if w.appends {
		w.append(at, point)
		return
	}
	q, value := schema.AppendCell(nil, nil, []schema.Point{point})
	w.apply(kv.Mutation{Key: w.keys[at], Puts: []kv.Put{{Qualifier: q, Value: value}}})
	time := 1356998400000 + int64(at%hours)*3600_000 + int64(offset)
	w.model.Put(at/hours, time, storetest.Sample{Bits: math.Float64bits(v)})
	w.tell("TSD: series %d at %d: %v", at/hours, time, v)
}

// remove has the TSD delete a row, as a query with delete=true does.
func (w *world) remove() {
	at := w.rng.IntN(len(w.keys))
	w.apply(kv.Mutation{Key: w.keys[at], DeleteRow: true})
	begin := 1356998400000 + int64(at%hours)*3600_000
	w.model.Delete(at/hours, begin, begin+3600_000-1)
	w.tell("TSD: series %d from %d: deleted", at/hours, begin)
}

// compact has the TSD put the cells of points of a row into one, which it does if no instant has
// two values.
func (w *world) compact(key []byte) {
	w.t.Helper()
	w.clock.Add(2) // it has read what was put in an earlier millisecond
	rows, err := w.db.Get(w.t.Context(), "tsdb", "t", [][]byte{key})
	if err != nil {
		w.t.Fatal(err)
	}
	var points []schema.Point
	var old []kv.Delete
	for _, c := range rows[0].Cells {
		if schema.ClassifyCell(c.Qualifier) == schema.CellData {
			if points, err = schema.DecodeData(points, c.Qualifier, c.Value); err != nil {
				w.t.Fatal(err)
			}
			old = append(old, kv.Delete{Qualifier: c.Qualifier})
		}
	}
	slices.SortStableFunc(points, func(a, b schema.Point) int { return int(a.Offset) - int(b.Offset) })
	once := slices.CompactFunc(slices.Clone(points), func(a, b schema.Point) bool { return a.Offset == b.Offset && a.SameValue(b) })
	if len(old) < 2 || !slices.IsSortedFunc(once, func(a, b schema.Point) int { return int(a.Offset) - int(b.Offset) }) {
		return
	}
	for i := 1; i < len(once); i++ {
		if once[i].Offset == once[i-1].Offset {
			return
		}
	}
	q, v := schema.AppendCell(nil, nil, once)
	// else it stays as it is
	if !slices.ContainsFunc(rows[0].Cells, func(c kv.Cell) bool { return string(c.Qualifier) == string(q) }) {
		w.apply(kv.Mutation{Key: key, Puts: []kv.Put{{Qualifier: q, Value: v}}})
	}
	old = slices.DeleteFunc(old, func(d kv.Delete) bool { return string(d.Qualifier) == string(q) })
	w.later = append(w.later, kv.Mutation{Key: key, Deletes: old})
	w.tell("TSD: row %x compacted, its old cells are there yet", key)
}

// finish has the TSD delete the cells that it compacted, about a second after it did so.
func (w *world) finish() {
	w.t.Helper()
	for _, m := range w.later {
		w.clock.Add(2) // the server's clock may have gone on by one
		w.apply(m)
		w.tell("TSD: old cells of row %x deleted", m.Key)
	}
	w.later = nil
}

// beginClosed has an adapter read a row that it compacts unless it was written to a short time ago.
func (w *world) beginClosed(key []byte, quiet int64) {
	w.t.Helper()
	past, err := w.db.History(w.t.Context(), "tsdb", "t", [][]byte{key})
	if err != nil {
		w.t.Fatal(err)
	}
	var r row.Reconciler
	if c, verdict := r.Compact(&past[0], w.clock.Load()-quiet, w.span); verdict == row.Compacted {
		w.closing = &c.Conditional
		w.tell("row %x read to be compacted", key)
	}
}

// endClosed has the adapter change the row, if it is as it was.
func (w *world) endClosed() {
	w.t.Helper()
	if w.closing == nil {
		return
	}
	before := w.contested(w.closing.Key)
	made, err := w.db.ApplyUnchanged(w.t.Context(), "tsdb", "t", []kv.Conditional{*w.closing})
	if err != nil {
		w.t.Fatal(err)
	}
	if !before && w.contested(w.closing.Key) {
		w.t.Fatalf("the compaction of row %x left an instant with two values", w.closing.Key)
	}
	if made[0] {
		w.closed++
	}
	w.tell("row %x compacted: %v", w.closing.Key, made[0])
	w.closing = nil
}

// contested reports whether an instant has two values in a row.
func (w *world) contested(key []byte) bool {
	w.t.Helper()
	rows, err := w.db.Get(w.t.Context(), "tsdb", "t", [][]byte{key})
	if err != nil {
		w.t.Fatal(err)
	}
	instants := map[uint32]schema.Point{}
	for _, c := range rows[0].Cells {
		points, _ := schema.DecodeData(nil, c.Qualifier, c.Value) // nothing of other cells
		for _, p := range points {
			if other, twice := instants[p.Offset]; twice && !other.SameValue(p) {
				return true
			}
			instants[p.Offset] = p
		}
	}
	return false
}

func (w *world) apply(m kv.Mutation) {
	w.t.Helper()
	if err := w.db.Apply(w.t.Context(), "tsdb", "t", []kv.Mutation{m}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) tell(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf("%d ", w.clock.Load())+fmt.Sprintf(format, args...))
}

// check compares what each adapter and the table have with the list.
func (w *world) check() {
	w.t.Helper()
	for _, a := range w.adapters {
		w.model.Check(w.t, a.Store, a.refs, 0, storage.MaxTime)
	}
	storetest.CheckRows(w.t, w.db, "tsdb", false)
	if w.appends {
		w.checkAppended()
	}
}

// checkKnown checks that a process that starts now finds the series that have points.
func (w *world) checkKnown() {
	w.t.Helper()
	found, err := storetest.Open(w.t, w.db, func(o *store.Options) { o.Exclusive = false }).Find(w.t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		w.t.Fatal(err)
	}
	for n, s := range seriesOfWorld {
		is := slices.ContainsFunc(found, func(f storage.Found) bool { return f.String() == s.String() })
		if w.model.Has(n) && !is {
			w.t.Fatalf("series %s has points and is not found: %v", s, found)
		}
	}
}

// Several adapters, buffered and through, and a TSD write, correct and delete the same instants.
// Adapters flush at random and are killed, and their logs are replayed. Of two values of an instant
// the one acknowledged later stays, and no instant has two.
func TestNewestWriteStaysOnSharedTables(t *testing.T) {
	for _, c := range []struct {
		name            string
		skew, gap, span int64 // milliseconds
		seeds           uint64
		appends         bool
	}{
		{"one clock", 0, 1, 0, 25, false},
		{"skewed clocks", 3000, 6001, 0, 25, false},
		{"compacted coarsely", 0, row.UniformSpan + 1, row.UniformSpan, 10, false},
		{"append cells", 0, 1, 0, 25, true},
		{"append cells and skewed clocks", 3000, 6001, 0, 25, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var closed, deleted, raced atomic.Int64
			t.Cleanup(func() {
				t.Logf("%d rows were compacted by adapters, %d deletions, %d appends between a read and a write", closed.Load(), deleted.Load(), raced.Load())
				if c.appends && raced.Load() == 0 && !t.Failed() {
					t.Error("the TSD never appended to a row that an adapter had just read")
				}
			})
			for seed := range scale.Of(t, "random histories of several adapters and a TSD", c.seeds, c.seeds, 40*c.seeds) {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					w := newWorldOf(t, seed, c.skew, c.appends)
					w.forgets, w.span = seed%4 == 0, c.span
					t.Cleanup(func() {
						if t.Failed() {
							for _, line := range w.told {
								t.Log(line)
							}
						}
						*w = world{} // the test keeps its cleanups, and so w, until its parent ends
					})
					for range 4 {
						w.run(60, c.gap)
					}
					w.checkKnown()
					closed.Add(int64(w.closed))
					deleted.Add(int64(w.deleted))
					raced.Add(int64(w.raced))
				})
			}
		})
	}
}

// run performs random steps, flushes everything in any order, with kills in between, and checks.
func (w *world) run(steps int, gap int64) {
	w.t.Helper()
	for range steps {
		compacting, closing := len(w.later) > 0, w.closing != nil
		w.clock.Add(gap + w.rng.Int64N(gap+1))
		a := w.adapters[w.rng.IntN(len(w.adapters))]
		switch n := w.rng.IntN(24); {
		case n < 12:
			w.write(a)
		case n < 15:
			w.finish() // else a compacting TSD may delete what it puts itself
			w.clock.Add(raised)
			w.put()
		case n == 15:
			w.clock.Add(raised)
			w.remove()
		case n == 16 && w.forgets:
			w.db.Flush()
			w.tell("the tables forget what is hidden")
		case n == 16 && w.appends: // such a TSD does not compact
		case n == 16:
			w.finish()
			w.compact(w.keys[w.rng.IntN(len(w.keys))])
		case n >= 20:
			// a TSD that compacts a row has put into it in this time
			w.beginClosed(w.keys[w.rng.IntN(len(w.keys))], 2*gap+1)
		case n == 17:
			w.tell("%s flushes", a.name)
			a.flush()
		case n == 18:
			w.delete(a, gap)
		default:
			w.tell("%s is killed", a.name)
			a.kill()
		}
		if compacting { // one step happens while a compaction is under way
			w.finish()
		}
		if closing {
			w.endClosed()
		}
	}
	w.finish()
	w.endClosed()
	for _, at := range w.rng.Perm(len(w.adapters)) {
		w.clock.Add(gap)
		w.tell("%s flushes", w.adapters[at].name)
		w.adapters[at].flush()
	}
	w.settle()
	w.check()
}

// settle has a new process put a point into each row: this settles what a TSD has put next to our
// cells since they were flushed.
func (w *world) settle() {
	w.t.Helper()
	a := w.adapters[2]
	a.kill()
	var b storage.Batch
	for n, ref := range a.refs {
		for h := range int64(hours) {
			time := 1356998400000 + h*3600_000 + 3599_000
			b.Add(ref, time, 1)
			w.model.Put(n, time, storetest.Sample{Bits: math.Float64bits(1)})
		}
	}
	w.clock.Add(10_000)
	if err := a.Append(w.ofTest(), &b); err != nil {
		w.t.Fatal(err)
	}
	w.tell("settled")
}
