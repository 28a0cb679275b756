package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// uidSet is what series have: distinct UIDs, ascending.
type uidSet map[string]bool

func (s uidSet) list() []string {
	list := make([]string, 0, len(s))
	for uid := range s {
		list = append(list, uid)
	}
	slices.Sort(list)
	return list
}

// plainLists are the lists of an index as a loop over all series makes them.
type plainLists struct {
	tsuids []string
	passes func(index.ID) bool
}

// each visits the metric and the tags of the series that pass.
func (p plainLists) each(see func(id index.ID, metric string, tags map[string]string)) {
	layout := schema.DefaultLayout()
	for i, tsuid := range p.tsuids {
		if p.passes != nil && !p.passes(index.ID(i)) {
			continue
		}
		tags := map[string]string{}
		for key, value := range layout.Pairs([]byte(tsuid[layout.MetricWidth:])) {
			tags[string(key)] = string(value)
		}
		see(index.ID(i), tsuid[:layout.MetricWidth], tags)
	}
}

func (p plainLists) metrics() []string {
	found := uidSet{}
	p.each(func(_ index.ID, metric string, _ map[string]string) { found[metric] = true })
	return found.list()
}

func (p plainLists) keys() []string {
	found := uidSet{}
	p.each(func(_ index.ID, _ string, tags map[string]string) {
		for key := range tags {
			found[key] = true
		}
	})
	return found.list()
}

func (p plainLists) values(keys ...string) []string {
	found := uidSet{}
	p.each(func(_ index.ID, _ string, tags map[string]string) {
		for _, key := range keys {
			if value, ok := tags[key]; ok {
				found[value] = true
			}
		}
	})
	return found.list()
}

func same(t *testing.T, what string, want, got []string) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

// TestLists compares the lists of UIDs with those of a loop over all series, for all series and
// some.
func TestLists(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 4))
		x, p := index.New(schema.DefaultLayout()), plainLists{}
		for range r.IntN(60) {
			tsuid := random(r)
			if _, added, err := x.Add(tsuid); err != nil {
				t.Fatal(err)
			} else if added {
				p.tsuids = append(p.tsuids, string(tsuid))
			}
		}
		checkSeries(t, x, p.tsuids)
		some := func(id index.ID) bool { return (uint64(id)+seed)%3 == 0 }
		for _, p.passes = range []func(index.ID) bool{nil, some, func(index.ID) bool { return false }} {
			same(t, "Metrics", p.metrics(), x.Metrics(p.passes))
			same(t, "TagKeys", p.keys(), x.TagKeys(p.passes))
			for key := range 6 {
				same(t, "TagValues", p.values(uid3(key)), x.TagValues(uid3(key), p.passes))
			}
		}
		same(t, "TagValues of a key of another width", nil, x.TagValues("\x01", nil))
		p.passes = some
		checkValues(t, x, p)
	}
}

// checkSeries looks the series up, one by one and together.
func checkSeries(t *testing.T, x *index.Index, tsuids []string) {
	t.Helper()
	var ids []index.ID
	count := map[string]int{}
	for i, tsuid := range tsuids {
		ids = append(ids, index.ID(i))
		count[tsuid[:3]]++
		if id, ok := x.Lookup([]byte(tsuid)); !ok || id != ids[i] || x.TSUID(id) != tsuid {
			t.Fatalf("Lookup(%x) = %d, %v", tsuid, id, ok)
		}
	}
	slices.Reverse(ids)
	reversed := slices.Clone(tsuids)
	slices.Reverse(reversed)
	same(t, "TSUIDs", append([]string{"before"}, reversed...), x.TSUIDs([]string{"before"}, ids))
	var texts []string
	for _, b := range x.TSUIDBytes(nil, ids) {
		texts = append(texts, string(b))
	}
	same(t, "TSUIDBytes", reversed, texts)
	for metric := range 5 {
		if got, want := x.MetricSeries(uid3(metric)), count[uid3(metric)]; got != want {
			t.Fatalf("MetricSeries(%d) = %d, want %d", metric, got, want)
		}
	}
	if x.MetricSeries("\x01") != 0 || x.Len() != len(tsuids) {
		t.Fatalf("%d series of %d; %d of a metric of another width", x.Len(), len(tsuids), x.MetricSeries("\x01"))
	}
}

// checkValues asks for the values that some series have.
func checkValues(t *testing.T, x *index.Index, p plainLists) {
	t.Helper()
	var ids []index.ID
	p.each(func(id index.ID, _ string, _ map[string]string) { ids = append(ids, id) })
	for _, keys := range [][]string{nil, {uid3(1)}, {uid3(2), uid3(4)}, {uid3(9)}} {
		found := uidSet(x.ValuesOf(ids, keys))
		same(t, "ValuesOf", p.values(keys...), found.list())
		possible := x.PossibleValues(ids, keys)
		if !slices.IsSorted(possible) {
			t.Fatalf("PossibleValues = %x", possible)
		}
		for uid := range found {
			if !slices.Contains(possible, uid) {
				t.Fatalf("PossibleValues = %x without %x", possible, uid)
			}
		}
	}
}

// TestFewPossibleValues: of a key with few values all are returned as possible, whatever values the
// series have.
func TestFewPossibleValues(t *testing.T) {
	x := index.New(schema.DefaultLayout())
	var ids []index.ID
	for n := range 400 {
		id, _, err := x.Add([]byte(uid3(1+n) + uid3(1) + uid3(1+n%2) + uid3(2) + uid3(1+n)))
		if err != nil {
			t.Fatal(err)
		}
		if n%2 == 0 {
			ids = append(ids, id)
		}
	}
	same(t, "values of a key with two", []string{uid3(1), uid3(2)}, x.PossibleValues(ids, []string{uid3(1)}))
	if got := x.PossibleValues(ids, []string{uid3(2)}); len(got) != len(ids) {
		t.Errorf("%d values of a key with many, want %d", len(got), len(ids))
	}
}

// TestManySeriesOfAMetric has lists that grow beyond their first sizes.
func TestManySeriesOfAMetric(t *testing.T) {
	const n = 1000
	x := index.New(schema.DefaultLayout())
	for i := range n {
		if _, _, err := x.Add([]byte(uid3(1) + uid3(1) + uid3(1+i))); err != nil {
			t.Fatal(err)
		}
	}
	all := x.Candidates([]string{uid3(1)}, nil)
	if x.MetricSeries(uid3(1)) != n || len(all) != n || !slices.IsSorted(all) {
		t.Errorf("%d series, %d candidates", x.MetricSeries(uid3(1)), len(all))
	}
}

// TestPages grows pages from several goroutines: a series has one T, which stays where it is.
func TestPages(t *testing.T) {
	var pages index.Pages[atomic.Int64]
	ids := []index.ID{0, 1, 4095, 4096, 50_000, 1_000_000}
	first := pages.Of(ids[0])
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for _, id := range ids {
				pages.Of(id).Add(int64(id) + 1)
			}
		})
	}
	all.Wait()
	for _, id := range ids {
		if got, want := pages.Of(id).Load(), 8*(int64(id)+1); got != want {
			t.Errorf("series %d has %d, want %d", id, got, want)
		}
	}
	if pages.Of(ids[0]) != first || fmt.Sprint(pages.Of(2).Load()) != "0" {
		t.Error("a page moved, or a series has another's value")
	}
}
