package queryable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb"

	"github.com/tsdbridge/tsdbridge/prometheus/httpapi"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
)

// selected lists the label sets of a set, and sorts them unless they should be sorted.
func selected(t testing.TB, set promstorage.SeriesSet, sorted bool) []string {
	t.Helper()
	var out []string
	for set.Next() {
		out = append(out, set.At().Labels().String())
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	if !sorted {
		slices.Sort(out)
	}
	return out
}

func TestMatchers(t *testing.T) {
	p := newMemStorage(t)
	for _, s := range []string{
		`up{job="a",host="h1"}`, `up{job="b"}`, `up`, `down{job="a"}`, `{job="a"}`, `up{job="ü:/ x"}`,
	} {
		p.Write(t, promtest.Labels(t, s), 1000)
	}
	p.Write(t, labels.EmptyLabels(), 1000)
	for _, tc := range []struct {
		selector string
		want     []string
	}{
		{`up`, []string{`{__name__="up", host="h1", job="a"}`, `{__name__="up", job="b"}`, `{__name__="up", job="ü:/ x"}`, `{__name__="up"}`}},
		{`up{job="a"}`, []string{`{__name__="up", host="h1", job="a"}`}},
		{`up{job=""}`, []string{`{__name__="up"}`}},
		{`up{job!="a"}`, []string{`{__name__="up", job="b"}`, `{__name__="up", job="ü:/ x"}`, `{__name__="up"}`}},
		{`up{job!=""}`, []string{`{__name__="up", host="h1", job="a"}`, `{__name__="up", job="b"}`, `{__name__="up", job="ü:/ x"}`}},
		{`up{job=~"a|b"}`, []string{`{__name__="up", host="h1", job="a"}`, `{__name__="up", job="b"}`}},
		{`up{job=~"a|"}`, []string{`{__name__="up", host="h1", job="a"}`, `{__name__="up"}`}},
		{`up{job!~"a|b"}`, []string{`{__name__="up", job="ü:/ x"}`, `{__name__="up"}`}},
		{`up{job!~".+"}`, []string{`{__name__="up"}`}},
		{`up{job=~"ü.*"}`, []string{`{__name__="up", job="ü:/ x"}`}},
		{`up{job="ü:/ x"}`, []string{`{__name__="up", job="ü:/ x"}`}},
		{`up{job=~"A"}`, nil},
		{`up{job=~"(?i)A"}`, []string{`{__name__="up", host="h1", job="a"}`}},
		{`up{nothing=~".*"}`, []string{`{__name__="up", host="h1", job="a"}`, `{__name__="up", job="b"}`, `{__name__="up", job="ü:/ x"}`, `{__name__="up"}`}},
		{`up{nothing="x"}`, nil},
		{`{job="a"}`, []string{`{__name__="down", job="a"}`, `{__name__="up", host="h1", job="a"}`, `{job="a"}`}},
		{`{__name__="", job="a"}`, []string{`{job="a"}`}},
		{`{__name__=~"u.*|d.*", job="a"}`, []string{`{__name__="down", job="a"}`, `{__name__="up", host="h1", job="a"}`}},
		{`{__name__!="up", job="a"}`, []string{`{__name__="down", job="a"}`, `{job="a"}`}},
		{`{job=~"a", job!="a"}`, nil},
		{`{}`, []string{
			`{__name__="down", job="a"}`, `{__name__="up", host="h1", job="a"}`, `{__name__="up", job="b"}`,
			`{__name__="up", job="ü:/ x"}`, `{__name__="up"}`, `{job="a"}`, `{}`,
		}},
	} {
		q := p.querier(0, 2000)
		got := selected(t, q.Select(t.Context(), false, nil, promtest.Matchers(t, tc.selector)...), false)
		if diff := cmp.Diff(tc.want, got); diff != "" {
			t.Errorf("%s: -want +got\n%s", tc.selector, diff)
		}
	}
}

func TestSelectSorts(t *testing.T) {
	p := newMemStorage(t)
	p.Write(t, promtest.Labels(t, `b{x="1"}`), 1000)
	p.Write(t, promtest.Labels(t, `b{a="1"}`), 1000)
	p.Write(t, promtest.Labels(t, `b`), 1000)
	p.Write(t, promtest.Labels(t, `a{z="1"}`), 1000)
	want := []string{`{__name__="a", z="1"}`, `{__name__="b"}`, `{__name__="b", a="1"}`, `{__name__="b", x="1"}`}
	got := selected(t, p.querier(0, 2000).Select(t.Context(), true, nil), true)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	limited := selected(t, p.querier(0, 2000).Select(t.Context(), true, &promstorage.SelectHints{Start: 0, End: 2000, Limit: 2}), true)
	if diff := cmp.Diff(want[:2], limited); diff != "" {
		t.Errorf("limit 2: -want +got\n%s", diff)
	}
}

// TestSelectTimes checks that bounds are inclusive, that hints narrow them, and that series without
// samples are left out.
func TestSelectTimes(t *testing.T) {
	p := newMemStorage(t)
	p.Write(t, promtest.Labels(t, `m`), 0, 1000, 2000, 7200_000)
	for _, tc := range []struct {
		mint, maxt int64
		hints      *promstorage.SelectHints
		want       string
	}{
		{0, 2000, nil, "1@0 2@1000 3@2000"},
		{1, 1999, nil, "2@1000"},
		{1000, 1000, nil, "2@1000"},
		{3000, 4000, nil, ""},
		{-1 << 62, 1 << 62, nil, "1@0 2@1000 3@2000 4@7200000"},
		{5, 4, nil, ""},
		{0, 2000, &promstorage.SelectHints{Start: 1000, End: 9000}, "2@1000 3@2000"},
		{0, 2000, &promstorage.SelectHints{}, "1@0 2@1000 3@2000"},
		{0, 2000, &promstorage.SelectHints{Start: -300, End: 0, Step: 1}, "1@0 2@1000 3@2000"[:3]},
		{0, 2000, &promstorage.SelectHints{Start: 0, End: 2000, Func: "rate", Step: 60_000}, "1@0 2@1000 3@2000"},
	} {
		set := p.querier(tc.mint, tc.maxt).Select(t.Context(), true, tc.hints, promtest.Matchers(t, "m")...)
		if got := floatsOf(t, set); got != tc.want {
			t.Errorf("Select(%d, %d, %+v) = %q, want %q", tc.mint, tc.maxt, tc.hints, got, tc.want)
		}
	}
	set := p.querier(0, 10).Select(t.Context(), true, &promstorage.SelectHints{Start: 0, End: 10, Func: "series"}, promtest.Matchers(t, "m")...)
	if got := selected(t, set, true); len(got) != 1 {
		t.Errorf("Func series: %q", got)
	}
}

// floatsOf writes the floats of all series of a set.
func floatsOf(t testing.TB, set promstorage.SeriesSet) string {
	t.Helper()
	out := ""
	for set.Next() {
		it := set.At().Iterator(nil)
		for it.Next() != 0 {
			at, v := it.At()
			if out != "" {
				out += " "
			}
			out += fmt.Sprintf("%v@%d", v, at)
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDuplicates merges two stored series with the same labels.
func TestDuplicates(t *testing.T) {
	s := &promtest.PlainStore{}
	refs, _ := s.Resolve(t.Context(), []storage.Series{
		{Metric: "m", Tags: []storage.Tag{{Key: "job", Value: "a"}}},
		{Metric: "m", Tags: []storage.Tag{{Key: "alias", Value: "a"}}},
		{Metric: "m", Tags: []storage.Tag{{Key: "job", Value: "b"}}},
	})
	b := storage.Batch{}
	b.Add(refs[0], 1000, 1)
	b.Add(refs[0], 3000, 3)
	b.Add(refs[1], 2000, 2)
	b.Add(refs[1], 3000, 3)
	b.Add(refs[2], 500, 0)
	_ = s.Append(t.Context(), &b)
	p := New(s, promtest.RawNames{}, Limits{})
	for _, sorted := range []bool{false, true} {
		set := p.querier(0, 5000).Select(t.Context(), sorted, nil, promtest.Matchers(t, `m{job="a"}`)...)
		if got, want := floatsOf(t, set), "1@1000 2@2000 3@3000"; got != want {
			t.Errorf("sorted %v: %q, want %q", sorted, got, want)
		}
	}
	set := chunkQuerier{p.querier(0, 5000)}.Select(t.Context(), true, nil, promtest.Matchers(t, `m`)...)
	if got, want := floatsOf(t, promstorage.NewSeriesSetFromChunkSeriesSet(set)), "1@1000 2@2000 3@3000 0@500"; got != want {
		t.Errorf("chunks: %q, want %q", got, want)
	}
}

// TestHashCollision gives two label sets the same hash: they stay two.
func TestHashCollision(t *testing.T) {
	a, b := labels.FromStrings("x", "1"), labels.FromStrings("x", "2")
	sets := newLabelSets(2)
	sets.addHashed(7, a, 1)
	sets.addHashed(7, b, 2)
	sets.addHashed(7, b, 3)
	if len(sets.list) != 2 || len(sets.list[0].more) != 0 || !slices.Equal(sets.list[1].more, []storage.Ref{3}) {
		t.Errorf("%+v", sets.list)
	}
}

// TestLabelSets adds label sets as a map does, from any number that was expected.
func TestLabelSets(t *testing.T) {
	for _, expected := range []int{0, 1, 100, 5000} {
		sets, want := newLabelSets(expected), map[string][]storage.Ref{}
		for i := range 3000 {
			ls := labels.FromStrings("x", strconv.Itoa(i*i%1999))
			sets.add(ls, storage.Ref(i+1))
			want[ls.String()] = append(want[ls.String()], storage.Ref(i+1))
		}
		if len(sets.list) != len(want) {
			t.Errorf("%d label sets, want %d", len(sets.list), len(want))
		}
		for _, set := range sets.list {
			if refs := append([]storage.Ref{set.ref}, set.more...); !slices.Equal(refs, want[set.labels.String()]) {
				t.Errorf("%v: %v, want %v", set.labels, refs, want[set.labels.String()])
			}
		}
	}
}

// TestGroups reads more series than fit into one group.
func TestGroups(t *testing.T) {
	s := &promtest.PlainStore{}
	p := newPromStorageOf(s, promtest.RawNames{}, Limits{})
	const n = 3*firstGroup + 1
	for i := range n {
		p.Write(t, labels.FromStrings(model.MetricNameLabel, "m", "i", fmt.Sprintf("%05d", i)), 1000)
	}
	p.Write(t, labels.FromStrings(model.MetricNameLabel, "m", "j", "no sample in the range"), 9000)
	if got := selected(t, p.querier(0, 2000).Select(t.Context(), true, nil), true); len(got) != n || !slices.IsSorted(got) {
		t.Errorf("%d series, want %d", len(got), n)
	}
	if s.Selects != 2 {
		t.Errorf("%d reads, want 2", s.Selects)
	}
}

func TestNextGroup(t *testing.T) {
	for _, tc := range []struct{ size, samples, want int }{
		{256, 0, 4096},
		{256, 256, 4096},
		{256, groupSamples, 256},
		{256, 4 * groupSamples, 64},
		{1, 10 * groupSamples, 1},
	} {
		if got := nextGroup(tc.size, tc.samples); got != tc.want {
			t.Errorf("nextGroup(%d, %d) = %d, want %d", tc.size, tc.samples, got, tc.want)
		}
	}
}

func TestQueryLimits(t *testing.T) {
	for _, tc := range []struct {
		limits Limits
		fails  bool
	}{
		{Limits{Series: 2, Samples: 6}, false},
		{Limits{Series: 1}, true},
		{Limits{Samples: 5}, true},
	} {
		p := newPromStorageOf(&promtest.PlainStore{}, promtest.RawNames{}, tc.limits)
		p.Write(t, promtest.Labels(t, "a"), 1, 2, 3)
		p.Write(t, promtest.Labels(t, "b"), 1, 2, 3)
		set := p.querier(0, 10).Select(t.Context(), true, nil)
		for set.Next() {
		}
		if failed := errors.Is(set.Err(), storage.ErrLimit); failed != tc.fails || !failed && set.Err() != nil {
			t.Errorf("%+v: %v", tc.limits, set.Err())
		}
		if _, ok := errors.AsType[promql.ErrStorage](set.Err()); ok {
			t.Errorf("%+v: a limit is shown as a failure of the store", tc.limits)
		}
	}
}

// TestSamplesLimitOfQuery counts the samples of all selectors of a query together.
func TestSamplesLimitOfQuery(t *testing.T) {
	p := newPromStorageOf(&promtest.PlainStore{}, promtest.RawNames{}, Limits{Samples: 5})
	p.Write(t, promtest.Labels(t, "a"), 1, 2, 3)
	q := p.querier(0, 10)
	if got := floatsOf(t, q.Select(t.Context(), true, nil)); got == "" {
		t.Error("nothing selected")
	}
	set := q.Select(t.Context(), true, nil)
	if set.Next() || !errors.Is(set.Err(), storage.ErrLimit) {
		t.Errorf("second selector: %v, want a limit error", set.Err())
	}
}

// TestSelectFails: a set that ends early reports an error.
func TestSelectFails(t *testing.T) {
	s := &promtest.PlainStore{Fail: promtest.ErrEngine, FailAfter: 1}
	p := newPromStorageOf(s, promtest.RawNames{}, Limits{})
	p.Write(t, promtest.Labels(t, "a"), 1)
	p.Write(t, promtest.Labels(t, "b"), 1)
	set := p.querier(0, 10).Select(t.Context(), true, nil)
	for set.Next() {
	}
	var ours promql.ErrStorage
	if !errors.Is(set.Err(), promtest.ErrEngine) || !errors.As(set.Err(), &ours) {
		t.Errorf("Err() = %v, want a promql.ErrStorage of %v", set.Err(), promtest.ErrEngine)
	}
	if set.Next() {
		t.Error("a set goes on after its error")
	}
}

func TestSelectCancelled(t *testing.T) {
	p := newPromStorageOf(&promtest.PlainStore{}, promtest.RawNames{}, Limits{})
	p.Write(t, promtest.Labels(t, "a"), 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	set := p.querier(0, 10).Select(ctx, true, nil)
	var canceled promql.ErrQueryCanceled
	if set.Next() || !errors.As(set.Err(), &canceled) {
		t.Errorf("Err() = %v, want promql.ErrQueryCanceled", set.Err())
	}
}

func TestNotReady(t *testing.T) {
	s, err := store.New(kv.NewMem(promtest.Tables()...), store.DefaultOptions())
	if err != nil {
		t.Fatal(err)
	}
	p := newPromStorage(s)
	set := p.querier(0, 10).Select(t.Context(), true, nil, promtest.Matchers(t, "a")...)
	if set.Next() || !errors.Is(set.Err(), tsdb.ErrNotReady) {
		t.Errorf("Err() = %v, want tsdb.ErrNotReady", set.Err())
	}
	if status, _ := httpapi.QueryStatus(set.Err()); status != 503 {
		t.Errorf("status %d, want 503", status)
	}
}
