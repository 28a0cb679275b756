package write_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// numbered returns batch n of a run: points of several hours, at instants that no other batch has.
func numbered(n int, refs []storage.Ref) *storage.Batch {
	var b storage.Batch
	for i, ref := range refs {
		for hour := range int64(1 + n%3) {
			b.Add(ref, 1356998400000+hour*3600_000+int64(n)*1000+int64(i), float64(n)+float64(i)/8)
		}
	}
	if n%4 == 0 {
		b.AddObject(refs[0], 1356998400000+int64(n)*1000+500, storage.KindHistogram, []byte{byte(n), 1, 2})
	}
	return &b
}

// found reports which of some numbered batches a store has. A partly present batch is an error.
func found(t *testing.T, s *store.Store, refs []storage.Ref, batches int) []bool {
	t.Helper()
	type point struct {
		ref  storage.Ref
		time int64
	}
	held := map[point]float64{}
	for p, err := range s.Select(t.Context(), storage.Query{Refs: refs, End: storage.MaxTime, Samples: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range p.Times {
			held[point{p.Ref, at}] = p.Values[i]
		}
		for _, o := range p.Objects {
			held[point{p.Ref, o.Time}] = -float64(o.Data[0])
		}
	}
	there := make([]bool, batches)
	total := 0
	for n := range there {
		b := numbered(n, refs)
		size, have := len(b.Refs)+len(b.Objects), 0
		for i, ref := range b.Refs {
			if v, ok := held[point{ref, b.Times[i]}]; ok && v == b.Values[i] {
				have++
			}
		}
		for _, o := range b.Objects {
			if v, ok := held[point{o.Ref, o.Time}]; ok && v == -float64(byte(n)) {
				have++
			}
		}
		if have != 0 && have != size {
			t.Fatalf("%d of %d points of batch %d are there", have, size, n)
		}
		there[n] = have == size
		total += have
	}
	if total != len(held) {
		t.Fatalf("%d points are there, %d of them were written", len(held), total)
	}
	return there
}

// neverFlush leaves everything in the log and the head.
func neverFlush(o *store.Options) { o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60 }

var twoSeries = []storage.Series{storetest.Series("m", "host", "a"), storetest.Series("m", "host", "b")}

// segmentHeader is the length of the header of a log segment, in bytes.
const segmentHeader = 64

// TestLogCutAtEveryByte shortens the log to each of its lengths, with no mark that would report the
// loss: what is left are the first batches, each whole, and one more with each record.
func TestLogCutAtEveryByte(t *testing.T) {
	const batches = 12
	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	alone := func(o *store.Options) { o.Buffer.CheckInterval = time.Hour } // nothing is recorded of the log's end
	s := storetest.StartBuffered(t, db, disk, neverFlush, alone)
	mark := filepath.Join("log", "log-points.mark")
	atFirst := disk.Bytes(mark)
	refs := storetest.Resolve(t, s.Store, twoSeries...)
	for n := range batches {
		if err := s.Append(t.Context(), numbered(n, refs)); err != nil {
			t.Fatal(err)
		}
	}
	s.Stop()
	dir := filepath.Join("log", "points")
	files, _ := disk.List(dir)
	if len(files) == 0 {
		t.Fatal("there is no log")
	}
	var name string
	for _, file := range files {
		if filepath.Ext(file) == ".log" {
			name = filepath.Join(dir, file)
		}
	}
	whole := disk.Bytes(name)
	used := len(whole)
	for used > 0 && whole[used-1] == 0 { // reserved
		used--
	}
	before := 0
	// A segment gets its name when its header is on the disk: less than that is not a torn end.
	for length := segmentHeader; length <= used; length++ {
		after := disk.Kill(uint64(length))
		after.Put(name, whole[:length])
		// The mark and the engine would report the loss.
		after.Put(mark, atFirst)
		if err := db.NoteLog(kv.LogEnd{}, true); err != nil {
			t.Fatal(err)
		}
		s := storetest.StartBuffered(t, db, after, neverFlush, alone)
		there := found(t, s.Store, storetest.Resolve(t, s.Store, twoSeries...), batches)
		n := 0
		for n < batches && there[n] {
			n++
		}
		for m := n; m < batches; m++ {
			if there[m] {
				t.Fatalf("cut to %d bytes: batch %d is there and batch %d is not", length, m, n)
			}
		}
		if n < before || n > before+1 {
			t.Fatalf("cut to %d bytes there are %d batches, to one byte less %d", length, n, before)
		}
		before = n
		s.Stop()
	}
	if before != batches {
		t.Fatalf("the whole log has %d batches of %d", before, batches)
	}
}

// TestNthCallOfTheDiskFails fails each disk call of the log in turn, alone or with all that follow,
// ends the process or the power, and checks that nothing acknowledged is missing. Rows are flushed
// in the meantime.
func TestNthCallOfTheDiskFails(t *testing.T) {
	broken := errors.New("no such luck")
	for nth, more := int64(1), true; more; nth++ {
		for _, forever := range []bool{false, true} {
			t.Run(fmt.Sprint(nth, " ", forever), func(t *testing.T) {
				db, disk := kv.NewMem(storetest.Tables()...), logtest.New(uint64(nth))
				r := rand.New(rand.NewPCG(uint64(nth), 1))
				const batches = 24
				acked := make([]bool, batches)
				var calls atomic.Int64
				s := storetest.StartBuffered(t, db, disk, func(o *store.Options) { o.Buffer.FlushDelay, o.Buffer.SegmentBytes = 0, 1<<10 })
				refs := storetest.Resolve(t, s.Store, twoSeries...)
				disk.SetBefore(func(logtest.Op, string) error {
					if n := calls.Add(1); n == nth || forever && n > nth {
						return broken
					}
					return nil
				})
				failed := 0
				for n := range batches {
					err := s.Append(t.Context(), numbered(n, refs))
					if acked[n] = err == nil; err != nil {
						failed++
					}
				}
				// An append that the log refused must not stop later ones, unless the disk refuses
				// everything.
				if !forever && failed > 1 {
					t.Errorf("one failure of the disk made %d appends fail", failed)
				}
				if calls.Load() < nth {
					more = false
				}
				s.Stop()
				if r.IntN(2) == 0 {
					disk = disk.Kill(r.Uint64())
				} else {
					disk = disk.Crash(r.Uint64())
				}
				s = storetest.StartBuffered(t, db, disk)
				for n, there := range found(t, s.Store, storetest.Resolve(t, s.Store, twoSeries...), batches) {
					if acked[n] && !there {
						t.Errorf("batch %d was acknowledged and is lost", n)
					}
				}
			})
		}
	}
}

// slowTable is an engine that is away on demand.
type slowTable struct {
	kv.KV
	away atomic.Bool
}

func (s *slowTable) Apply(ctx context.Context, table, family string, rows []kv.Mutation) error {
	if s.away.Load() && table == "tsdb" {
		return errors.New("the cluster is away")
	}
	return s.KV.Apply(ctx, table, family, rows)
}

// TestLogWhileTableIsAway keeps the points of writers without an acknowledgement, across a restart,
// refuses points when memory is full, and puts all of them when the table is back.
func TestLogWhileTableIsAway(t *testing.T) {
	db, disk := &slowTable{KV: kv.NewMem(storetest.Tables()...)}, logtest.New(3)
	spool := func(o *store.Options) {
		o.Mode, o.LogUnacknowledged, o.Exclusive = write.Through, true, false
		o.Buffer.FlushDelay, o.Buffer.MaxHeadBytes = 0, 1<<20
	}
	s := storetest.StartBuffered(t, db, disk, spool)
	refs := storetest.Resolve(t, s.Store, twoSeries...)
	db.away.Store(true)
	const batches = 10
	for n := range batches / 2 {
		if err := s.Logged().Append(t.Context(), numbered(n, refs)); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Append(t.Context(), numbered(batches-1, storetest.Resolve(t, s.Store, storetest.Series("m", "host", "c"), storetest.Series("m", "host", "d")))); err == nil {
		t.Error("a write of other series went through to a table that is away")
	}
	s.Stop()
	disk = disk.Kill(4)
	s = storetest.StartBuffered(t, db, disk, spool)
	refs = storetest.Resolve(t, s.Store, twoSeries...)
	for n := batches / 2; n < batches; n++ {
		if err := s.Logged().Append(t.Context(), numbered(n, refs)); err != nil {
			t.Fatal(err)
		}
	}
	filled := false
	for n := int64(0); !filled && n < 10_000; n++ { // other series fill the memory
		var b storage.Batch
		other := storetest.Resolve(t, s.Store, storetest.Series("m", "host", fmt.Sprint("x", n%50)))
		for i := range int64(1000) {
			b.Add(other[0], 1356998400000+n*3600_000+i*1000, float64(i*i*n)/7)
		}
		filled = s.Logged().Append(t.Context(), &b) != nil
	}
	if !filled {
		t.Error("memory had no end")
	}
	db.away.Store(false)
	for s.Logged().Append(t.Context(), numbered(0, refs)) != nil { // until there is room again
		if t.Context().Err() != nil {
			t.Fatal("nothing was put")
		}
	}
	s.Stop()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	through := storetest.Open(t, db)
	for n, there := range found(t, through, storetest.Resolve(t, through, twoSeries...), batches) {
		if !there {
			t.Errorf("batch %d is lost", n)
		}
	}
}
