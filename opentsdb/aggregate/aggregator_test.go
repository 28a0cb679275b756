package aggregate

import (
	"math"
	"testing"
)

// TestAggregators computes values that a TSD was seen to compute.
func TestAggregators(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name   string
		values []float64
		want   float64
	}{
		{"sum", []float64{1, nan, 2}, 3},
		{"sum", []float64{nan}, nan},
		{"count", []float64{1, nan, 2}, 2},
		{"avg", []float64{1, 2}, 1.5},
		{"median", []float64{4, 1, 2, 3}, 3},
		{"dev", []float64{2, 4, 4, 4, 5, 5, 7, 9}, 2},
		{"dev", []float64{7}, 0},
		{"diff", []float64{nan, 3, 10}, 7},
		{"diff", []float64{3}, 0},
		{"mult", []float64{2, nan}, nan},
		{"squareSum", []float64{2, 3}, 13},
		{"mimmin", []float64{nan, -1, 4}, -1},
		{"max", []float64{nan, nan}, nan},
		{"p50", []float64{1, 2}, 1.5},
		{"p99", []float64{1, 2, 3}, 3},
		{"p75", []float64{1, 2, 3, 4}, 3.75},
		{"ep75r3", []float64{1, 2, 3, 4}, 3.75}, // the kind of estimation is that of integers alone
		{"first", []float64{5, 6}, 5},
		{"last", []float64{5, 6}, 6},
	} {
		a, ok := Get(c.name)
		if !ok {
			t.Fatal(c.name)
		}
		if got := a.Doubles(c.values); got != c.want && (got == got || c.want == c.want) {
			t.Errorf("%s of %v = %v, want %v", c.name, c.values, got, c.want)
		}
	}
	for _, c := range []struct {
		name   string
		values []int64
		want   int64
	}{
		{"avg", []int64{1, 2}, 1},
		{"avg", []int64{-1, -2}, -1},
		{"dev", []int64{1, 2}, 0},
		{"p50", []int64{1, 2}, 1},
		{"ep75r3", []int64{1, 2, 3, 4}, 3},
		{"ep75r7", []int64{1, 2, 3, 4}, 3},
		{"median", []int64{4, 1, 2, 3}, 3},
		{"sum", []int64{math.MaxInt64, 1}, math.MinInt64},
	} {
		if a, _ := Get(c.name); a.Longs(c.values) != c.want {
			t.Errorf("%s of %v = %d, want %d", c.name, c.values, a.Longs(c.values), c.want)
		}
	}
	if n := len(Names()); n != 35 {
		t.Errorf("%d aggregators, a TSD has 35", n)
	}
}
