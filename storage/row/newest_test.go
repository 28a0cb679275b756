package row

import (
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

func TestReplaces(t *testing.T) {
	const (
		number    = Number
		float     = storage.KindFloat
		histogram = storage.KindHistogram
		exemplar  = storage.KindExemplar
		start     = storage.KindStartTime
	)
	for _, c := range []struct {
		newer, older storage.Kind
		want         bool
	}{
		{number, number, true},
		{number, float, true},
		{number, histogram, true},
		{number, start, false},
		{number, exemplar, false},
		{float, number, true},
		{histogram, number, true},
		{histogram, float, true},
		{float, start, false},
		{histogram, start, false},
		{start, start, true},
		{start, number, false},
		{start, histogram, false},
		{start, exemplar, false},
		{exemplar, exemplar, false},
		{exemplar, number, false},
		{exemplar, start, false},
		{77, 77, true},
		{77, 78, false},
		{77, number, false}, // kinds of later versions
	} {
		if got := Replaces(c.older, c.newer); got != c.want {
			t.Errorf("Replaces(%d, %d) = %v, want %v", c.older, c.newer, got, c.want)
		}
		if got := Replaces(c.newer, c.older); got != c.want {
			t.Errorf("Replaces(%d, %d) = %v, want %v", c.newer, c.older, got, c.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	for v, want := range map[float64]storage.Kind{
		0: Number, -math.MaxFloat64: Number, math.Inf(1): storage.KindFloat, math.Inf(-1): storage.KindFloat, math.NaN(): storage.KindFloat,
	} {
		if got := KindOf(v); got != want {
			t.Errorf("KindOf(%v) = %d, want %d", v, got, want)
		}
	}
}
