package row

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// texts shows the points of cells, which may be in any order.
func texts(t *testing.T, cells []kv.Cell) string {
	t.Helper()
	var all []schema.Point
	for _, c := range cells {
		if schema.ClassifyCell(c.Qualifier) != schema.CellData {
			continue
		}
		var err error
		if all, err = schema.DecodeData(all, c.Qualifier, c.Value); err != nil {
			t.Fatal(err)
		}
	}
	var text []string
	for _, p := range all {
		text = append(text, fmt.Sprintf("%d=%v", p.Offset/1000, p.Float()))
	}
	slices.Sort(text)
	return strings.Join(text, " ")
}

// A cell that has an instant twice keeps one of both when the row is settled.
func TestReconcileAnInstantTwiceInOneCell(t *testing.T) {
	cell := func(second byte) kv.Cell {
		return kv.Cell{Qualifier: []byte{0, 0, 0, 0, 0, 0x10}, Value: []byte{1, second, 7, 0}, Time: quietTime}
	}
	for _, c := range []struct {
		name    string
		cell    kv.Cell
		pending *Pending
		want    string
	}{
		{"the same value", cell(1), &Pending{Clock: quietTime}, "0=1 1=7"},
		{"two values", cell(2), &Pending{Clock: quietTime}, "0=2 1=7"},
		{"a later point", cell(2), &Pending{Points: []schema.Point{schema.IntPoint(2000, 9)}, Now: true, Clock: quietTime}, "0=2 1=7 2=9"},
		{"a correction", cell(2), &Pending{Points: []schema.Point{schema.IntPoint(0, 9)}, Now: true, Clock: quietTime}, "0=9 1=7"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r Reconciler
			h := rowOf(c.cell)
			m := r.Reconcile(h.Key, h, c.pending)
			if got := texts(t, put(h.Cells, m.Mutation)); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
