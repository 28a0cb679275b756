package query

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a part counts is counted in the whole, from several goroutines, and in no other part.
func TestTally(t *testing.T) {
	ctx, whole := BeginTally(t.Context())
	part, one := BeginTally(ctx)
	_, other := BeginTally(ctx)
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { TallyOf(part).Add(Near, Counts{1, 3, 2, 4, 100}) })
	}
	all.Wait()
	other.Add(Head, Counts{0, 1, 1, 1, 16})
	other.Add(Rows, Counts{})
	near := WayCounts{"near", Counts{10, 30, 20, 40, 1000}}
	if diff := cmp.Diff([]WayCounts{near}, one.Ways()); diff != "" {
		t.Error(diff)
	}
	list := whole.Ways()
	if diff := cmp.Diff([]WayCounts{near, {"head", Counts{0, 1, 1, 1, 16}}}, list); diff != "" {
		t.Error(diff)
	}
	if sum := SumWays(list); sum != (Counts{10, 31, 21, 41, 1016}) {
		t.Errorf("%+v", sum)
	}
	if text := WaysText(list); text != "near=20 head=1" {
		t.Error(text)
	}
}

// Without a tally nothing is counted and nothing fails.
func TestNilTally(t *testing.T) {
	none := TallyOf(t.Context())
	none.Add(Head, Counts{Rows: 1})
	if none != nil || len(none.Ways()) > 0 {
		t.Error("there is a tally")
	}
}
