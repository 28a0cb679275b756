//go:build unix

package log_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/log"
	"github.com/tsdbridge/tsdbridge/storage/log/logtest"
)

// BenchmarkAppend appends records of 25 KB, a remote-write request of 2000 samples, on the disk of
// the temporary directory: in new segments, and over emptied ones.
func BenchmarkAppend(b *testing.B) {
	for _, reuse := range []bool{false, true} {
		for _, writers := range []int{1, 4, 8} {
			b.Run(fmt.Sprintf("reuse=%t/writers=%d", reuse, writers), func(b *testing.B) { benchmarkAppend(b, writers, reuse) })
		}
	}
}

func benchmarkAppend(b *testing.B, writers int, reuse bool) {
	opts := log.Options{Dir: b.TempDir()}
	if !reuse {
		opts.SpareBytes = -1
	}
	l, err := log.Open(opts)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	record := make([]byte, 25_000)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range record {
		record[i] = byte(rng.Uint32())
	}
	if reuse {
		emptySegments(b, l, record)
	}
	b.SetBytes(int64(len(record)))
	b.ReportAllocs()
	var left atomic.Int64
	left.Store(int64(b.N))
	took := make([][]time.Duration, writers)
	cpu := processTime()
	b.ResetTimer()
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				start := time.Now()
				at, err := l.Append(b.Context(), record)
				if err == nil && at.Offset == 64 {
					err = l.Truncate(at) // once a segment
				}
				if err != nil {
					b.Error(err)
					return
				}
				took[w] = append(took[w], time.Since(start))
			}
		})
	}
	wg.Wait()
	b.StopTimer()
	all := slices.Concat(took...)
	slices.Sort(all)
	b.ReportMetric(float64(all[len(all)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(all[len(all)*99/100].Microseconds()), "p99-µs")
	b.ReportMetric(float64((processTime()-cpu).Microseconds())/(float64(len(record))*float64(b.N)/1e6), "cpu-µs/MB")
}

// emptySegments writes and truncates enough segments for the rest to go into spare files.
func emptySegments(b *testing.B, l *log.Log, record []byte) {
	b.Helper()
	parts := slices.Repeat([][]byte{record}, 400)
	for range 21 { // three segments
		if _, err := l.Append(b.Context(), parts...); err != nil {
			b.Fatal(err)
		}
	}
	if err := l.Truncate(l.End()); err != nil {
		b.Fatal(err)
	}
}

func processTime() time.Duration {
	var used syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkOpen opens a log whose process was killed early in a segment of 64 MiB: Open searches
// the rest of the file for records that prove a broken one to be damage.
func BenchmarkOpen(b *testing.B) {
	for _, rest := range []string{"zeros", "old records"} {
		b.Run(rest, func(b *testing.B) {
			disk := logtest.New(1)
			l, err := log.Open(log.Options{Dir: "log", FS: disk})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := l.Append(b.Context(), make([]byte, 1000)); err != nil {
				b.Fatal(err)
			}
			segment := disk.Bytes(segmentName(1))
			if rest != "zeros" {
				rng := rand.New(rand.NewPCG(1, 1))
				for i := 2000; i < len(segment); i++ {
					segment[i] = byte(rng.Uint32())
				}
			}
			for b.Loop() {
				b.StopTimer()
				dir := b.TempDir()
				if err := os.WriteFile(filepath.Join(dir, filepath.Base(segmentName(1))), segment, 0o600); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				l, err := log.Open(log.Options{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				if err := l.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
