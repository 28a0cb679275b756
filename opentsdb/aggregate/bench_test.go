package aggregate

import "testing"

// BenchmarkDownsampledGroup downsamples many series with a point a minute and adds them up.
func BenchmarkDownsampledGroup(b *testing.B) {
	const series, points = 2500, 120
	times, values := make([]int64, points), make([]float64, points)
	for i := range times {
		times[i], values[i] = 1_700_000_040_000+int64(i)*60_000, float64(i)
	}
	d, err := ParseDownsampling("1m-avg")
	if err != nil {
		b.Fatal(err)
	}
	sum, _ := Get("sum")
	p := &Plan{Range: NewRange(times[0], times[points-1], d), Downsampling: d, Aggregator: sum}
	b.ReportAllocs()
	for b.Loop() {
		var room Room
		g := p.Group()
		for range series {
			s, err := p.Member(Span{Times: times, Values: values}, &room)
			if err != nil {
				b.Fatal(err)
			}
			g.Add(s)
		}
		if _, err := p.Result(g, func() error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(series*points), "ns/point")
}
