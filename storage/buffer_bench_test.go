package storage_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// BenchmarkReplay starts stores whose logs hold two million points of 10 000 series.
func BenchmarkReplay(b *testing.B) {
	const series, steps = 10_000, 200
	db, dir := kv.NewMem(storetest.Tables()...), b.TempDir()
	open := func() (*storage.Store, func()) {
		o := storage.DefaultOptions()
		o.Exclusive, o.Mode, o.Buffer.Dir = true, storage.WriteBuffered, dir
		neverFlush(&o)
		s, err := storage.New(db, o)
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		for s.Ready(ctx) != nil {
			time.Sleep(time.Millisecond)
		}
		return s, func() {
			cancel()
			if err := <-done; err != nil {
				b.Error(err)
			}
		}
	}
	s, stop := open()
	list := make([]storage.Series, series)
	for i := range list {
		list[i] = storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: fmt.Sprint(i)}}}
	}
	refs, errs := s.Resolve(b.Context(), list)
	if errs != nil {
		b.Fatal(errs)
	}
	var batch storage.Batch
	for step := range int64(steps) {
		for from := 0; from < series; from += 2000 {
			batch.Reset()
			for i := from; i < from+2000; i++ {
				batch.Add(refs[i], 1356998400000+step*15_000+int64(i%977), float64(step*int64(i%90)))
			}
			if err := s.Append(b.Context(), &batch); err != nil {
				b.Fatal(err)
			}
		}
	}
	stop()
	leave(b, s)
	b.ResetTimer()
	for b.Loop() {
		s, stop := open()
		b.StopTimer()
		stop()
		leave(b, s)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(series*steps), "ns/point")
}

// leave closes the log of a store and keeps what is in it.
func leave(b *testing.B, s *storage.Store) {
	b.Helper()
	ended, end := context.WithCancel(context.Background())
	end()
	if s.Close(ended) == nil {
		b.Fatal("the store was flushed")
	}
}
