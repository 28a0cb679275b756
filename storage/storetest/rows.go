package storetest

import (
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// CheckRows checks the cells themselves: an instant must never be in a row twice with different
// bytes, because a TSD refuses such a row. Twice with the same bytes does no harm. It can happen on
// a cluster, where a change that its sender gave up may still arrive after the next one; exclusive
// means that it cannot.
func CheckRows(t *testing.T, db kv.KV, table string, exclusive bool) {
	t.Helper()
	for row, err := range db.Scan(t.Context(), kv.Scan{Table: table, Family: "t"}) {
		if err != nil {
			t.Fatal(err)
		}
		instants := map[uint32]schema.Point{}
		for _, c := range row.Cells {
			switch schema.ClassifyCell(c.Qualifier) {
			case schema.CellData:
				if schema.MistakenForAppend(c.Qualifier) {
					t.Fatalf("row %x: a TSD's fsck deletes cell %x", row.Key, c.Qualifier)
				}
				points, err := schema.DecodeData(nil, c.Qualifier, c.Value)
				if err != nil {
					t.Fatal(err)
				}
				for i, p := range points {
					if other, ok := instants[p.Offset]; ok && (exclusive || !other.SameValue(p)) {
						t.Fatalf("row %x holds offset %d twice: %v and %v", row.Key, p.Offset, other, p)
					}
					if i > 0 && p.Offset <= points[i-1].Offset {
						t.Fatalf("row %x: cell %x is not sorted", row.Key, c.Qualifier)
					}
					if f := p.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
						t.Fatalf("row %x holds %v in an ordinary cell", row.Key, f)
					}
					instants[p.Offset] = p
				}
			case schema.CellAppend:
				points, err := schema.DecodeAppend(nil, c.Value)
				if err != nil || exclusive {
					t.Fatalf("row %x: append cell %x, %v in a table of one writer: %t", row.Key, c.Value, err, exclusive)
				}
				for _, p := range points {
					if other, ok := instants[p.Offset]; ok && !other.SameValue(p) {
						t.Fatalf("row %x holds offset %d twice: %v and %v", row.Key, p.Offset, other, p)
					}
					instants[p.Offset] = p
				}
			case schema.CellObject:
				if n := len(c.Qualifier); n != 3 && n != 5 {
					t.Fatalf("row %x: object cell %x of %d bytes: a TSD's fsck deletes it", row.Key, c.Qualifier, n)
				}
			case schema.CellAges:
				if ages, err := own.DecodeAges(nil, c.Qualifier, c.Value); err != nil || exclusive {
					t.Fatalf("row %x: ages %v, %v in a table of one writer: %t", row.Key, ages, err, exclusive)
				}
			default:
				t.Fatalf("row %x: unexpected cell %x", row.Key, c.Qualifier)
			}
		}
	}
}
