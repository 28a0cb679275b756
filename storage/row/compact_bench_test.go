package row

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// BenchmarkCompact compacts an hour of single cells, 15 s apart, each acknowledged within a second.
func BenchmarkCompact(b *testing.B) {
	var cells []kv.Cell
	for i := range uint32(240) {
		c := pointsCell(0, float64(i)/10, i*15)
		c.Time = quietTime - 3_600_000 + int64(i)*15_000 + int64(i*7919%900)
		cells = append(cells, c)
	}
	h := rowOf(cells...)
	var r Reconciler
	b.ReportAllocs()
	for b.Loop() {
		if _, verdict := r.Compact(h, quietTime, UniformSpan); verdict != Compacted {
			b.Fatal(verdict)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(cells)), "ns/point")
}
