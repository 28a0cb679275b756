package head

import (
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// A row is coded if it is asked for, and if its points are floats in order that a cell of columns
// holds.
func TestCodedRows(t *testing.T) {
	steady := func(n int) (b Batch) {
		for i := range n {
			b.IDs, b.Times, b.Values = append(b.IDs, 1), append(b.Times, begin+int64(i)*15_000), append(b.Values, float64(i))
		}
		return b
	}
	object := steady(3)
	object.Objects = []Object{{ID: 1, Time: begin, Kind: storage.KindExemplar, Data: []byte("e"), After: 3}}
	late := steady(3)
	late.IDs, late.Times, late.Values = append(late.IDs, 1), append(late.Times, begin+1), append(late.Values, 7)
	nan := steady(3)
	nan.Values[1] = math.NaN()
	integers := steady(3)
	integers.Forms = []storage.Form{storage.FormFloat, storage.FormInteger, storage.FormFloat}
	some, doubles := steady(3), steady(3)
	some.Forms = []storage.Form{storage.FormFloat, storage.FormDouble, storage.FormFloat}
	doubles.Forms = []storage.Form{storage.FormDouble, storage.FormDouble, storage.FormDouble}
	for _, c := range []struct {
		name  string
		batch Batch
		want  bool
	}{
		{"floats", steady(240), true},
		{"two", steady(2), true},
		{"one", steady(1), false},
		{"object", object, false},
		{"late", late, false},
		{"NaN", nan, false},
		{"integers", integers, false},
		{"some doubles", some, false},
		{"doubles", doubles, true},
	} {
		for _, asked := range []bool{false, true} {
			h := New(DefaultOptions())
			h.Append(&c.batch, 1)
			p, rows := Everything(), 0
			p.Coded = asked
			for s := range h.Seal(p) {
				for _, r := range s.Rows {
					rows++
					if got, want := r.Coded != nil, asked && c.want; got != want {
						t.Errorf("%s, asked %v: coded is %v", c.name, asked, got)
					}
				}
				s.Drop()
			}
			if rows != 1 {
				t.Errorf("%s: %d rows", c.name, rows)
			}
		}
	}
}
