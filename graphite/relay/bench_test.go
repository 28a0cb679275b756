package relay

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/graphite/carbon"
)

// BenchmarkPut tells what a point costs whoever sends it, and the spool.
func BenchmarkPut(b *testing.B) {
	f, err := New(Options{
		Address: "127.0.0.1:1", Protocol: Pickle, Dir: b.TempDir(), MaxBytes: 8 << 30, Logger: slog.New(slog.DiscardHandler),
		Registerer: prometheus.NewRegistry(), Now: time.Now,
	})
	if err != nil {
		b.Fatal(err)
	}
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		f.put(ended)
	}()
	points := make([]carbon.Point, 1000)
	for i := range points {
		points[i] = carbon.Point{Name: fmt.Appendf(nil, "servers.dc%d.web%03d.cpu.%d.user", i%3, i/8, i%8), Time: 1_700_000_000, Value: float64(i*i%977) / 8}
	}
	n := 0
	for b.Loop() {
		for i := range points {
			points[i].Time += 10
			points[i].Value = float64((n+i*i)%9973) / 8
		}
		f.Put(points)
		n += len(points)
		if n%100_000 == 0 {
			b.StopTimer()
			time.Sleep(20 * time.Millisecond) // so that none are dropped
			b.StartTimer()
		}
	}
	close(ended)
	<-done
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/point")
	b.ReportMetric(float64(f.spool.Waiting())/float64(n), "bytes/point")
	if err := f.Close(); err != nil {
		b.Error(err)
	}
}
