package columns

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// TestNoCellIsMistakenForAppend makes cells that begin at every second of the hour, as seconds and
// with a fraction, and continue in every way.
func TestNoCellIsMistakenForAppend(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	var coder Encoder
	var decoder Decoder
	for second := range uint32(schema.RowSeconds) {
		for _, start := range []uint32{second * 1000, second*1000 + 1, second*1000 + 999} {
			for _, step := range []uint32{1, 500, 1000, 7000} {
				points := pointsFrom(rng, start, step)
				q, v := schema.AppendCell(nil, nil, points)
				if schema.MistakenForAppend(q) || len(q) > 2 && q[0] == 0x05 {
					t.Fatalf("the cell of %v begins with 05: %X", points, q)
				}
				checkColumns(t, &coder, &decoder, q, v)
				checkSamePoints(t, q, v, points)
			}
		}
	}
}

// pointsFrom returns one to five points from an offset on, within the hour.
func pointsFrom(rng *rand.Rand, start, step uint32) (points []schema.Point) {
	for range 1 + rng.IntN(5) {
		if start < schema.RowSeconds*1000 {
			points = append(points, randomPoint(rng, start))
		}
		start += step
	}
	return points
}

// checkSamePoints checks that a cell holds these points, whether its qualifiers count seconds or
// milliseconds.
func checkSamePoints(t *testing.T, q, v []byte, want []schema.Point) {
	t.Helper()
	got, err := schema.DecodeData(nil, q, v)
	same := func(a, b schema.Point) bool { return a.Offset == b.Offset && a.SameValue(b) }
	if err != nil || !slices.EqualFunc(got, want, same) {
		t.Fatalf("%X=%X holds %v, %v, want %v", q, v, got, err, want)
	}
}
