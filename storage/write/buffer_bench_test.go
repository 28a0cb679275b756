package write_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// BenchmarkReplay starts stores whose logs hold two million points of 10 000 series.
func BenchmarkReplay(b *testing.B) {
	const series, steps = 10_000, 200
	db, dir := kv.NewMem(storetest.Tables()...), b.TempDir()
	open := func() *storetest.Process {
		return storetest.Start(b, db, func(o *store.Options) { o.Mode, o.Buffer.Dir = write.Buffered, dir }, neverFlush)
	}
	s := open()
	list := make([]storage.Series, series)
	for i := range list {
		list[i] = storage.Series{Metric: "m", Tags: []storage.Tag{{Key: "host", Value: fmt.Sprint(i)}}}
	}
	refs := s.Resolve(list)
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
	leave(b, s)
	b.ResetTimer()
	for b.Loop() {
		s := open()
		b.StopTimer()
		leave(b, s)
		b.StartTimer()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(series*steps), "ns/point")
}

// leave closes the log of a store and keeps its content.
func leave(b *testing.B, s *storetest.Process) {
	b.Helper()
	s.Stop()
	ended, end := context.WithCancel(context.Background())
	end()
	if s.Close(ended) == nil {
		b.Fatal("the store was flushed")
	}
}
