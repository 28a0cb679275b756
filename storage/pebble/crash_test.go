package pebble

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"golang.org/x/sync/errgroup"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

const crashWriters = 4

var crashCounter = kv.Column{Table: "t", Family: "g", Row: []byte("counter"), Qualifier: []byte("n")}

// crashStore opens a store whose file system remembers what was synced.
func crashStore(files vfs.FS) (*Engine, error) {
	o := Options{Path: "store", Tables: []kv.Table{{Name: "t", Families: []string{"f", "g"}}}}
	return open(o, files, func() int64 { return 1_700_000_000_000 })
}

// TestCrash writes from several goroutines, copies the file system at random moments as a power
// failure would leave it, and opens each copy. What was acknowledged before the copy is there, no
// row is half changed, and a number that was drawn before an acknowledged write is not drawn again.
func TestCrash(t *testing.T) {
	files := vfs.NewCrashableMem()
	e, err := crashStore(files)
	if err != nil {
		t.Fatal(err)
	}
	var acknowledged [crashWriters]atomic.Int64
	progress := make(chan struct{}, 1)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	g, ctx := errgroup.WithContext(ctx)
	for w := range crashWriters {
		g.Go(func() error { return crashWriter(ctx, e, w, &acknowledged[w], progress) })
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for crash := range 25 {
		if crash%5 == 4 {
			e.mustFlush(t)
		}
		// Wait until each writer has made a few more writes, so that the copies differ.
		for w := range acknowledged {
			target := acknowledged[w].Load() + rng.Int64N(20)
			for acknowledged[w].Load() < target && ctx.Err() == nil {
				select {
				case <-progress:
				case <-ctx.Done():
				}
			}
		}
		var before [crashWriters]int64
		for w := range before {
			before[w] = acknowledged[w].Load()
		}
		// percentage of unsynced data that reached the disk all the same
		kept := int(rng.Int64N(101))
		copied := files.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rng})
		afterCrash(t, copied, before)
	}
	stop()
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
}

// crashWriter repeats one write: it draws a number, puts it into two cells of its own row, and
// deletes the two before.
func crashWriter(ctx context.Context, e *Engine, w int, acknowledged *atomic.Int64, progress chan<- struct{}) error {
	for n := int64(1); ctx.Err() == nil; n++ {
		drawn, err := e.Increment(context.WithoutCancel(ctx), crashCounter, 1)
		if err != nil {
			return err
		}
		value := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, uint64(n)), uint64(drawn))
		m := kv.Mutation{
			Key:     fmt.Appendf(nil, "writer %d", w),
			Puts:    []kv.Put{{Qualifier: fmt.Appendf(nil, "a%d", n), Value: value}, {Qualifier: fmt.Appendf(nil, "b%d", n), Value: value}},
			Deletes: []kv.Delete{{Qualifier: fmt.Appendf(nil, "a%d", n-1)}, {Qualifier: fmt.Appendf(nil, "b%d", n-1)}},
		}
		if err := e.Apply(context.WithoutCancel(ctx), "t", "f", []kv.Mutation{m}); err != nil {
			return err
		}
		acknowledged.Store(n)
		select {
		case progress <- struct{}{}:
		default:
		}
	}
	return nil
}

func afterCrash(t *testing.T, files vfs.FS, acknowledged [crashWriters]int64) {
	t.Helper()
	e, err := crashStore(files)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var drawn int64
	for w, want := range acknowledged {
		rows, err := e.Get(t.Context(), "t", "f", [][]byte{fmt.Appendf(nil, "writer %d", w)})
		if err != nil {
			t.Fatal(err)
		}
		cells := rows[0].Cells
		if len(cells) == 0 && want == 0 {
			continue
		}
		if len(cells) != 2 || string(cells[0].Value) != string(cells[1].Value) {
			t.Fatalf("writer %d: half a change: %v", w, cells)
		}
		if n := int64(binary.BigEndian.Uint64(cells[0].Value)); n < want {
			t.Errorf("writer %d: write %d is the last, %d was acknowledged", w, n, want)
		}
		drawn = max(drawn, int64(binary.BigEndian.Uint64(cells[0].Value[8:])))
	}
	if next, err := e.Increment(t.Context(), crashCounter, 1); err != nil || next <= drawn {
		t.Errorf("Increment = %d, %v; %d is in use", next, err, drawn)
	}
}
