package adapter

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/adapter/config"
	"github.com/tsdbridge/tsdbridge/adapter/tables"
	"github.com/tsdbridge/tsdbridge/storage"
)

// TestRetentionByMatcher writes old points of series of many kinds of names. A pass deletes those
// of the series whose labels match.
func TestRetentionByMatcher(t *testing.T) {
	sets := []labels.Labels{
		labels.FromStrings("__name__", "up", "job", "a"),
		labels.FromStrings("__name__", "up", "job", "b"),
		labels.FromStrings("__name__", "up"),
		labels.FromStrings("__name__", "down", "job", "a"),
		labels.FromStrings("job", "a"),
		labels.FromStrings("__name__", "servers.web 1.cpu"),
		labels.FromStrings("__name__", "up", "job", "ä b", "x", strings.Repeat("y", 400)),
		labels.FromStrings("__name__", "many", "job", "a", "1", "1", "2", "2", "3", "3", "4", "4", "5", "5", "6", "6", "7", "7", "8", "8", "9", "9"),
	}
	for selector, want := range map[string][]int{
		`up`: {0, 1, 2, 6}, `{job="a"}`: {0, 3, 4, 7}, `up{job!="a"}`: {1, 2, 6}, `{job=~"a|b"}`: {0, 1, 3, 4, 7}, `{__name__=~"servers.+"}`: {5},
		`{x!=""}`: {6}, `{9="9"}`: nil, `{__name__=~".+",job=""}`: {2, 5},
	} {
		rules, err := parsed(t, config.ParseRetention, fmt.Sprintf("- {matcher: %q, age: 1d}", selector))
		if err != nil {
			if want != nil {
				t.Errorf("%s: %v", selector, err)
			}
			continue
		}
		o := DefaultOptions()
		o.Engine, o.ListenAddress, o.RetentionRules = tables.EngineMemory, "", rules
		var clock atomic.Int64
		clock.Store(time.Now().UnixMilli())
		o.Now = func() time.Time { return time.UnixMilli(clock.Load()) }
		a, stop := runAdapter(t, o)
		var list []storage.Series
		for _, ls := range sets {
			list = append(list, a.names.FromLabels(ls))
		}
		refs, errs := a.store.Resolve(t.Context(), list)
		if errs != nil {
			t.Fatal(errs)
		}
		var b storage.Batch
		old := clock.Load() - 50*3600_000
		for _, ref := range refs {
			b.Add(ref, old, 1)
		}
		if err := a.store.Append(t.Context(), &b); err != nil {
			t.Fatal(err)
		}
		clock.Add(24 * 3600_000) // the pass at the start is over
		if err := a.store.DeleteByRules(t.Context()); err != nil {
			t.Fatal(err)
		}
		tally, err := a.store.Tally(t.Context(), storage.Deletion{Refs: refs, Start: 0, End: storage.MaxTime})
		if err != nil || tally.Series != len(sets)-len(want) {
			t.Errorf("%s: %d series are left, %v, want %d less %d", selector, tally.Series, err, len(sets), len(want))
		}
		for i, ref := range refs {
			has, _ := a.store.Tally(t.Context(), storage.Deletion{Refs: []storage.Ref{ref}, Start: 0, End: storage.MaxTime})
			kept := true
			for _, n := range want {
				kept = kept && n != i
			}
			if (has.Points > 0) != kept {
				t.Errorf("%s: %s has %d points", selector, sets[i], has.Points)
			}
		}
		stop()
	}
}
