package uid_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/kv/kvtest"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/uid"
)

func openAlone(db kv.KV) *uid.Dictionary {
	return uid.New(kv.NewEngine(db, true), uid.Options{Table: "tsdb-uid", Layout: schema.DefaultLayout(), CacheEntries: 1000})
}

func manyNames(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("name-%03d", i)
	}
	return names
}

// TestAssignTogether: many names at once get the UIDs that they would get one by one.
func TestAssignTogether(t *testing.T) {
	names := manyNames(200)
	db := newTable()
	uids, errs := openAlone(db).Assign(t.Context(), storage.TagValueName, append(names, "bad \u4e16", names[3]))
	if errs == nil || !errors.Is(errs[200], storage.ErrName) || errs[0] != nil || uids[201] != uids[3] {
		t.Fatalf("Assign = %q, %v", uids, errs)
	}
	seen := map[string]bool{}
	for i, name := range names {
		if seen[uids[i]] || len(uids[i]) != 3 {
			t.Fatalf("UID %x of %s is another's, or none", uids[i], name)
		}
		seen[uids[i]] = true
	}
	// Another process reads the same, in both directions.
	other := open(db)
	again, err := other.Lookup(t.Context(), storage.TagValueName, names)
	if err != nil {
		t.Fatal(err)
	}
	back, err := other.Names(t.Context(), storage.TagValueName, again)
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if again[i] != uids[i] || back[i] != name {
			t.Fatalf("%s is %x and that is %s, want %x", name, again[i], back[i], uids[i])
		}
	}
}

// TestAssignTogetherInOrder: names that come in no order get UIDs in the order in which they come.
func TestAssignTogetherInOrder(t *testing.T) {
	names := manyNames(100)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	db := newTable()
	uids, errs := openAlone(db).Assign(t.Context(), storage.MetricName, names)
	if errs != nil {
		t.Fatal(errs)
	}
	back, err := open(db).Names(t.Context(), storage.MetricName, uids)
	if err != nil || !slices.Equal(back, names) || !slices.IsSorted(uids) {
		t.Errorf("UIDs %x of %q are those of %q, %v", uids, names, back, err)
	}
}

// TestAssignTogetherBehind: a counter that is lower than the UIDs in the table gives no UID to a
// second name.
func TestAssignTogetherBehind(t *testing.T) {
	db := newTable()
	first, errs := openAlone(db).Assign(t.Context(), storage.MetricName, manyNames(100))
	if errs != nil {
		t.Fatal(errs)
	}
	reset := []kv.Mutation{{Key: schema.MaxIDRow(), Puts: []kv.Put{{Qualifier: schema.UIDQualifier(storage.MetricName), Value: schema.EncodeCounter(90)}}}}
	if err := db.Apply(t.Context(), "tsdb-uid", "id", reset); err != nil {
		t.Fatal(err)
	}
	others := make([]string, 100)
	for i := range others {
		others[i] = fmt.Sprint("other-", i)
	}
	second, errs := openAlone(db).Assign(t.Context(), storage.MetricName, others)
	if errs != nil {
		t.Fatal(errs)
	}
	taken := map[string]bool{}
	for _, u := range append(first, second...) {
		if taken[u] {
			t.Fatalf("UID %x has two names", u)
		}
		taken[u] = true
	}
}

// TestAssignTogetherFails: whatever write fails, no UID is without its name, and another attempt
// completes.
func TestAssignTogetherFails(t *testing.T) {
	names := manyNames(100)
	for _, c := range []struct {
		method kvtest.Method
		nth    int
	}{{kvtest.Get, 1}, {kvtest.Scan, 1}, {kvtest.Increment, 1}, {kvtest.Apply, 1}, {kvtest.Apply, 2}} {
		for _, when := range []kvtest.When{kvtest.Before, kvtest.After} {
			db := kvtest.New(newTable())
			db.Fail(c.method, c.nth, when)
			d := openAlone(db)
			if _, errs := d.Assign(t.Context(), storage.TagKeyName, names); errs == nil {
				t.Errorf("%v %d fails without an error", c.method, c.nth)
			}
			uids, errs := d.Assign(t.Context(), storage.TagKeyName, names)
			if errs != nil {
				t.Fatal(errs)
			}
			back, err := open(db).Names(t.Context(), storage.TagKeyName, uids)
			if err != nil {
				t.Fatal(err)
			}
			for i := range names {
				if back[i] != names[i] {
					t.Fatalf("after a failure of %v %d: %s has UID %x, which is %q", c.method, c.nth, names[i], uids[i], back[i])
				}
			}
		}
	}
}
