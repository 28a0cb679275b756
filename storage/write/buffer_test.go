package write_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// TestBufferedDiskFull refuses what does not fit, and continues when there is space.
func TestBufferedDiskFull(t *testing.T) {
	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(1)
	s := storetest.StartBuffered(t, db, disk)
	refs := storetest.Resolve(t, s.Store, storetest.Series("m", "host", "a"))
	m := storetest.NewModel(1)
	write := func(n int64) error {
		var b storage.Batch
		b.Add(refs[0], 1356998400000+n*1000, float64(n))
		err := s.Append(t.Context(), &b)
		if err == nil {
			m.Put(0, 1356998400000+n*1000, storetest.Sample{Bits: math.Float64bits(float64(n))})
		}
		return err
	}
	if err := write(1); err != nil {
		t.Fatal(err)
	}
	full := errors.New("disk on fire")
	disk.SetBefore(func(op logtest.Op, _ string) error {
		if op == logtest.OpSyncData {
			return full
		}
		return nil
	})
	if err := write(2); !errors.Is(err, full) {
		t.Fatalf("append on a disk that fails = %v", err)
	}
	disk.SetBefore(nil)
	if err := write(3); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	disk = disk.Kill(3)
	s = storetest.StartBuffered(t, db, disk)
	refs = storetest.Resolve(t, s.Store, storetest.Series("m", "host", "a"))
	m.Check(t, s.Store, refs, 1356998400000+3000, storage.MaxTime)
	m.Check(t, s.Store, refs, 0, 1356998400000+1000)
}

func TestBufferedNewSeriesInLog(t *testing.T) {
	// Series that were numbered before a crash and series numbered after it keep their points
	// apart.
	db, disk := kv.NewMem(storetest.Tables()...), logtest.New(5)
	var list []storage.Series
	m := storetest.NewModel(30)
	for round := range 3 {
		s := storetest.StartBuffered(t, db, disk)
		for n := range 10 {
			list = append(list, storetest.Series("m", "host", fmt.Sprint(round, "-", n)))
		}
		refs := storetest.Resolve(t, s.Store, list...)
		var b storage.Batch
		for n, ref := range refs {
			at := 1356998400000 + int64(round)*1000
			b.Add(ref, at, float64(n+round*100))
			m.Put(n, at, storetest.Sample{Bits: math.Float64bits(float64(n + round*100))})
		}
		if err := s.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		s.Stop()
		disk = disk.Kill(uint64(round))
	}
	s := storetest.StartBuffered(t, db, disk)
	m.Check(t, s.Store, storetest.Resolve(t, s.Store, list...), 0, storage.MaxTime)
}
