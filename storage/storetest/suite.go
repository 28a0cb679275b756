package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// End is how a process ended.
type End int

// The ends. After a kill the disk has everything that was written; after a power failure it has
// what was synced, and some of the rest.
const (
	Ended End = iota
	Killed
	PowerFailed
)

// An Engine keeps the tables of one run.
type Engine interface {
	// Open returns the tables for a process that starts. before is the end of the previous process,
	// Ended for the first.
	Open(t *testing.T, before End) kv.KV
}

// Config defines what a suite runs on.
type Config struct {
	New       func(t *testing.T) Engine // empty tables
	Names     func(Engine) store.Tables // nil: the default ones
	Seeds     uint64                    // runs of each way
	Batches   int                       // of a run; 0: 60
	Exclusive bool                      // no other process writes to the tables
	Salted    bool                      // tables with a salt of one byte
	Clock     func() time.Time          // nil: the machine's
	// Follow has a process of shared tables put what it has into them, and follow what others deleted.
	Follow func(context.Context, *store.Store) error
}

// ways are the ways of a point: the flags of a process, and which of the store's two appenders a
// batch takes.
var ways = []struct {
	name  string
	flags func(*rand.Rand, *store.Options)
	take  func(*rand.Rand, *store.Store) storage.Appender
}{
	{"through", func(*rand.Rand, *store.Options) {}, direct},
	{"buffered", func(_ *rand.Rand, o *store.Options) { o.Mode = write.Buffered }, direct},
	{"logged", func(r *rand.Rand, o *store.Options) { o.LogUnacknowledged = r.IntN(4) > 0 }, func(r *rand.Rand, s *store.Store) storage.Appender {
		if r.IntN(2) == 0 {
			return s.Logged()
		}
		return s
	}},
	{"any", func(r *rand.Rand, o *store.Options) { // a user who cannot decide
		o.Mode = []write.Mode{write.Through, write.Buffered}[r.IntN(2)]
	}, direct},
}

func direct(_ *rand.Rand, s *store.Store) storage.Appender { return s }

// Run compares a store over an engine with the model, by each way.
func Run(t *testing.T, c Config) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			for seed := range c.Seeds {
				t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
					t.Parallel()
					r := run{Config: c, t: t, rng: rand.New(rand.NewPCG(seed, 7)), engine: c.New(t), disk: logtest.New(seed), flags: way.flags, take: way.take}
					r.values, r.spread = schema.Values(seed%3), []int64{20, 8000, 30_000}[seed%3]
					r.run()
				})
			}
		})
	}
}

// run is one run against the model.
type run struct {
	Config
	t      *testing.T
	rng    *rand.Rand
	engine Engine
	db     kv.KV
	disk   *logtest.Disk // of the log
	flags  func(*rand.Rand, *store.Options)
	take   func(*rand.Rand, *store.Store) storage.Appender
	values schema.Values
	spread int64 // half seconds in which points lie: few instants, one row, several rows

	data    string // name of the table
	process *Process
	refs    []storage.Ref
}

var list = []storage.Series{
	{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "a"}}},
	{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "b"}}},
	{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: "a"}, {Key: "z", Value: "1"}}},
}

// begin is the time of the first points, in 2013: rows are due at once, or never.
const begin = 1356998400000

// start starts a process after the end of the previous one.
func (r *run) start(before End) {
	r.t.Helper()
	r.db = r.engine.Open(r.t, before)
	r.process = Start(r.t, r.db, r.options, func(o *store.Options) { r.flags(r.rng, o) })
	r.refs = r.process.Resolve(list)
}

func (r *run) options(o *store.Options) {
	o.Exclusive, o.Values = r.Exclusive, r.values
	if r.Names != nil {
		o.Tables = r.Names(r.engine)
	}
	r.data = o.Tables.Data
	if r.Salted {
		o.Layout.SaltWidth = 1
	}
	if r.Clock != nil {
		o.Now = r.Clock
	}
	o.Buffer.Dir, o.Buffer.FS, o.Buffer.SegmentBytes = "log", r.disk, 16<<10
	o.Buffer.CheckInterval, o.Buffer.FlushInterval = time.Millisecond, 1<<60
	o.Buffer.FlushDelay = []time.Duration{0, 1 << 60, 1 << 60}[r.rng.IntN(3)]
}

// meet ends the process and starts the next.
func (r *run) meet(fate End) {
	r.t.Helper()
	r.process.Stop()
	switch fate {
	case Ended:
		r.process.End()
	case Killed:
		r.disk = r.disk.Kill(r.rng.Uint64())
	case PowerFailed:
		r.disk = r.disk.Crash(r.rng.Uint64())
	}
	r.start(fate)
}

func (r *run) run() {
	t := r.t
	r.start(Ended)
	m := NewModel(len(r.refs))
	batches := r.Batches
	if batches == 0 {
		batches = 60
	}
	for range batches {
		var b storage.Batch
		for range 1 + r.rng.IntN(12) {
			m.AddRandom(r.rng, &b, r.refs, r.spread)
		}
		if err := r.take(r.rng, r.process.Store).Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		switch n := r.rng.IntN(18); {
		case n < 3:
			r.meet(End(n))
		case n == 3:
			r.delete(m)
		case n < 5:
			m.Check(t, r.process.Store, r.refs, begin+100, begin+3600_000)
		}
	}
	m.Check(t, r.process.Store, r.refs, 0, storage.MaxTime)
	m.Check(t, r.process.Store, r.refs, begin+100, begin+3600_000)
	r.checkKnown(m)
	// In the end everything is in the table, as a store without a log sees it.
	r.process.End()
	r.db = r.engine.Open(t, Ended)
	last := Start(t, r.db, r.options, func(o *store.Options) { o.Buffer.Dir = "" })
	m.Check(t, last.Store, last.Resolve(list), 0, storage.MaxTime)
	CheckRows(t, r.db, r.data, r.Exclusive)
	last.Stop()
}

// delete deletes some of the points of some series, or the series.
func (r *run) delete(m *Model) {
	r.t.Helper()
	d := storage.Deletion{Start: 0, End: storage.MaxTime}
	switch r.rng.IntN(4) {
	case 0:
		d.Whole = true
	case 1: // whole hours
		d.Start = begin + r.rng.Int64N(3)*3600_000
		d.End = d.Start + 3600_000 - 1
	default:
		d.Start = begin + r.rng.Int64N(r.spread)*500
		d.End = d.Start + r.rng.Int64N(r.spread)*500
	}
	for n, ref := range r.refs {
		if r.rng.IntN(2) == 0 {
			d.Refs = append(d.Refs, ref)
			m.Delete(n, d.Start, d.End)
		}
	}
	if _, err := r.process.Delete(r.t.Context(), d); err != nil {
		r.t.Fatal(err)
	}
	if tally, err := r.process.Tally(r.t.Context(), d); err != nil || tally != (storage.Tally{}) {
		r.t.Fatalf("after %+v there are %+v, %v", d, tally, err)
	}
}

// checkKnown checks that series with points in the model are found.
func (r *run) checkKnown(m *Model) {
	r.t.Helper()
	if !r.Exclusive {
		return
	}
	found, err := r.process.Find(r.t.Context(), nil, 0, storage.MaxTime, 0)
	if err != nil {
		r.t.Fatal(err)
	}
	for n, s := range list {
		is := slices.ContainsFunc(found, func(f storage.Found) bool { return f.String() == s.String() })
		if m.Has(n) && !is {
			r.t.Fatalf("series %s has points and is not found", s)
		}
	}
}
