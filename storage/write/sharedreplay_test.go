package write

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/journal"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// A filter leaves out what each deletion deletes and nothing else, although records are not in the
// order of their acknowledgements, and it reads the series of a deletion once and only if a record
// is old enough.
func TestReplayFilter(t *testing.T) {
	x := index.New(schema.DefaultLayout())
	var tsuids [][]byte
	for n := range byte(4) {
		tsuids = append(tsuids, []byte{0, 0, 1, 0, 0, 1, 0, 0, n})
		if _, _, err := x.Add(tsuids[n]); err != nil {
			t.Fatal(err)
		}
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		f := &replayFilter{index: x, of: map[string][]int{}, lost: map[int][]openHour{}}
		of, read := map[*journal.Entry][]int{}, map[*journal.Entry]int{}
		for range r.IntN(6) {
			start := r.Int64N(50)
			e := &journal.Entry{Deletion: own.Deletion{Start: start, End: start + r.Int64N(50), Until: r.Int64N(100)}}
			f.entries, of[e] = append(f.entries, e), r.Perm(4)[:1+r.IntN(3)]
		}
		f.series = func(_ context.Context, e *journal.Entry) (all [][]byte, err error) {
			read[e]++
			for _, n := range of[e] {
				all = append(all, tsuids[n])
			}
			return all, nil
		}
		f.sort()
		earliest := int64(1000)
		for range 40 {
			acknowledged, n, at := r.Int64N(110), r.IntN(4), r.Int64N(100)
			earliest = min(earliest, acknowledged)
			var b storage.Batch
			b.Add(index.RefOf(index.ID(n)), at, 1)
			kept, err := f.pass(t.Context(), &b, acknowledged)
			want := !slices.ContainsFunc(f.entries, func(e *journal.Entry) bool {
				return acknowledged <= e.Until && e.Start <= at && at <= e.End && slices.Contains(of[e], n)
			})
			if got := err == nil && len(kept.Refs) == 1; got != want {
				t.Fatalf("seed %d: a point of series %d at %d, acknowledged at %d, stays: %v, want %v, %v", seed, n, at, acknowledged, got, want, err)
			}
		}
		for _, e := range f.entries {
			if want := e.Until >= earliest; (read[e] == 1) != want || read[e] > 1 {
				t.Fatalf("seed %d: the series of a deletion until %d were read %d times, the earliest record is of %d", seed, e.Until, read[e], earliest)
			}
		}
	}
}
