package e2e_test

import (
	"maps"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// eraser is a fourth adapter that does nothing but delete. It is a store in the test's process, since
// no port of an adapter deletes yet.
type eraser struct {
	*storetest.Process
	refs map[string]storage.Ref // by host
}

func (s tables) startEraser(t testing.TB) *eraser {
	t.Helper()
	engine, err := hbase.New(hbase.Options{ZooKeeper: s.cluster.ZooKeeper()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = engine.Close() })
	e := &eraser{refs: map[string]storage.Ref{}, Process: storetest.Start(t, engine, func(o *store.Options) {
		o.Exclusive, o.IndexRefresh = false, time.Second
		o.Tables = store.Tables{Data: s.name, UID: s.name + "-uid", Meta: s.name + "-meta", Tree: s.name + "-tree"}
	})}
	for _, host := range randomHosts() {
		e.refs[host] = e.Resolve([]storage.Series{storetest.Series(randomMetric, "host", host)})[0]
	}
	return e
}

// erase has an adapter delete part of an hour, an hour, all hours, or the series.
func (w *randomWorld) erase() {
	w.t.Helper()
	if w.eraser == nil {
		w.eraser = w.s.startEraser(w.t)
	}
	row := w.row()
	d := storage.Deletion{Refs: []storage.Ref{w.eraser.refs[row.host]}, Start: row.hour, End: row.hour + time.Hour.Milliseconds() - 1}
	switch w.rng.IntN(6) {
	case 0:
		d.Whole = true
	case 1:
		d.Start, d.End = 0, storage.MaxTime
	case 2:
	default:
		offsets := randomOffsets()
		from := w.rng.IntN(len(offsets))
		d.Start, d.End = row.hour+offsets[from], row.hour+offsets[from+w.rng.IntN(len(offsets)-from)]
	}
	w.tell("eraser: %s from %d to %d, whole %v", row.host, d.Start, d.End, d.Whole)
	if _, err := w.eraser.Delete(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
	labels := randomLabels(row.host)
	for at := range maps.Clone(w.want[labels]) {
		if d.Whole || at >= d.Start && at <= d.End {
			w.want.remove(labels, at)
		}
	}
}
