package queryable

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/internal/testkit/scale"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// TestKeptSelections: a store that keeps what selectors found finds what one finds that keeps
// nothing, whatever is registered, written and deleted in between.
func TestKeptSelections(t *testing.T) {
	const day = 24 * 3600_000
	selectors := []string{
		`a`, `a{x=~".*1"}`, `a{x!="1"}`, `a{y=""}`, `a{y!=""}`, `b`, `b{x="2"}`, `never`, `{__name__=~"a|b"}`, `{x="1"}`,
	}
	for seed := range scale.Of[uint64](t, "random histories beside selectors", 10, 20, 500) {
		r := rand.New(rand.NewPCG(seed, 5))
		names, err := translate.New()
		if err != nil {
			t.Fatal(err)
		}
		store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
		plain, kept := New(store, names, Limits{Series: 60}), New(store, names, Limits{Series: 60})
		b := query.NewBudget(1 << 20)
		kept.Keep(store.Catalog(), b, 1<<16)
		write := func(name string, x, y int, at int64) {
			ls := labels.FromMap(map[string]string{"__name__": name, "x": fmt.Sprint(x)})
			if y > 0 {
				ls = labels.FromMap(map[string]string{"__name__": name, "x": fmt.Sprint(x), "y": fmt.Sprint(y)})
			}
			refs, errs := store.Resolve(t.Context(), []storage.Series{names.FromLabels(ls)})
			if errs != nil {
				t.Fatal(errs)
			}
			var batch storage.Batch
			batch.Add(refs[0], at, 1)
			if err := store.Append(t.Context(), &batch); err != nil {
				t.Fatal(err)
			}
		}
		remove := func() {
			found, err := store.Find(t.Context(), nil, 0, storage.MaxTime, 0)
			if err != nil || len(found) == 0 {
				return
			}
			d := storage.Deletion{Refs: []storage.Ref{found[r.IntN(len(found))].Ref}, Start: r.Int64N(5) * day, Whole: r.IntN(2) == 0}
			d.End = d.Start + 2*day
			if _, err := store.Delete(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		for range 300 {
			switch n := r.IntN(20); {
			case n < 8:
				write([]string{"a", "a", "a", "b"}[r.IntN(4)], r.IntN(12), r.IntN(3), 1+r.Int64N(6*day))
			case n == 8:
				remove()
			case n == 9:
				a := b.Open() // finds less memory than it needs
				_ = a.Take(1<<20 - 1<<17)
				a.Close()
			default:
				s := selection{matchers: promtest.Matchers(t, selectors[r.IntN(len(selectors))]), sorted: r.IntN(3) == 0}
				s.span.start = r.Int64N(6 * day)
				s.span.end = s.span.start + r.Int64N(4*day)
				got, gotErr := kept.find(t.Context(), s)
				want, wantErr := plain.find(t.Context(), s)
				if diff := cmp.Diff(texts(want), texts(got)); diff != "" || (gotErr == nil) != (wantErr == nil) {
					t.Fatalf("seed %d, %v: %v, want %v\n%s", seed, s.matchers, gotErr, wantErr, diff)
				}
			}
		}
		if n, bytes := kept.kept.found.Held(); n == 0 || bytes > 1<<16 {
			t.Errorf("seed %d: %d selectors of %d bytes are kept", seed, n, bytes)
		}
		kept.DropCaches()
		if b.Spare() != 0 {
			t.Errorf("%d bytes are spare", b.Spare())
		}
	}
}

// TestKeyOf: no text of a matcher makes it look like others.
func TestKeyOf(t *testing.T) {
	equal := func(name, value string) *labels.Matcher { return labels.MustNewMatcher(labels.MatchEqual, name, value) }
	seen := map[string]int{}
	for i, matchers := range [][]*labels.Matcher{
		{},
		{equal("a", "b")},
		{equal("a", "b"), equal("c", "d")},
		{equal("c", "d"), equal("a", "b")},
		{equal("a", "b\x00\x00c\x00d")},
		{equal("a", "b\x00\x01c\x01d")},
		{equal("ab", "")},
		{equal("", "ab")},
		{labels.MustNewMatcher(labels.MatchRegexp, "a", "b")},
		{labels.MustNewMatcher(labels.MatchNotEqual, "a", "b")},
	} {
		key := keyOf(matchers)
		if other, ok := seen[key]; ok {
			t.Errorf("matchers %d and %d have one key", i, other)
		}
		seen[key] = i
	}
}

func texts(sets []labelSet) []string {
	out := []string{}
	for _, s := range sets {
		out = append(out, fmt.Sprint(s.labels, s.ref, s.more))
	}
	return out
}

// TestSelectionBesideWriter: a new series is found as soon as its first point is acknowledged.
func TestSelectionBesideWriter(t *testing.T) {
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	store := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	kept := New(store, names, Limits{})
	kept.Keep(store.Catalog(), query.NewBudget(1<<30), 1<<20)
	now := time.Now().UnixMilli()
	const series = 500
	written := make(chan int, series)
	go func() {
		defer close(written)
		for i := range series {
			refs, errs := store.Resolve(t.Context(), []storage.Series{names.FromLabels(labels.FromStrings("__name__", "a", "i", fmt.Sprint(i)))})
			var batch storage.Batch
			batch.Add(refs[0], now, 1)
			if err := store.Append(t.Context(), &batch); err != nil || errs != nil {
				t.Error(err, errs)
				return
			}
			written <- i + 1
		}
	}()
	s := selection{span: timeSpan{now - 1000, now}, matchers: promtest.Matchers(t, "a")}
	for n := range written {
		found, err := kept.find(t.Context(), s)
		if err != nil || len(found) < n {
			t.Fatalf("%d series of %d: %v", len(found), n, err)
		}
	}
}
