package store_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestDeletionWithFullLog stops a deletion until the log has no more space than for its end. Then
// points are refused, and they are taken again when the deletion is finished.
func TestDeletionWithFullLog(t *testing.T) {
	if testing.Short() {
		t.Skip("fills a log of 256 MiB: left out with -short")
	}
	db := newGated(0)
	p := storetest.StartBuffered(t, db, logtest.New(1), func(o *store.Options) {
		// A log of four segments. Only the ticks of the flush measure it.
		o.Buffer.SegmentBytes, o.Buffer.MaxLogBytes, o.Buffer.FlushDelay, o.Buffer.FlushInterval = 64<<20, 256<<20, 1<<60, 1<<60
	})
	refs := p.Resolve(append(deleteList, storetest.Series("m", "host", "z")))
	large := make([]byte, 20<<20)
	write := func(ctx context.Context, n int) error {
		var b storage.Batch
		b.AddObject(refs[2], deleteBegin+int64(n), storage.KindExemplar, large)
		b.Add(refs[0], deleteBegin, 1)
		return p.Append(ctx, &b)
	}
	if err := write(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	if err := p.FlushAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := p.Delete(db.through(t.Context()), storage.Deletion{Refs: refs[:1], Start: deleteBegin, End: deleteBegin + 3600_000 - 1})
		done <- err
	}()
	<-db.reached
	taken, err := 0, error(nil)
	for ; err == nil; taken++ {
		if taken == 40 {
			t.Fatal("the log takes points for ever")
		}
		err = write(t.Context(), taken)
	}
	if !errors.Is(err, storage.ErrFull) || !strings.Contains(err.Error(), "for a deletion") {
		t.Fatalf("after %d batches: %v", taken, err)
	}
	close(db.removed)
	if err := <-done; !errors.Is(err, errFails) {
		t.Fatal(err)
	}
	if err := p.FinishDeletions(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.FlushAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for err := write(t.Context(), 0); err != nil; err = write(t.Context(), 0) {
		if t.Context().Err() != nil || !errors.Is(err, storage.ErrFull) {
			t.Fatal(err)
		}
	}
	m := storetest.NewModel(1)
	m.Put(0, deleteBegin, storetest.Sample{Bits: math.Float64bits(1)})
	if diff := m.Diff(storetest.Read(t, p.Store, refs[:1])); diff != "" {
		t.Error(diff)
	}
	p.End()
}
