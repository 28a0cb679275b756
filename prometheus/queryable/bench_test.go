package queryable

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// BenchmarkSelect iterates over the same series, without HTTP.
func BenchmarkSelect(b *testing.B) {
	p := newPromStorage(promtest.OpenStore(b, promtest.Engines()["embedded"](b)))
	promtest.WriteSteady(b, p, 1000)
	for b.Loop() {
		set := p.querier(0, 3600_000).Select(b.Context(), false, nil, promtest.Matchers(b, "m")...)
		n := 0
		for set.Next() {
			it := set.At().Iterator(nil)
			for it.Next() != 0 {
				n++
			}
		}
		if n != 240_000 || set.Err() != nil {
			b.Fatal(n, set.Err())
		}
	}
}
