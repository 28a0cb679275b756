package store_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// archiveTable is the table of archives.
const archiveTable = "tsdb-archive"

func tablesWithArchives() []kv.Table {
	return append(storetest.Tables(), kv.Table{Name: archiveTable, Families: []string{"t"}})
}

// Archives are put, replaced, and deleted in part, with and without their series, and compared with a plain list.
func TestArchives(t *testing.T) {
	for name, open := range map[string]func(*atomic.Int64) kv.KV{
		"one writer": func(*atomic.Int64) kv.KV { return kv.NewMem(tablesWithArchives()...) },
		"shared tables": func(clock *atomic.Int64) kv.KV {
			db := kv.NewShared(tablesWithArchives()...)
			db.SetClock(func() int64 { return clock.Add(1) })
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			var clock atomic.Int64
			clock.Store(1_700_000_000_000)
			db := open(&clock)
			_, exclusive := db.(*kv.Mem)
			s := storetest.Start(t, db, func(o *store.Options) {
				o.Exclusive, o.ArchiveTable = exclusive, archiveTable
				o.Now = func() time.Time { return time.UnixMilli(clock.Add(1)) }
			})
			w := &archived{t: t, s: s, rng: rand.New(rand.NewPCG(1, 2)), values: map[archiveSlot]float64{}}
			w.series = []storage.Series{storetest.Series("a.b", "-_", "1"), storetest.Series("a.b", "host", "x"), storetest.Series("c", "-_", "1")}
			w.refs = storetest.Resolve(t, s.Store, w.series...)
			for range 600 {
				w.step()
			}
			w.check()
		})
	}
}

type archiveSlot struct {
	series int
	step   uint32
	time   int64
}

// archived is a store with archives, and a plain list of what they hold.
type archived struct {
	t      *testing.T
	s      *storetest.Process
	rng    *rand.Rand
	series []storage.Series
	refs   []storage.Ref
	values map[archiveSlot]float64
}

const archiveSpan = 40 * 86400

func (w *archived) time() int64 { return 1_600_000_000 + w.rng.Int64N(archiveSpan) }

func (w *archived) step() {
	n := w.rng.IntN(len(w.refs))
	switch w.rng.IntN(9) {
	case 8:
		w.retain(n)
	case 0:
		w.delete(n, w.time(), w.time(), false)
	case 1:
		w.delete(n, 0, 0, w.rng.IntN(3) == 0)
	case 2:
		w.check()
	default:
		w.put(n)
	}
}

func (w *archived) put(n int) {
	var all []storage.ArchiveSlots
	for _, step := range []uint32{60, 300, 3600} {
		some := storage.ArchiveSlots{Step: step}
		for t := w.time() / int64(step) * int64(step); w.rng.IntN(300) > 0; t += int64(step) * (1 + w.rng.Int64N(3)) {
			some.Times, some.Values = append(some.Times, t), append(some.Values, w.rng.NormFloat64())
		}
		all = append(all, some)
	}
	if err := w.s.Archives().Put(w.t.Context(), w.refs[n], all); err != nil {
		w.t.Fatal(err)
	}
	for _, some := range all {
		for i, t := range some.Times {
			w.values[archiveSlot{n, some.Step, t}] = some.Values[i]
		}
	}
}

// delete deletes between two times in seconds, or the whole series.
func (w *archived) delete(n int, from, to int64, whole bool) {
	from, to = min(from, to), max(from, to)
	if from == 0 && !whole {
		to = 1<<32 - 1
	}
	if _, err := w.s.Delete(w.t.Context(), storage.Deletion{Refs: w.refs[n : n+1], Start: from * 1000, End: to*1000 + 999, Whole: whole}); err != nil {
		w.t.Fatal(err)
	}
	maps.DeleteFunc(w.values, func(a archiveSlot, _ float64) bool {
		return a.series == n && (whole || a.time >= from && a.time+int64(a.step)-1 <= to)
	})
	if whole {
		w.refs[n] = storetest.Resolve(w.t, w.s.Store, w.series[n])[0]
	}
}

// retain deletes what is older than a time, as a retention does: points alone.
func (w *archived) retain(n int) {
	d := storage.Deletion{Refs: w.refs[n : n+1], End: w.time() * 1000, Repeated: true}
	if _, err := w.s.Delete(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

func (w *archived) check() {
	w.t.Helper()
	for _, step := range []uint32{60, 300, 3600} {
		from, to := w.time(), w.time()
		got, want := map[archiveSlot]float64{}, map[archiveSlot]float64{}
		var mu sync.Mutex
		err := w.s.Archives().Read(w.t.Context(), storage.ArchiveQuery{Refs: w.refs, Step: step, From: from, To: to}, func(ref storage.Ref, times []int64, values []float64) {
			mu.Lock()
			defer mu.Unlock()
			for i, t := range times {
				got[archiveSlot{slices.Index(w.refs, ref), step, t}] = values[i]
			}
		})
		if err != nil {
			w.t.Fatal(err)
		}
		for a, v := range w.values {
			if a.step == step && a.time >= from && a.time < to {
				want[a] = v
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Fatal(diff)
		}
	}
}

func TestArchivesAreRefused(t *testing.T) {
	s := storetest.Start(t, kv.NewMem(tablesWithArchives()...), func(o *store.Options) { o.Exclusive, o.ArchiveTable = true, archiveTable })
	refs := storetest.Resolve(t, s.Store, storetest.Series("m", "-_", "1"))
	for _, bad := range []storage.ArchiveSlots{
		{Times: []int64{60}, Values: []float64{1}},
		{Step: 60, Times: []int64{90}, Values: []float64{1}},
		{Step: 60, Times: []int64{120, 60}, Values: []float64{1, 2}},
		{Step: 60, Times: []int64{60}},
		{Step: 60, Times: []int64{1 << 32 * 60}, Values: []float64{1}},
	} {
		if err := s.Archives().Put(t.Context(), refs[0], []storage.ArchiveSlots{bad}); !errors.Is(err, storage.ErrInvalid) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}

// Shared tables may lack the table of archives: then there are none, and putting some says what to do.
func TestNoTableOfArchives(t *testing.T) {
	s := storetest.Start(t, kv.NewShared(storetest.Tables()...), func(o *store.Options) { o.Exclusive, o.ArchiveTable = false, archiveTable })
	refs := storetest.Resolve(t, s.Store, storetest.Series("m", "-_", "1"))
	err := s.Archives().Read(t.Context(), storage.ArchiveQuery{Refs: refs, Step: 60, To: 1 << 32}, func(storage.Ref, []int64, []float64) { t.Error("a value") })
	if err != nil {
		t.Error(err)
	}
	if _, err := s.Delete(t.Context(), storage.Deletion{Refs: refs, Whole: true}); err != nil {
		t.Error(err)
	}
	refs = storetest.Resolve(t, s.Store, storetest.Series("m", "-_", "1"))
	err = s.Archives().Put(t.Context(), refs[0], []storage.ArchiveSlots{{Step: 60, Times: []int64{60}, Values: []float64{1}}})
	if err == nil {
		t.Error("no error")
	} else if got := err.Error(); got != `not ready: table tsdb-archive is missing: create the tables with "tsdbridge tables create"` {
		t.Error(got)
	}
}
