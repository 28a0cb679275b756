package hbase_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// TestApplyUnchangedFaults changes rows of three regions through one fault at a time, while others
// have changed every third row: those stay, and all others are changed once. A change whose answer
// was lost may be reported as not made, and no other.
func TestApplyUnchangedFaults(t *testing.T) {
	row := func(class string) hbasetest.Fault { return hbasetest.Fault{RowException: javaPackage + class} }
	for _, test := range []struct {
		name  string
		lost  bool
		fault func(*hbasetest.Cluster) hbasetest.Fault
	}{
		{"nothing", false, func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{} }},
		{"answer lost", true, func(*hbasetest.Cluster) hbasetest.Fault { return hbasetest.Fault{Lose: true} }},
		{"region busy", false, func(*hbasetest.Cluster) hbasetest.Fault { return row("RegionTooBusyException") }},
		{"region said to be elsewhere", false, func(*hbasetest.Cluster) hbasetest.Fault { return row("NotServingRegionException") }},
		{"queue full", false, func(*hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Exception: javaPackage + "CallQueueTooBigException"}
		}},
		{"region moves", false, func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Move(table, key(70)) }}
		}},
		{"region splits", false, func(c *hbasetest.Cluster) hbasetest.Fault {
			return hbasetest.Fault{Do: func() { c.Split(table, key(80)) }}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for n := range 3 {
				c, e := fake(t, hbase.Options{BatchRows: 20})
				c.Split(table, key(30))
				c.Split(table, key(60))
				changes, wanted := unchangedRows(t, e)
				hit(t, c, n, isMulti, test.fault(c))
				slices.Reverse(changes) // in no particular order
				made, err := e.ApplyUnchanged(t.Context(), table, family, changes)
				if err != nil || len(made) != len(changes) {
					t.Fatalf("fault at request %d: %d answers, %v", n, len(made), err)
				}
				slices.Reverse(made)
				for i, ok := range made {
					if free := i%3 != 0; ok != free && (ok || !test.lost) {
						t.Errorf("fault at request %d: row %d made: %v, want %v", n, i, ok, free)
					}
				}
				got, err := scanAll(t.Context(), e, kv.Scan{})
				if diff := cmp.Diff(wanted, lines(got)); err != nil || diff != "" {
					t.Fatalf("fault at request %d: %v (-want +got)\n%s", n, err, diff)
				}
			}
		})
	}
}

// unchangedRows puts rows of three cells and returns, for each, the change to one cell, as the rows
// were read before others changed every third of them, and the rows that are wanted in the end.
func unchangedRows(t *testing.T, e *hbase.Engine) (changes []kv.Conditional, wanted []string) {
	t.Helper()
	const rows = 100
	var before, late []kv.Mutation
	for i := range rows {
		m := kv.Mutation{Key: []byte(key(i))}
		for q := range byte(3) {
			m.Puts = append(m.Puts, kv.Put{Qualifier: []byte{q}, Value: fmt.Append(nil, q), Time: int64(10 + q)})
		}
		before = append(before, m)
		if i%3 == 0 {
			late = append(late, kv.Mutation{Key: m.Key, Puts: []kv.Put{{Qualifier: []byte{9}, Value: []byte("late"), Time: 5}}})
		}
	}
	mustApply(t, e, before)
	read, err := scanAll(t.Context(), e, kv.Scan{})
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, e, late)
	for i, row := range read {
		changes = append(changes, kv.Conditional{Read: row.Cells, Mutation: kv.Mutation{
			Key: row.Key, Puts: []kv.Put{{Qualifier: []byte{7}, Value: []byte("all"), Time: 12}}, Deletes: kv.DeletesOf(nil, row.Cells),
		}})
		if i%3 == 0 {
			wanted = append(wanted, key(i)+": 00=0 01=1 02=2 09=late")
		} else {
			wanted = append(wanted, key(i)+": 07=all")
		}
	}
	return changes, wanted
}
