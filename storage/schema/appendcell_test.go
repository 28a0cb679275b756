package schema

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// arrivals is the rule of an append cell in the simplest form: later arrivals replace earlier ones,
// then all are sorted.
func arrivals(points []Point) []Point {
	byOffset := map[uint32]Point{}
	for _, p := range points {
		byOffset[p.Offset] = p
	}
	sorted := make([]Point, 0, len(byOffset))
	for _, offset := range slices.Sorted(maps.Keys(byOffset)) {
		sorted = append(sorted, byOffset[offset])
	}
	return sorted
}

func TestRandomArrivalsAreSortedAndTheLastWins(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	first := IntPoint(5, 5)
	for range 500 {
		points := make([]Point, rng.IntN(80))
		for i := range points {
			points[i] = randomPoint(rng, rng.Uint32N(40)*500)
		}
		got, err := DecodeAppend([]Point{first}, AppendArrivals(nil, points))
		if err != nil || got[0] != first || !slices.Equal(got[1:], arrivals(points)) {
			t.Fatalf("DecodeAppend of %v = %v, %v", points, got, err)
		}
	}
}

func FuzzDecodeAppend(f *testing.F) {
	f.Add([]byte{0, 0, 0x2A, 1, 0xE0, 0x2A, 0, 0, 0x2B})
	f.Add([]byte{0xF0, 0, 0x0C, 0x80, 0x2A, 0, 0x2B, 0x42, 0x2A, 0, 0})
	f.Add([]byte{0, 0})
	f.Fuzz(func(t *testing.T, value []byte) {
		first := IntPoint(5, 5)
		points, err := DecodeAppend([]Point{first}, value)
		if err != nil {
			if len(points) != 1 || points[0] != first {
				t.Fatalf("after an error: %v", points)
			}
			return
		}
		if !slices.Equal(points[1:], arrivals(points[1:])) {
			t.Fatalf("%X gives %v, which is not sorted", value, points[1:])
		}
		again, err := DecodeAppend(nil, AppendArrivals(nil, points[1:]))
		if err != nil || !slices.Equal(again, points[1:]) {
			t.Errorf("%X gives %v, again %v, %v", value, points[1:], again, err)
		}
	})
}
