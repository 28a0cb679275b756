package forest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/tree"
)

// TestNewBranches: what is foreseen for new series is what Observe makes of them, and is never more
// than the cheap bound.
func TestNewBranches(t *testing.T) {
	o := DefaultOptions()
	o.Exclusive, o.DefaultTree = true, "graphite"
	o.Plain = func(s storage.Series) bool { return len(s.Tags) == 1 && s.Tags[0].Key == "-_" }
	db := kv.NewMem(kv.Table{Name: o.TreeTable, Families: []string{schema.FamilyData}}, kv.Table{Name: o.UIDTable, Families: []string{schema.FamilyID, schema.FamilyName}})
	template, err := tree.ParseTemplate("servers.{host}.{metric...}")
	if err != nil {
		t.Fatal(err)
	}
	if err := Declare(t.Context(), db, o.TreeTable, []tree.Definition{template.Definition("servers")}); err != nil {
		t.Fatal(err)
	}
	f := New(db, o)
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		elements := make([]string, 1+random.IntN(12))
		if random.IntN(20) == 0 {
			elements = make([]string, 90)
		}
		for i := range elements {
			elements[i] = fmt.Sprint("e", random.IntN(3))
		}
		return strings.Join(elements, ".")
	}
	next := 0
	for range 200 {
		var list []NewSeries
		var names []storage.Series
		for range random.IntN(20) {
			next++
			s := storage.Series{Metric: name(), Tags: []storage.Tag{{Key: "-_", Value: "1"}}}
			if random.IntN(2) == 0 {
				s.Tags[0] = storage.Tag{Key: "host", Value: fmt.Sprint("h", random.IntN(5))}
			}
			names = append(names, s)
			list = append(list, NewSeries{TSUID: []byte{0, byte(next >> 8), byte(next), 0, 0, 1, 0, 0, 1}, Series: s})
		}
		foreseen := 0
		for i, n := range f.NewBranches(names) {
			if most, _ := f.MostBranches(names[i:i+1], 0); n > most {
				t.Errorf("%v: %d branches, bound %d", names[i], n, most)
			}
			foreseen += n
		}
		roots := len(f.Index().trees)
		kept, before := f.Branches()
		if err := f.Observe(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		keptNow, after := f.Branches()
		roots = len(f.Index().trees) - roots
		if int(after-before) != foreseen+roots || keptNow-kept != foreseen+roots {
			t.Errorf("%d branches made, %d more in memory, %d foreseen and %d roots: %v", after-before, keptNow-kept, foreseen, roots, names)
		}
	}
}

// TestSyncMakesNoCharge: branches that existing series get in a new tree are not those of new series.
func TestSyncMakesNoCharge(t *testing.T) {
	o := DefaultOptions()
	o.Exclusive = true
	db := kv.NewMem(kv.Table{Name: o.TreeTable, Families: []string{schema.FamilyData}}, kv.Table{Name: o.UIDTable, Families: []string{schema.FamilyID, schema.FamilyName}})
	template, err := tree.ParseTemplate("servers.{host}.{metric...}")
	if err != nil {
		t.Fatal(err)
	}
	if err := Declare(t.Context(), db, o.TreeTable, []tree.Definition{template.Definition("servers")}); err != nil {
		t.Fatal(err)
	}
	f := New(db, o)
	if _, err := f.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	old := NewSeries{TSUID: []byte{0, 0, 1, 0, 0, 1, 0, 0, 1}, Series: storage.Series{Metric: "a.b", Tags: []storage.Tag{{Key: "host", Value: "h"}}}}
	if err := f.observe(t.Context(), []NewSeries{old}, false); err != nil {
		t.Fatal(err)
	}
	if kept, made := f.Branches(); kept < 3 || made != 0 {
		t.Errorf("%d branches in memory, %d made", kept, made)
	}
}
