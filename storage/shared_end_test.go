package storage_test

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// What was put through without reading is settled when a process ends in order: nobody would do it afterwards, and a TSD would refuse to answer.
func TestEndSettlesWhatWasNotRead(t *testing.T) {
	w := newWorld(t, 1, 0)
	one, two := w.adapters[2], w.adapters[3]
	for i, a := range []*adapter{one, two} {
		w.acknowledge(a, int64(i), 1) // reads the row
	}
	for offset := range int64(20) {
		w.acknowledge(one, 1000+offset*1000, 1.5) // 4 bytes
		w.acknowledge(two, 1000+offset*1000, 0.1) // 8 bytes
	}
	one.End()
	two.End()
	reader := w.adapters[0]
	w.model.Check(t, reader.Store, reader.refs, 0, storage.MaxTime)
	storetest.CheckRows(t, w.db, "tsdb", false)
}
