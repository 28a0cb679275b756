package row

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// erased applies an erasure to a row whose table is real enough, and returns the offsets that the
// row has afterwards.
func erased(t *testing.T, puts []kv.Mutation, e Erasure) []uint32 {
	t.Helper()
	db := kv.NewShared(kv.Table{Name: "t", Families: []string{"f"}})
	clock := int64(1_000_000)
	db.SetClock(func() int64 { return clock })
	key := []byte("row")
	for _, m := range puts {
		m.Key = key
		if err := db.Apply(t.Context(), "t", "f", []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	history := func() *kv.History {
		h, err := db.History(t.Context(), "t", "f", [][]byte{key})
		if err != nil {
			t.Fatal(err)
		}
		return &h[0]
	}
	var r Reconciler
	change := r.Erase(key, history(), e, clock)
	if len(change.Puts)+len(change.Deletes) > 0 {
		if made, err := db.ApplyUnchanged(t.Context(), "t", "f", []kv.Conditional{change}); err != nil || !made[0] {
			t.Fatal(made, err)
		}
	}
	if again := r.Erase(key, history(), e, clock); len(again.Puts)+len(again.Deletes) > 0 {
		t.Errorf("the second time: %+v", again.Mutation)
	}
	var left []uint32
	for _, c := range history().Cells {
		if offset, ok := schema.ForeignOffset(c.Qualifier); ok {
			left = append(left, offset)
		}
	}
	r.Look(history())
	for _, c := range r.candidates {
		left = append(left, c.offset)
	}
	for i := range r.cells {
		for _, o := range r.cells[i].objects {
			if !o.Kind.IsSample() {
				left = append(left, o.Offset)
			}
		}
	}
	slices.Sort(left)
	return left
}

func TestErase(t *testing.T) {
	point := func(offset uint32) schema.Point {
		p, _ := schema.FloatPoint(offset, float64(offset)+0.5, schema.ValuesDouble)
		return p
	}
	cell := func(time int64, offsets ...uint32) kv.Mutation {
		points := make([]schema.Point, 0, len(offsets))
		for _, o := range offsets {
			points = append(points, point(o))
		}
		puts := appendPointCells(nil, points)
		for i := range puts {
			puts[i].Time = time
		}
		return kv.Mutation{Puts: puts}
	}
	aged := func(time int64, ages ...own.Age) kv.Mutation {
		q, v := own.AppendAgesCell(nil, nil, time, ages)
		return kv.Mutation{Puts: []kv.Put{{Qualifier: q, Value: v, Time: time}}}
	}
	objects := func(time int64, list ...own.Object) kv.Mutation {
		puts := appendObjectCells(nil, list)
		for i := range puts {
			puts[i].Time = time
		}
		return kv.Mutation{Puts: puts}
	}
	exemplar := func(offset uint32) own.Object {
		return own.Object{Offset: offset, Kind: storage.KindExemplar, Data: []byte{1}}
	}
	removed := func(time int64, m kv.Mutation) kv.Mutation { // as a TSD's compaction deletes
		var d kv.Mutation
		for _, p := range m.Puts {
			d.Deletes = append(d.Deletes, kv.Delete{Qualifier: p.Qualifier, Time: time})
		}
		return d
	}
	annotation := kv.Mutation{Puts: []kv.Put{{Qualifier: []byte{1, 0, 2}, Value: []byte("{}"), Time: 100}}}
	all := Erasure{To: 3_599_999, Until: 500}
	for name, c := range map[string]struct {
		row  []kv.Mutation
		e    Erasure
		want []uint32
	}{
		"nothing there":      {nil, all, nil},
		"all":                {[]kv.Mutation{cell(100, 1000, 2000), cell(500, 3000)}, all, nil},
		"later points":       {[]kv.Mutation{cell(100, 1000, 2000), cell(501, 3000)}, all, []uint32{3000}},
		"a part":             {[]kv.Mutation{cell(100, 1000, 2000, 3000)}, Erasure{From: 1500, To: 2500, Until: 500}, []uint32{1000, 3000}},
		"the edges":          {[]kv.Mutation{cell(100, 1000, 2000, 3000)}, Erasure{From: 1000, To: 2000, Until: 100}, []uint32{3000}},
		"nothing in it":      {[]kv.Mutation{cell(100, 1000, 2000)}, Erasure{From: 1001, To: 1999, Until: 500}, []uint32{1000, 2000}},
		"ages":               {[]kv.Mutation{cell(900, 1000, 2000, 3000), aged(900, own.Age{Offset: 1000, Time: 500}, own.Age{Offset: 2000, Time: 501})}, all, []uint32{2000, 3000}},
		"objects":            {[]kv.Mutation{cell(100, 1000), objects(200, exemplar(2), exemplar(5)), objects(600, exemplar(9))}, all, []uint32{exemplar(9).Offset}},
		"an annotation":      {[]kv.Mutation{cell(100, 1000), annotation}, all, nil},
		"a TSD put it again": {[]kv.Mutation{cell(100, 1000), cell(100, 2000), {DeleteRow: true, RowTime: 500}, cell(700, 1000, 2000), removed(800, cell(0, 1000)), removed(800, cell(0, 2000))}, all, nil},
		"a TSD compacts":     {[]kv.Mutation{cell(100, 1000), cell(510, 2000), cell(700, 1000, 2000)}, all, []uint32{2000}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, erased(t, c.row, c.e)); diff != "" {
				t.Errorf("offsets left (-want +got):\n%s", diff)
			}
		})
	}
}

// A row with a cell that cannot be read is left as it is.
func TestEraseBroken(t *testing.T) {
	var r Reconciler
	h := kv.NewHistory([]byte("row"), []kv.Cell{{Qualifier: []byte{0, 0, 1, 2, 3, 4}, Value: []byte{1, 2}, Time: 1}}, nil)
	change := r.Erase(h.Key, &h, Erasure{To: 3_599_999, Until: 500}, 1000)
	if len(r.Broken) != 1 || len(change.Puts)+len(change.Deletes) > 0 {
		t.Errorf("%+v, broken %+v", change, r.Broken)
	}
}
