package row

import (
	"bytes"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

func floatPoints(values ...float64) (points []schema.Point) {
	for i, v := range values {
		p, _ := schema.FloatPoint(uint32(i+1)*1000, v, schema.ValuesAuto)
		points = append(points, p)
	}
	return points
}

// appendedRow reconciles a row in append mode and returns it as it is afterwards.
func appendedRow(t *testing.T, db *kv.Shared, p Pending) []kv.Cell {
	t.Helper()
	past, err := db.History(t.Context(), "t", "f", [][]byte{[]byte("row")})
	if err != nil {
		t.Fatal(err)
	}
	r := Reconciler{Appends: true}
	m := r.Reconcile([]byte("row"), &past[0], &p)
	if len(m.Puts) > 0 || len(m.Deletes) > 0 {
		change := kv.Conditional{Mutation: m.Mutation, Cell: Appended(past[0].Cells)}
		if made, err := db.ApplyUnchanged(t.Context(), "t", "f", []kv.Conditional{change}); err != nil || !made[0] {
			t.Fatal(made, err)
		}
	}
	rows, err := db.Get(t.Context(), "t", "f", [][]byte{[]byte("row")})
	if err != nil {
		t.Fatal(err)
	}
	return rows[0].Cells
}

func cellOf(cells []kv.Cell, kind schema.CellKind) (found []kv.Cell) {
	for _, c := range cells {
		if schema.ClassifyCell(c.Qualifier) == kind {
			found = append(found, c)
		}
	}
	return found
}

// A row has one append cell, in order, and one cell of its ages, however often it is written.
func TestAppendedRow(t *testing.T) {
	db := kv.NewShared(kv.Table{Name: "t", Families: []string{"f"}})
	db.SetClock(func() int64 { return quietTime })
	late := floatPoints(1, 2, 3, 4)
	for i, points := range [][]schema.Point{late[2:3], late[:1], late[3:], late[1:2], floatPoints(1, 2.5)} {
		cells := appendedRow(t, db, Pending{Points: points, Now: true, Clock: quietTime + int64(i)})
		if len(cellOf(cells, schema.CellAppend)) != 1 || len(cellOf(cells, schema.CellAges)) != 1 || len(cells) != 2 {
			t.Fatalf("write %d: %x", i, cells)
		}
		if i == 4 {
			want := schema.AppendArrivals(nil, floatPoints(1, 2.5, 3, 4))
			if got := cellOf(cells, schema.CellAppend)[0]; !bytes.Equal(got.Value, want) {
				t.Errorf("append cell %x, want %x", got.Value, want)
			}
		}
	}
}

// A TSD's append between leaves the ages of what stood there: a correction that was acknowledged
// before it wins over the older value, and not over the appended one.
func TestAppendedByTSDKeepsAges(t *testing.T) {
	db := kv.NewShared(kv.Table{Name: "t", Families: []string{"f"}})
	db.SetClock(func() int64 { return quietTime })
	cells := appendedRow(t, db, Pending{Points: floatPoints(1, 2), Now: true, Clock: quietTime})
	theirs := schema.AppendArrivals(bytes.Clone(cellOf(cells, schema.CellAppend)[0].Value), floatPoints(1, 2, 3)[1:3])
	put := kv.Mutation{Key: []byte("row"), Puts: []kv.Put{{Qualifier: schema.ArrivalsQualifier(), Value: theirs, Time: quietTime + 100}}}
	if err := db.Apply(t.Context(), "t", "f", []kv.Mutation{put}); err != nil {
		t.Fatal(err)
	}
	ages := []own.Age{{Offset: 1000, Time: quietTime + 50}, {Offset: 2000, Time: quietTime + 50}}
	cells = appendedRow(t, db, Pending{Points: floatPoints(10, 20), Ages: ages, Clock: quietTime + 200})
	if got, want := cellOf(cells, schema.CellAppend)[0].Value, schema.AppendArrivals(nil, floatPoints(10, 2, 3)); !bytes.Equal(got, want) {
		t.Errorf("append cell %x, want %x", got, want)
	}
}

// Points are put next to an append cell that cannot be read, or that would become too large.
func TestNotAppended(t *testing.T) {
	for _, value := range [][]byte{{0, 0}, schema.AppendArrivals(nil, make([]schema.Point, maxAppended/3))} {
		db := kv.NewShared(kv.Table{Name: "t", Families: []string{"f"}})
		db.SetClock(func() int64 { return quietTime })
		put := kv.Mutation{Key: []byte("row"), Puts: []kv.Put{{Qualifier: schema.ArrivalsQualifier(), Value: value}}}
		if err := db.Apply(t.Context(), "t", "f", []kv.Mutation{put}); err != nil {
			t.Fatal(err)
		}
		var many []schema.Point
		for offset := range uint32(100_000) {
			p, _ := schema.FloatPoint(offset*36+1, 0.1, schema.ValuesAuto)
			many = append(many, p)
		}
		cells := appendedRow(t, db, Pending{Points: many, Now: true, Clock: quietTime + 1})
		if got := cellOf(cells, schema.CellAppend); len(got) != 1 || !bytes.Equal(got[0].Value, value) {
			t.Errorf("%d append cells, or another one", len(got))
		}
		if len(cellOf(cells, schema.CellData)) == 0 {
			t.Error("no cell of points was put")
		}
	}
}
