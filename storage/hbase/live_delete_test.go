package hbase_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
)

// deleteAll: both adapters delete parts of hours, hours and a series, while the other one and the
// TSD write, and the TSD compacts. What all of them put at the same instants afterwards stays.
func (w *closedTables) deleteAll() {
	hour := func(n int64) int64 { return (w.base + n*3600) * 1000 }
	for round, d := range []struct {
		adapter, series int
		deletion        storage.Deletion
	}{
		{0, 0, storage.Deletion{Start: hour(1) + 600_000, End: hour(1) + 1_800_000}},
		{1, closedHosts, storage.Deletion{Start: hour(0) + 1_000_000, End: hour(3) + 1_000_000}},
		{0, closedHosts + 1, storage.Deletion{Start: hour(2), End: hour(4) - 1}},
		{1, 1, storage.Deletion{Whole: true}},
	} {
		ctx, stop := context.WithCancel(w.Context())
		var background sync.WaitGroup
		background.Go(func() { w.queryEvery(ctx) })
		background.Go(func() { w.write(1-d.adapter, 0, uint64(1000+round), w.outside(d.series, d.deletion), 10) })
		background.Go(func() { w.putTSD(uint64(2000+round), w.outside(d.series, d.deletion), 3) })
		d.deletion.Refs = w.refs[d.adapter][d.series : d.series+1]
		w.mu.Lock()
		if d.deletion.Whole {
			d.deletion.Start, d.deletion.End = 0, storage.MaxTime
		}
		w.model.Delete(d.series, d.deletion.Start, d.deletion.End)
		maps.DeleteFunc(w.plain[d.series], func(at int64, _ float64) bool { return at >= d.deletion.Start && at <= d.deletion.End })
		w.mu.Unlock()
		if deleted, err := w.adapters[d.adapter].Delete(w.Context(), d.deletion); err != nil {
			w.Errorf("delete: %v", err)
		} else {
			w.Logf("deletion %d: %+v", round, deleted)
		}
		w.afterDelete(d.series, d.deletion)
		stop()
		background.Wait()
	}
	// A TSD that was compacting a row may have put what it had read. The adapters delete that when
	// they look at the rows again.
	time.Sleep(30 * time.Second)
	w.settle()
	w.checkPoints("after all deletions")
	w.checkFsck()
}

// outside returns the minutes that a deletion leaves to all series.
func (w *closedTables) outside(series int, d storage.Deletion) func(int) bool {
	return func(minute int) bool {
		at := (w.base + int64(minute)*60) * 1000
		return series >= closedHosts || !d.Whole && (at+1000 < d.Start || at > d.End)
	}
}

// afterDelete has both adapters and the TSD put some of the instants that were deleted, at once; of
// the metric late other instants, because a TSD that compacts a row deletes what is put meanwhile
// with the qualifiers that it has read (docs/hbase.md).
func (w *closedTables) afterDelete(series int, d storage.Deletion) {
	metric, later := "late", int64(30_000)
	if series >= closedHosts {
		metric, later = "corrected", 0
	}
	rng := rand.New(rand.NewPCG(7, uint64(series)))
	for writer := range 3 {
		w.mu.Lock()
		var b storage.Batch
		var points []string
		for minute := range int64(60 * closedHours) {
			at := (w.base+minute*60)*1000 + later
			if at < d.Start || at > d.End || minute%3 != int64(writer) || rng.IntN(4) > 0 {
				continue
			}
			if point := w.point(metric, series, at/1000, float64(minute)+0.25); writer == 2 {
				points = append(points, point)
			} else {
				b.Add(w.refs[writer][series], at, float64(minute)+0.25)
			}
		}
		w.mu.Unlock()
		if writer == 2 {
			w.post(points)
		} else if err := w.adapters[writer].Append(w.Context(), &b); err != nil {
			w.Error(err)
		}
	}
}
