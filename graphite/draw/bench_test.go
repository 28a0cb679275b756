package draw

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkDraw draws 10 series of 800 points, smooth and noisy.
func BenchmarkDraw(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []struct {
		name  string
		noise float64
	}{{"smooth", 0}, {"noisy", 1}} {
		var series []Series
		for i := range 10 {
			values := make([]float64, 800)
			for j := range values {
				values[j] = float64(i) + math.Sin(float64(j)/50) + kind.noise*random.Float64()
			}
			series = append(series, wave(fmt.Sprint("series.number.", i), values...))
		}
		for _, format := range []string{"png", "svg", "pdf"} {
			b.Run(kind.name+"/"+format, func(b *testing.B) {
				for b.Loop() {
					o, err := Parse(parameters("width=800&height=400&format="+format), false, DefaultTemplates(), time.UTC)
					if err != nil {
						b.Fatal(err)
					}
					o.Format = format
					if _, err := Draw(b.Context(), o, series); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkDrawMany draws 5000 series of 800 points: walks, and noise over the whole height.
func BenchmarkDrawMany(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []struct {
		name        string
		walk, noise float64
	}{{"walks", 1, 0}, {"noise", 0, 100}} {
		series := make([]Series, 5000)
		for i := range series {
			values, at := make([]float64, 800), 100*random.Float64()
			for j := range values {
				at += kind.walk * random.NormFloat64()
				values[j] = at + kind.noise*random.Float64()
			}
			series[i] = wave(fmt.Sprint("series.number.", i), values...)
		}
		for _, format := range []string{"png", "svg", "pdf"} {
			b.Run(kind.name+"/"+format, func(b *testing.B) {
				for b.Loop() {
					o, err := Parse(parameters("width=800&height=400&format="+format), false, DefaultTemplates(), time.UTC)
					if err != nil {
						b.Fatal(err)
					}
					o.Format = format
					if _, err := Draw(b.Context(), o, series); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
