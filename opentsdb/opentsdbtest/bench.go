package opentsdbtest

import (
	"fmt"
	"testing"
)

// BenchSeries is how many series the points of benchmarks have.
const BenchSeries = 10_000

// PutPoints returns a body of points.
func PutPoints(points int) []byte {
	text := []byte{'['}
	for i := range points {
		text = fmt.Appendf(text, `{"metric":"sys.cpu.user.percentage","timestamp":%d,"value":%d.%d,"tags":{"host":"web%05d","dc":"lga","cpu":"%d","service":"checkout"}},`,
			1_356_998_400+i, i, i%10, i%BenchSeries, i%16)
	}
	text[len(text)-1] = ']'
	return text
}

// Benchmark measures a run of points, of so many bytes.
func Benchmark(b *testing.B, do func(), size, points int) {
	b.SetBytes(int64(size))
	b.ReportAllocs()
	for b.Loop() {
		do()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*points), "ns/point")
	b.StopTimer()
	// The allocations of a run do not depend on its number of points.
	if n := testing.AllocsPerRun(10, do); n > runAllocations {
		b.Fatalf("%v allocations for %d points of known series", n, points)
	}
}

// runAllocations are the allocations of a request or of a read of a connection; a point of a known
// series has none.
const runAllocations = 60
