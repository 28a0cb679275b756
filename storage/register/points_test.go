package register_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// firstPoint is a first point of a series that was acknowledged.
type firstPoint struct {
	series storage.Series
	at     int64
	value  float64
}

// appendTogether has several append points of new and known series at once.
func appendTogether(t *testing.T, s *store.Store, seed uint64) (acked []firstPoint) {
	var group sync.WaitGroup
	var mu sync.Mutex // guards acked
	for worker := range 3 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(worker)))
			for round := range 1 + r.IntN(6) {
				var points []firstPoint
				var list []storage.Series
				for i := range 1 + r.IntN(10) {
					one := storetest.Series(fmt.Sprint("metric-", r.IntN(10)), "host", fmt.Sprint("host-", r.IntN(40)), "job", fmt.Sprint(r.IntN(2)))
					at := int64(1356998400000) + int64(worker*10_000_000+round*1000+i)
					list, points = append(list, one), append(points, firstPoint{one, at, r.Float64()})
				}
				refs, errs := s.Resolve(t.Context(), list)
				if errs != nil {
					t.Error(errs)
					return
				}
				var b storage.Batch
				for i, p := range points {
					b.Add(refs[i], p.at, p.value)
				}
				if err := s.Append(t.Context(), &b); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				acked = append(acked, points...)
				mu.Unlock()
			}
		})
	}
	group.Wait()
	return acked
}

// TestFirstPointsSurvivePowerLoss: the log and the tables lose what was not synced, each as much as
// it likes. The next process starts, and has every acknowledged point under its series.
func TestFirstPointsSurvivePowerLoss(t *testing.T) {
	for seed := range scale.Of[uint64](t, "power losses after first points", 20, 40, 1000) {
		r := rand.New(rand.NewPCG(seed, 5))
		p, disk := newTape(), logtest.New(seed)
		flushes := func(o *store.Options) {
			if r.IntN(2) == 0 {
				o.Buffer.FlushDelay, o.Buffer.FlushInterval = 1<<60, 1<<60
			}
		}
		process := storetest.StartBuffered(t, p, disk, withTreeRows(p), flushes)
		acked := appendTogether(t, process.Store, seed)
		process.Stop()
		if t.Failed() {
			return
		}
		n := p.durable + r.IntN(len(p.changes)-p.durable+1)
		db := p.after(t, n)
		checkUIDs(t, db)
		checkObserved(t, db)
		after := storetest.StartBuffered(t, db, disk.Crash(r.Uint64()), withTreeRows(db))
		checkPoints(t, after.Store, acked)
		after.End()
		if t.Failed() {
			t.Fatalf("seed %d, %d of %d changes of the tables are left", seed, n, len(p.changes))
		}
	}
}

func checkPoints(t *testing.T, s *store.Store, acked []firstPoint) {
	t.Helper()
	list := make([]storage.Series, len(acked))
	for i, p := range acked {
		list[i] = p.series
	}
	refs := storetest.Resolve(t, s, list...)
	type place struct {
		ref storage.Ref
		at  int64
	}
	there := map[place]float64{}
	for found, err := range s.Select(t.Context(), storage.Query{Refs: refs, End: storage.MaxTime, Samples: true}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range found.Times {
			there[place{found.Ref, at}] = found.Values[i]
		}
	}
	for i, p := range acked {
		if v, ok := there[place{refs[i], p.at}]; !ok || v != p.value {
			t.Errorf("%s at %d was acknowledged with %v and has %v (%v)", p.series, p.at, p.value, v, ok)
		}
	}
}
