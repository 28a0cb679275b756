package index_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/index"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// random makes a TSUID of few metrics, keys and values, so that conditions match.
func random(r *rand.Rand) []byte {
	uid := func(n int) []byte { return []byte{0, 0, byte(1 + r.IntN(n))} }
	var pairs []schema.Pair
	for key := range 4 {
		if r.IntN(2) == 0 {
			pairs = append(pairs, schema.Pair{Key: []byte{0, 0, byte(1 + key)}, Value: uid(3)})
		}
	}
	return schema.DefaultLayout().AppendTSUID(nil, uid(3), pairs)
}

func randomCondition(r *rand.Rand) index.Condition {
	keys := func(n int) (list []string) {
		for range n {
			list = append(list, string([]byte{0, 0, byte(1 + r.IntN(5))}))
		}
		return list
	}
	c := index.Condition{Keys: keys(1 + r.IntN(2)), Absent: r.IntN(3) == 0}
	if r.IntN(3) > 0 {
		c.Values = map[string]bool{}
		for range r.IntN(3) {
			c.Values[string([]byte{0, 0, byte(1 + r.IntN(4))})] = true
		}
	}
	if r.IntN(4) == 0 {
		c.Or = keys(1)
	}
	return c
}

// satisfies is a literal implementation of a condition.
func satisfies(tags []byte, c index.Condition) bool {
	hasKey, allowed, or := false, false, false
	for tagk, tagv := range schema.DefaultLayout().Pairs(tags) {
		if slices.Contains(c.Keys, string(tagk)) {
			hasKey = true
			allowed = allowed || c.Values == nil || c.Values[string(tagv)]
		}
		or = or || slices.Contains(c.Or, string(tagk))
	}
	return allowed || !hasKey && c.Absent || or
}

func TestConditions(t *testing.T) {
	layout := schema.DefaultLayout()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 2))
		x := index.New(layout)
		var tsuids [][]byte
		for range r.IntN(60) {
			tsuid := random(r)
			id, added, err := x.Add(tsuid)
			if err != nil {
				t.Fatal(err)
			}
			if known := slices.IndexFunc(tsuids, func(b []byte) bool { return string(b) == string(tsuid) }); added != (known < 0) || !added && int(id) != known {
				t.Fatalf("Add(%x) = %d, %v; known as %d", tsuid, id, added, known)
			}
			if added {
				tsuids = append(tsuids, tsuid)
			}
		}
		removed := removeSome(r, x, len(tsuids))
		if x.Len() != len(tsuids) || x.Size() != len(tsuids)-len(removed) {
			t.Fatalf("seed %d: %d IDs and %d series, %d of %d were removed", seed, x.Len(), x.Size(), len(removed), len(tsuids))
		}
		var conditions []index.Condition
		for range r.IntN(4) {
			conditions = append(conditions, randomCondition(r))
		}
		var metrics []string
		for range r.IntN(3) {
			metrics = append(metrics, string([]byte{0, 0, byte(1 + r.IntN(4))}))
		}
		var want []index.ID
		for i, tsuid := range tsuids {
			metric, tags, err := layout.ParseTSUID(tsuid)
			if err != nil {
				t.Fatal(err)
			}
			ok := !removed[index.ID(i)] && (metrics == nil || slices.Contains(metrics, string(metric)))
			if _, known := x.Lookup(tsuid); known == removed[index.ID(i)] {
				t.Fatalf("seed %d: Lookup(%x) = %v", seed, tsuid, known)
			}
			for _, c := range conditions {
				ok = ok && satisfies(tags, c)
			}
			if ok {
				want = append(want, index.ID(i))
			}
		}
		got := x.Pass(x.Candidates(metrics, conditions), conditions)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: found %v, want %v\nmetrics %q conditions %+v", seed, got, want, metrics, conditions)
		}
	}
}

// removeSome removes some series and restores some of these, and returns those that are gone.
func removeSome(r *rand.Rand, x *index.Index, n int) map[index.ID]bool {
	removed := map[index.ID]bool{}
	for range r.IntN(3) {
		var ids []index.ID
		for id := range index.ID(n) {
			if r.IntN(3) == 0 {
				ids = append(ids, id)
				removed[id] = true
			}
		}
		x.Remove(ids)
		for id := range removed {
			if r.IntN(3) == 0 {
				x.Restore(id)
				delete(removed, id)
			}
		}
	}
	return removed
}

// Series that are added together get the numbers that they would get one by one, whatever the
// widths and repetitions.
func TestAddAll(t *testing.T) {
	layout := schema.Layout{MetricWidth: 2, TagkWidth: 1, TagvWidth: 8, SaltBuckets: 1}
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		one, all := index.New(layout), index.New(layout)
		for range 5 {
			var tsuids []byte
			var ends []int
			var want []index.ID
			for range r.IntN(40) {
				tsuid := []byte{0, byte(1 + r.IntN(3))}
				for key := range r.IntN(3) {
					tsuid = append(tsuid, byte(1+key), 0xFF, 0, 0, 0, 0, 0, 0, byte(r.IntN(4)))
				}
				id, _, err := one.Add(tsuid)
				if err != nil {
					t.Fatal(err)
				}
				tsuids, want = append(tsuids, tsuid...), append(want, id)
				ends = append(ends, len(tsuids))
			}
			if got := all.AddAll(nil, tsuids, ends); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Fatalf("seed %d: AddAll = %v, want %v", seed, got, want)
			}
		}
		for _, list := range [][2][]string{{one.Metrics(nil), all.Metrics(nil)}, {one.TagKeys(nil), all.TagKeys(nil)}, {one.TagValues("\x01", nil), all.TagValues("\x01", nil)}} {
			if fmt.Sprintf("%x", list[0]) != fmt.Sprintf("%x", list[1]) || !slices.IsSorted(list[1]) {
				t.Fatalf("seed %d: UIDs %x one by one, %x together", seed, list[0], list[1])
			}
		}
		for i := range all.Len() {
			if one.TSUID(index.ID(i)) != all.TSUID(index.ID(i)) {
				t.Fatalf("seed %d: series %d is %x one by one, %x together", seed, i, one.TSUID(index.ID(i)), all.TSUID(index.ID(i)))
			}
		}
	}
}

func TestAddRefusesOtherWidths(t *testing.T) {
	x := index.New(schema.DefaultLayout())
	for _, tsuid := range []string{"", "\x00\x00", "\x00\x00\x01\x00", "\x00\x00\x01\x00\x00\x01"} {
		if _, _, err := x.Add([]byte(tsuid)); err == nil {
			t.Errorf("Add(%x) is no error", tsuid)
		}
	}
	if _, added, err := x.Add([]byte{0, 0, 1}); err != nil || !added {
		t.Errorf("a TSUID without tags: %v, %v", added, err)
	}
}
