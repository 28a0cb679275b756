package register_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/storage/storetest"
)

// branching is an observer that makes a branch for each beginning of a metric.
type branching struct {
	*observed

	mu   sync.Mutex
	have map[string]bool
}

func (b *branching) add(have map[string]bool, metric string) (fresh int) {
	for at, c := range metric {
		if c == '.' && !have[metric[:at]] && !b.have[metric[:at]] {
			have[metric[:at]] = true
			fresh++
		}
	}
	return fresh
}

func (b *branching) Observe(ctx context.Context, all []storage.NewSeries) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range all {
		b.add(b.have, s.Metric)
	}
	return b.observed.Observe(ctx, all)
}

func (b *branching) Branches() (kept int, made int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.have), int64(len(b.have))
}

func (*branching) MostBranches(all []storage.Series, usual int) (most, beyond int) {
	for _, s := range all {
		n := strings.Count(s.Metric, ".")
		most, beyond = most+n, beyond+max(0, n-usual)
	}
	return most, beyond
}

func (b *branching) NewBranches(all []storage.Series) []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	counts, seen := make([]int, len(all)), map[string]bool{}
	for i := range all {
		counts[i] = b.add(seen, all[i].Metric)
	}
	return counts
}

func openBranching(t *testing.T, limits register.SeriesLimits) *limited {
	t.Helper()
	db := kv.NewMem(storetest.Tables()...)
	b := &branching{observed: &observed{db: db, times: map[string]int{}}, have: map[string]bool{}}
	return openLimited(t, db, limits, func(o *store.Options) { o.Observer, o.Exclusive = b, true })
}

// deep returns series of names of so many elements that share no branch, or all but the last.
func deep(from, to, elements int, shared bool) (list []storage.Series) {
	for i := from; i < to; i++ {
		name := fmt.Sprintf("n%d%s.end", i, strings.Repeat(".a", elements-2))
		if shared {
			name = fmt.Sprintf("n%s.end%d", strings.Repeat(".a", elements-2), i)
		}
		list = append(list, storetest.Series(name, "host", "h"))
	}
	return list
}

// Names whose branches are many are refused beyond the rate of branches, others come through in the
// same call; later some come through again.
func TestMaxNewBranches(t *testing.T) {
	l := openBranching(t, register.SeriesLimits{Branches: 10})
	flat, list := manyHosts(0, 50), deep(0, 50, 64, false) // 55 branches each beyond the usual 8
	mixed := append(append([]storage.Series{}, list[:25]...), append(flat, list[25:]...)...)
	n, text := l.resolve(t, mixed)
	if n != 51 || !strings.Contains(text, "--write.max-new-branches-per-second") {
		t.Errorf("%d of 100, want the flat ones and one deep one: %s", n, text)
	}
	// Those that share their branches make few.
	if n, text := l.resolve(t, deep(0, 100, 20, true)); n != 100 {
		t.Errorf("%d of 100 that share their branches: %s", n, text)
	}
	if n, text := l.resolve(t, list[:1]); n != 1 {
		t.Errorf("one that is known: %s", text)
	}
	l.now = l.now.Add(time.Hour)
	if n, _ := l.resolve(t, list); n != 2 {
		t.Errorf("%d of 50 after a pause, want the one that is known and a new one", n)
	}
}

// Metrics of more elements than allowed are refused by name, in the same call as others, unless
// they are known.
func TestMaxPathDepth(t *testing.T) {
	l := openBranching(t, register.SeriesLimits{Depth: 30})
	n, text := l.resolve(t, append(deep(0, 5, 31, false), deep(5, 10, 30, false)...))
	if n != 5 || !strings.Contains(text, "--write.max-path-depth") {
		t.Errorf("%d of 10, want 5: %s", n, text)
	}
	l.SetSeriesLimits(register.SeriesLimits{Depth: 20})
	if n, text := l.resolve(t, deep(5, 10, 30, false)); n != 5 {
		t.Errorf("%d of 5 that are known: %s", n, text)
	}
}

// Branches and tags beyond the usual ones are parts of series: fewer series of such names may be known,
// and made in a second.
func TestNamesAreCharged(t *testing.T) {
	wide := func(from, to int) (list []storage.Series) {
		for i := from; i < to; i++ {
			var tags []string
			for k := range 300 {
				tags = append(tags, fmt.Sprintf("k%03d", k), fmt.Sprint("v", i))
			}
			list = append(list, storetest.Series("m", tags...))
		}
		return list
	}
	deepest := func(from, to int) []storage.Series { return deep(from, to, 64, false) }
	for name, limits := range map[string]register.SeriesLimits{"active": {Active: 100}, "rate": {PerSecond: 10}} {
		for kind, c := range map[string]struct {
			make        func(from, to int) []storage.Series
			least, most int
		}{"usual": {manyHosts, 100, 100}, "deep": {deepest, 10, 15}, "wide": {wide, 10, 15}} {
			l := openBranching(t, limits)
			got := 0
			for i := 0; i < 200; i += 5 {
				n, _ := l.resolve(t, c.make(i, i+5))
				got += n
			}
			if got < c.least || got > c.most {
				t.Errorf("%s, %s names: %d, want %d to %d", name, kind, got, c.least, c.most)
			}
		}
	}
}
