package call

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrder sorts lists of several runs.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{0, 1, RunLength, RunLength + 1, 3*RunLength - 1, 5 * RunLength} {
		list := make([]float64, n)
		for i := range list {
			list[i] = float64(random.IntN(n))
		}
		want := slices.Sorted(slices.Values(list))
		c := New(nil, nil, nil, &Resources{Ctx: t.Context()}, nil)
		if !Order(c, list, cmp.Compare) || !slices.Equal(list, want) {
			t.Errorf("%d values are in no order", n)
		}
		c = New(nil, nil, nil, &Resources{Ctx: &endsAfter{Context: t.Context(), looks: 3}}, nil)
		if n > 2*RunLength && (Order(c, list, cmp.Compare) || c.Err == nil) {
			t.Errorf("%d values are sorted although the request has ended", n)
		}
	}
}

// endsAfter is a context that ends after so many looks.
type endsAfter struct {
	context.Context

	looks int
}

func (e *endsAfter) Err() error {
	if e.looks--; e.looks < 0 {
		return context.Canceled
	}
	return nil
}
