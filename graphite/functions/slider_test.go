package functions

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tsdbridge/tsdbridge/graphite/call"
	"github.com/tsdbridge/tsdbridge/graphite/python"
	"github.com/tsdbridge/tsdbridge/graphite/series"
)

// TestSliders compares what sliders give with what the aggregators give of each window, bit by bit: of
// whole numbers and fractions, with many equal ones, nulls, infinities and zeros of both signs.
func TestSliders(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 8))
	kinds := map[string]func() float64{
		"whole":     func() float64 { return float64(random.IntN(1000) - 500) },
		"equal":     func() float64 { return float64(random.IntN(3)) },
		"fractions": random.NormFloat64,
		"zeros":     func() float64 { return math.Copysign(0, float64(random.IntN(2))-0.5) },
		"large":     func() float64 { return math.Ldexp(float64(random.IntN(1000)), 50) },
		"infinite":  func() float64 { return []float64{1, 2, math.Inf(1), math.Inf(-1)}[random.IntN(4)] },
	}
	slid := map[string]int{}
	for kind, value := range kinds {
		for _, nulls := range []float64{0, 0.2, 0.95} {
			values := make([]float64, 400)
			for i := range values {
				if values[i] = value(); random.Float64() < nulls {
					values[i] = python.None()
				}
			}
			for _, name := range []string{"median", "max", "min", "sum", "average"} {
				agg, err := series.FindAggregator(name, name)
				if err != nil {
					t.Fatal(err)
				}
				for _, points := range []int64{1, 5, 17, 40, 111, 399, 400, 401} {
					c := call.New(nil, nil, nil, &call.Resources{Ctx: t.Context()}, nil)
					if sliderOf(c, values, points, agg) != nil {
						slid[name]++
					}
					got := movingValues(c, values, points, agg, 0)
					for i, v := range got {
						want := agg.Of(values[i+1:][:points])
						if math.Float64bits(v) != math.Float64bits(want) && !(v == 0 && want == 0 && name == "median") {
							t.Fatalf("%s of %s, %g null, window of %d at %d: %g, want %g", name, kind, nulls, points, i, v, want)
						}
					}
					if want := max(0, 400-int(points)); len(got) != want {
						t.Fatalf("%d values, want %d", len(got), want)
					}
				}
			}
		}
	}
	if len(slid) != 5 {
		t.Errorf("slid only %v", slid)
	}
}

// BenchmarkMoving moves windows of 10 000 points over 20 000.
func BenchmarkMoving(b *testing.B) {
	values := make([]float64, 20_000)
	for i := range values {
		values[i] = float64(i*7919%10007) + 0.5
	}
	for _, name := range []string{"median", "max", "min", "sum"} {
		agg, err := series.FindAggregator(name, name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				c := call.New(nil, nil, nil, &call.Resources{Ctx: context.Background()}, nil)
				movingValues(c, values, 10_000, agg, 0)
			}
		})
	}
}
