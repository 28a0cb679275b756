package write

import (
	"testing"

	"github.com/klauspost/compress/snappy"
)

// BenchmarkWalk walks over a request of 2000 series with one sample each.
func BenchmarkWalk(b *testing.B) {
	const series = 2000
	for _, v := range []version{version1, version2} {
		body, err := snappy.Decode(nil, senderBody(b, v, series))
		if err != nil {
			b.Fatal(err)
		}
		b.Run(v.String(), func(b *testing.B) {
			var r message
			b.ReportAllocs()
			for b.Loop() {
				r.reset(v)
				if err := r.walk(body, generous()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/sample")
		})
	}
}
