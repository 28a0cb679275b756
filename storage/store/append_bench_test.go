package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// BenchmarkAppend appends batches of one point of each of a thousand series, in the order of time,
// written through and buffered.
func BenchmarkAppend(b *testing.B) {
	for _, mode := range []write.Mode{write.Through, write.Buffered} {
		b.Run(string(mode), func(b *testing.B) {
			s := openForAppends(b, mode)
			var names []storage.Series
			for i := range 1000 {
				names = append(names, storetest.Series("cpu", "host", fmt.Sprint("h", i)))
			}
			refs, errs := s.Resolve(b.Context(), names)
			if errs != nil {
				b.Fatal(errs)
			}
			var batch storage.Batch
			for n := 0; b.Loop(); n++ {
				batch.Reset()
				for i, ref := range refs {
					batch.Add(ref, 1_700_000_000_000+int64(n)*1000, float64(n*i))
				}
				if err := s.Append(b.Context(), &batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(refs)), "ns/point")
		})
	}
}

// BenchmarkResolve resolves a thousand new series of a known metric.
func BenchmarkResolve(b *testing.B) {
	s := openForAppends(b, write.Through)
	names := make([]storage.Series, 1000)
	for n := 0; b.Loop(); n++ {
		for i := range names {
			names[i] = storetest.Series("cpu", "host", fmt.Sprint("h", n, " ", i))
		}
		if _, errs := s.Resolve(b.Context(), names); errs != nil {
			b.Fatal(errs)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(names)), "ns/series")
}

func openForAppends(b *testing.B, mode write.Mode) *store.Store {
	b.Helper()
	o := store.DefaultOptions()
	o.Exclusive, o.Mode = true, mode
	o.Buffer.Dir, o.Buffer.FlushInterval, o.Buffer.FlushDelay = b.TempDir(), 1<<60, 1<<60
	s, err := store.New(kv.NewMem(storetest.Tables()...), o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	b.Cleanup(func() { cancel(); <-done })
	for s.Ready(b.Context()) != nil {
		time.Sleep(time.Millisecond)
	}
	return s
}
