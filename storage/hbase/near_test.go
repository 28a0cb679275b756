package hbase_test

import (
	"bytes"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/hbase"
	"github.com/tsdbridge/tsdbridge/storage/hbase/hbasetest"
	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// readNear reads rows that are near to each other.
func readNear(t *testing.T, e *hbase.Engine, keys [][]byte) ([]kv.Row, error) {
	t.Helper()
	rows := make([]kv.Row, len(keys))
	for i := range keys {
		rows[i].Key = keys[i]
	}
	last := -1
	err := e.GetStored(t.Context(), table, family, keys, true, func(i int, cells []kv.StoredCell) error {
		if i <= last {
			t.Errorf("row %d after %d", i, last)
		}
		last = i
		for _, c := range cells {
			rows[i].Cells = append(rows[i].Cells, kv.Cell{Qualifier: bytes.Clone(c.Qualifier), Value: bytes.Clone(c.Value), Time: c.Time})
		}
		return nil
	})
	return rows, err
}

// TestNearRows reads most rows of three regions by scans, through faults and with answers that have no space
// for all rows, or for none.
func TestNearRows(t *testing.T) {
	const rows = 700
	c, e := fake(t, hbase.Options{BatchRows: 250})
	c.Split(table, key(300))
	c.Split(table, key(320)) // a region with fewer rows than are worth a scan
	stored := puts(0, rows, 2)
	mustApply(t, e, stored)
	var keys [][]byte
	var wanted []string
	for i := range rows + 100 { // the last ones are not there
		if i%7 == 0 {
			continue
		}
		keys = append(keys, []byte(key(i)))
		if i < rows {
			wanted = append(wanted, want(stored[i:i+1])...)
		} else {
			wanted = append(wanted, key(i)+":")
		}
	}
	var scans, multis atomic.Int32
	for _, f := range []hbasetest.Fault{
		{},
		{Lose: true},
		{Silent: true},
		{Empty: true},
		{Exception: javaPackage + "RegionTooBusyException"},
		{Exception: javaPackage + "NotServingRegionException"},
		{Do: func() { c.Split(table, key(100)) }},
		{Do: func() { c.Move(table, key(500)) }},
	} {
		for _, page := range [][2]int{{1000, 5000}, {30, 5000}, {1000, 31}, {1000, 1}} {
			c.PageRows, c.PageCells = page[0], page[1]
			scans.Store(0)
			multis.Store(0)
			hit(t, c, 2, func(r hbasetest.Request) bool {
				if isMulti(r) {
					multis.Add(1)
				}
				if isOpen(r) {
					scans.Add(1)
				}
				return isOpen(r)
			}, f)
			got, err := readNear(t, e, keys)
			if diff := cmp.Diff(wanted, lines(got)); err != nil || diff != "" {
				t.Errorf("%+v, pages of %v: %v (-want +got)\n%s", f, page, err, diff)
			}
			if scans.Load() < 3 || page[0] == 30 && scans.Load() < 10 {
				t.Errorf("%+v, pages of %v: %d scans, %d other requests", f, page, scans.Load(), multis.Load())
			}
			if n := c.Scanners(); n != 0 {
				t.Errorf("%+v: %d scanners are open", f, n)
			}
		}
	}
}

// TestFewNearRows: few rows are not worth a scan.
func TestFewNearRows(t *testing.T) {
	c, e := fake(t, hbase.Options{})
	stored := puts(0, 50, 1)
	mustApply(t, e, stored)
	c.OnRequest(func(r hbasetest.Request) hbasetest.Fault {
		if isOpen(r) {
			t.Error("a scan")
		}
		return hbasetest.Fault{}
	})
	var keys [][]byte
	for i := range stored {
		keys = append(keys, []byte(key(i)))
	}
	got, err := readNear(t, e, keys)
	if diff := cmp.Diff(want(stored), lines(got)); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}
