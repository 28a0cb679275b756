package rangefn

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/prometheus/prometheus/util/kahansum"

	"github.com/tsdbridge/tsdbridge/prometheus/promql/floats"
)

// kinds of values of a series.
func valueKinds(rng *rand.Rand) map[string]func(i int) float64 {
	return map[string]func(int) float64{
		"few":      func(int) float64 { return float64(rng.IntN(5)) },
		"any":      func(int) float64 { return rng.NormFloat64() },
		"whole":    func(int) float64 { return float64(rng.IntN(1000) - 500) },
		"huge":     func(int) float64 { return float64(rng.Int64N(1 << 50)) },
		"positive": func(int) float64 { return 100 + rng.Float64() },
		"growing":  func(i int) float64 { return 1 + float64(i)/3 },
		"falling":  func(i int) float64 { return 1000 / float64(i+1) },
		"negative": func(int) float64 { return -math.Exp(4 * rng.Float64()) },
		"zeros":    func(int) float64 { return math.Copysign(float64(rng.IntN(3)), rng.Float64()-0.5) },
		"NaN":      func(int) float64 { return []float64{1, 2, math.NaN()}[rng.IntN(3)] },
		"infinite": func(int) float64 { return []float64{1, 2, math.Inf(1), math.Inf(-1)}[rng.IntN(4)] },
		"tiny":     func(int) float64 { return 5e-324 * float64(1+rng.IntN(3)) },
		"greatest": func(int) float64 { return math.MaxFloat64 / float64(1+rng.IntN(9)) },
	}
}

// eachRange calls check for the steps of random series: their ranges only move on.
func eachRange(t *testing.T, check func(t *testing.T, s *span, fresh bool)) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 13))
	for name, value := range valueKinds(rng) {
		t.Run(name, func(t *testing.T) {
			s := &span{args: []float64{0}}
			for range 60 {
				s.series = s.series[:0]
				for i := range 1 + rng.IntN(200) {
					s.series = append(s.series, value(i))
				}
				fresh := true
				most := 1 + rng.IntN(20)
				for first, next := 0, 0; next < len(s.series); fresh = false {
					next = min(next+1+rng.IntN(most), len(s.series))
					first = min(first+rng.IntN(most), next-1)
					s.first, s.values = first, s.series[first:next]
					check(t, s, fresh)
				}
			}
		})
	}
}

func sameBits(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
}

// A quantile that follows the range is that of each range alone.
func TestOrdered(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 13))
	eachRange(t, func(t *testing.T, s *span, fresh bool) {
		if fresh {
			s.ordered.Begin(s.series)
		}
		s.args[0] = []float64{0, 0.5, 0.9, 1, rng.Float64(), -1, 2, math.NaN()}[rng.IntN(8)]
		got, _ := quantileOverTime(s)
		if want := floats.Quantile(s.args[0], slices.Clone(s.values)); !sameBits(got, want) {
			t.Fatalf("quantile %v of %v is %v, want %v", s.args[0], s.values, got, want)
		}
	})
}

// A maximum and a minimum that follow the range are those that the library finds in each range.
func TestExtremum(t *testing.T) {
	for least, eval := range map[bool]func(*span) (float64, bool){false: maxOverTime, true: minOverTime} {
		t.Run(fmt.Sprint("least ", least), func(t *testing.T) {
			eachRange(t, func(t *testing.T, s *span, fresh bool) {
				if s.extremum.Least = least; fresh {
					s.extremum.Begin(s.series)
				}
				want := s.values[0]
				for _, v := range s.values {
					if least && v < want || !least && v > want || math.IsNaN(want) {
						want = v
					}
				}
				if got, _ := eval(s); !sameBits(got, want) {
					t.Fatalf("extremum of %v is %v, want %v", s.values, got, want)
				}
			})
		})
	}
}

// librarySum adds as the library does.
func librarySum(values []float64, factor func(i int) float64) (s floats.Sum) {
	for i, v := range values {
		s.Value, s.Rest = kahansum.Inc(factor(i)*v, s.Value, s.Rest)
	}
	return s
}

func sameSum(a, b floats.Sum) bool { return sameBits(a.Value, b.Value) && sameBits(a.Rest, b.Rest) }

// Sums of ranges that need no comparison, or no addition, are the library's.
func TestSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 13))
	exact, bounded := 0, 0
	eachRange(t, func(t *testing.T, s *span, fresh bool) {
		if fresh {
			findBound(s)
			s.totals.Begin(s.series)
		}
		want := librarySum(s.values, func(int) float64 { return 1 })
		if !want.IsFinite() {
			return // the function itself knows what to do
		}
		if got := floats.SumOf(floats.Sum{}, s.values, s.bound); !sameSum(got, want) {
			t.Fatalf("sum of %v is %v, want %v", s.values, got, want)
		}
		if s.totals.Exact {
			exact++
			if got := s.totals.Of(s.first, s.first+len(s.values)); !sameSum(got, want) {
				t.Fatalf("total of %v is %v, want %v", s.values, got, want)
			}
		}
		if math.Abs(want.Value) >= s.bound {
			bounded++
		}
		// Distances that ascend from or to 0 or another one, or change their sign.
		at, step := float64(rng.IntN(100_000)), rng.IntN(60_000)
		switch rng.IntN(4) {
		case 0:
			at = 0
		case 1:
			at = -at
		case 2:
			at = -float64(step * len(s.values) / 2)
		}
		s.scratch = s.scratch[:0]
		for range s.values {
			s.scratch = append(s.scratch, at/1e3)
			at += float64(1 + rng.IntN(1+step))
		}
		want = librarySum(s.values, func(i int) float64 { return s.scratch[i] })
		if y, xy := s.valueSums(); want.IsFinite() && (!sameSum(xy, want) || !y.IsFinite()) {
			t.Fatalf("sum of products of %v and %v is %v, want %v", s.values, s.scratch, xy, want)
		}
		rows := [floats.SumsAtOnce][]float64{s.values, s.values, s.values, s.values}
		if got := floats.SumProducts(rows, s.scratch, s.productBound()); want.IsFinite() && !sameSum(got[3], want) {
			t.Fatalf("sums of products of %v and %v are %v, want %v", s.values, s.scratch, got, want)
		}
	})
	if exact < 100 || bounded < 100 {
		t.Errorf("%d exact and %d bounded ranges", exact, bounded)
	}
}

// A quantile that is selected is that of the library's order.
func TestSelectedQuantile(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 13))
	for name, value := range valueKinds(rng) {
		for n := 1; n < 3000; n += 1 + n*rng.IntN(4)/3 {
			values := make([]float64, n)
			for i := range values {
				values[i] = value(i)
			}
			if rng.IntN(3) == 0 {
				slices.Sort(values)
			}
			q := []float64{0, 0.5, 0.95, 1, rng.Float64()}[rng.IntN(5)]
			sorted := slices.Clone(values)
			sort.Slice(sorted, func(i, j int) bool { return math.IsNaN(sorted[i]) || sorted[i] < sorted[j] }) // as the library
			rank := q * (float64(n) - 1)
			lower := math.Floor(rank)
			upper, weight := min(float64(n)-1, lower+1), rank-lower
			want := sorted[int(lower)]*(1-weight) + sorted[int(upper)]*weight
			if got := floats.Quantile(q, values); !sameBits(got, want) {
				t.Fatalf("%s: quantile %v of %d values is %v, want %v", name, q, n, got, want)
			}
		}
	}
}
