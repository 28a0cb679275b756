package row

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

const quietTime = 1_700_000_000_000

// pointsCell is a cell of points, at offsets in seconds, that was put at a time before quietTime.
func pointsCell(before int64, value float64, offsets ...uint32) kv.Cell {
	var points []schema.Point
	for _, o := range offsets {
		p, _ := schema.FloatPoint(o*1000, value, schema.ValuesAuto)
		points = append(points, p)
	}
	q, v := schema.AppendCell(nil, nil, points)
	return kv.Cell{Qualifier: q, Value: v, Time: quietTime - before}
}

// rowOf is a row of cells, in their order.
func rowOf(cells ...kv.Cell) *kv.History {
	slices.SortFunc(cells, func(a, b kv.Cell) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
	return &kv.History{Row: kv.Row{Key: []byte("row"), Cells: cells}}
}

// after is a row after its compaction, and the number of its cells of points.
func after(t *testing.T, h *kv.History) (string, int, Verdict) {
	t.Helper()
	var r Reconciler
	c, verdict := r.Compact(h, quietTime, UniformSpan)
	if verdict != Compacted {
		return "", 0, verdict
	}
	db := kv.NewShared(kv.Table{Name: "t", Families: []string{"f"}})
	apply := func(m kv.Mutation) {
		if err := db.Apply(t.Context(), "t", "f", []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	before := kv.Mutation{Key: h.Key}
	for _, cell := range h.Cells {
		before.Puts = append(before.Puts, kv.Put(cell))
	}
	apply(before)
	apply(c.Mutation)
	rows, err := db.Get(t.Context(), "t", "f", [][]byte{h.Key})
	if err != nil {
		t.Fatal(err)
	}
	var content Row
	if err := content.Load(rows[0].Cells); err != nil {
		t.Fatal(err)
	}
	var text []string
	for _, p := range content.Points {
		text = append(text, fmt.Sprintf("%d=%v", p.Offset/1000, p.Float()))
	}
	for _, o := range content.Objects {
		text = append(text, fmt.Sprintf("%d:%s", o.Offset/1000, o.Data))
	}
	cells := 0
	for _, cell := range rows[0].Cells {
		if schema.ClassifyCell(cell.Qualifier) == schema.CellData {
			cells++
		}
	}
	if again, verdict := r.Compact(&kv.History{Row: rows[0]}, quietTime, UniformSpan); verdict != Compact {
		t.Errorf("compacted again: %+v", again)
	}
	return strings.Join(text, " "), cells, verdict
}

func TestCompact(t *testing.T) {
	object := func(before int64, offset uint32, data string) kv.Cell {
		q, v := own.AppendObjectCell(nil, nil, []own.Object{{Offset: offset * 1000, Kind: storage.KindHistogram, Data: []byte(data)}})
		return kv.Cell{Qualifier: q, Value: v, Time: quietTime - before}
	}
	foreign := func(q string) kv.Cell { return kv.Cell{Qualifier: []byte(q), Value: []byte("{}"), Time: 1} }
	for _, c := range []struct {
		name    string
		row     *kv.History
		want    string
		cells   int
		verdict Verdict
	}{
		{"single cells", rowOf(pointsCell(30, 1, 0), pointsCell(20, 2, 10), pointsCell(10, 3, 20)), "0=1 10=2 20=3", 1, Compacted},
		{"one cell", rowOf(pointsCell(30, 1, 0, 10)), "", 0, Compact},
		{"no cells", rowOf(), "", 0, Compact},
		{"a late point", rowOf(pointsCell(30, 1, 0, 20), pointsCell(10, 5, 10)), "0=1 10=5 20=1", 1, Compacted},
		{"a correction in another cell", rowOf(pointsCell(30, 1, 0, 10, 20), pointsCell(10, 5, 10)), "0=1 10=5 20=1", 1, Compacted},
		{"an older value in another cell", rowOf(pointsCell(10, 1, 0, 10, 20), pointsCell(30, 5, 10)), "0=1 10=1 20=1", 1, Compacted},
		{"the same point twice", rowOf(pointsCell(10, 1, 0, 10), pointsCell(30, 1, 10)), "0=1 10=1", 1, Compacted},
		{"next to objects", rowOf(pointsCell(30, 1, 0), pointsCell(30, 1, 5), object(5, 7, "h")), "0=1 5=1 7:h", 1, Compacted},
		{"an object takes an instant", rowOf(pointsCell(30, 1, 0), pointsCell(30, 1, 5), object(5, 5, "h")), "0=1 5:h", 1, Compacted},
		{"next to an annotation", rowOf(pointsCell(30, 1, 0), pointsCell(30, 2, 5), foreign("\x01\x00\x07")), "0=1 5=2", 1, Compacted},
		{"first point at second 80", rowOf(pointsCell(30, 1, 80), pointsCell(30, 1, 81)), "80=1 81=1", 1, Compacted},
		{"written to now", rowOf(pointsCell(30, 1, 0), pointsCell(-1, 1, 5)), "", 0, Busy},
		{"deleted in now", &kv.History{Row: rowOf(pointsCell(30, 1, 0), pointsCell(30, 1, 5)).Row, Deletes: []kv.Tombstone{{Qualifier: []byte("q"), Time: quietTime + 1}}}, "", 0, Busy},
		{"a TSD appends", rowOf(pointsCell(30, 1, 0), pointsCell(30, 1, 5), kv.Cell{Qualifier: []byte{5, 0, 0}, Time: 1}), "", 0, Foreign},
		{"damaged", rowOf(pointsCell(30, 1, 0), pointsCell(30, 1, 5), kv.Cell{Qualifier: []byte{1, 2}, Time: 1}), "", 0, Damaged},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, cells, verdict := after(t, c.row)
			if got != c.want || cells != c.cells || verdict != c.verdict {
				t.Errorf("%q in %d cells, verdict %v; want %q in %d, %v", got, cells, verdict, c.want, c.cells, c.verdict)
			}
			if judged := Judge(c.row.Cells, quietTime); judged != verdict && judged != Compacted {
				t.Errorf("judged %v, and the verdict is %v", judged, verdict)
			}
		})
	}
}

// Rows of more points than a cell takes are left alone once they are in as few cells as hold them.
func TestCompactLongRows(t *testing.T) {
	var cells []kv.Cell
	for i := range uint32(3*MaxCellPoints - 7) {
		p, _ := schema.FloatPoint(i*200+1, 1, schema.ValuesAuto)
		q, v := schema.AppendCell(nil, nil, []schema.Point{p})
		cells = append(cells, kv.Cell{Qualifier: q, Value: v, Time: quietTime - 10})
	}
	if _, cells, verdict := after(t, rowOf(cells...)); cells != 3 || verdict != Compacted {
		t.Errorf("%d cells, verdict %v; want 3", cells, verdict)
	}
}

// The compacted cell is as old as the latest of its points: what is deleted up to then is deleted,
// and each deletion names the version that was read.
func TestCompactionIsNoWrite(t *testing.T) {
	h := rowOf(pointsCell(30_000, 1, 0), pointsCell(20_000, 2, 10), pointsCell(10_000, 3, 20))
	var r Reconciler
	c, _ := r.Compact(h, quietTime, UniformSpan)
	for _, p := range c.Puts {
		if p.Time != quietTime-10_000 {
			t.Errorf("%x is put with %d, want %d", p.Qualifier, p.Time-quietTime, -10_000)
		}
	}
	for i, d := range c.Deletes {
		if d.Time != h.Cells[i].Time || !bytes.Equal(d.Qualifier, h.Cells[i].Qualifier) {
			t.Errorf("deletion %x at %d, want %x at %d", d.Qualifier, d.Time, h.Cells[i].Qualifier, h.Cells[i].Time)
		}
	}
	if c.Removed != 3 || c.Bytes != 3*(3+2+4) || len(c.Read) != 3 {
		t.Errorf("removed %d cells of %d bytes, read %d", c.Removed, c.Bytes, len(c.Read))
	}
	later := &kv.History{Row: kv.Row{Key: h.Key}}
	for _, p := range c.Puts {
		later.Cells = append(later.Cells, kv.Cell(p))
	}
	slices.SortFunc(later.Cells, func(a, b kv.Cell) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
	r.Look(later)
	for offset, before := range map[uint32]int64{0: 30_000, 10_000: 20_000, 20_000: 10_000} {
		if age, ok := r.Newest(offset); !ok || age < quietTime-before || age > quietTime-before+UniformSpan {
			t.Errorf("the point at %d counts as acknowledged at %d, want %d or %d later", offset, age-quietTime, -before, UniformSpan)
		}
	}
}

// A qualifier that was deleted with a later stamp than its points is put with a stamp after that.
func TestCompactOverTombstones(t *testing.T) {
	h := rowOf(pointsCell(30_000, 1, 0), pointsCell(30_000, 1, 10))
	q := pointsCell(0, 1, 0, 10).Qualifier
	h.Deletes = []kv.Tombstone{{Qualifier: q, Time: quietTime - 5}}
	var r Reconciler
	c, _ := r.Compact(h, quietTime, UniformSpan)
	at := slices.IndexFunc(c.Puts, func(p kv.Put) bool { return bytes.Equal(p.Qualifier, q) })
	if at < 0 || c.Puts[at].Time <= quietTime-5 {
		t.Errorf("puts %+v: a deletion of %d hides the compacted cell", c.Puts, quietTime-5)
	}
}

// Ages are raised by UniformSpan at most, none above the latest, and those of a steady sender take
// next to nothing.
func TestSteady(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		size int // bytes of the cell of ages that are not zero, at most
		age  func(i int) int64
	}{
		{"steady sender", 30, func(i int) int64 { return int64(i)*15_000 + 100 + rng.Int64N(900) }},
		{"burst", 30, func(int) int64 { return 9_000_000 + rng.Int64N(1500) }},
		{"outage", 60, func(i int) int64 { return max(int64(i)*15_000, 900_000) + rng.Int64N(900) }},
		{"at random", 2000, func(int) int64 { return rng.Int64N(9_000_000) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			var before []own.Age
			newest := int64(0)
			for i := range 240 {
				before = append(before, own.Age{Offset: uint32(i * 15_000), Time: quietTime + c.age(i)})
				newest = max(newest, before[i].Time)
			}
			got := steady(slices.Clone(before), UniformSpan)
			for i, a := range got {
				if late := a.Time - before[i].Time; late < 0 || late > UniformSpan || a.Time > newest || a.Offset != before[i].Offset {
					t.Fatalf("age %d is raised by %d to %d of %d", i, late, a.Time, newest)
				}
			}
			q, v := own.AppendAgesCell(nil, nil, newest, got)
			if back, err := own.DecodeAges(nil, q, v); err != nil || cmp.Diff(got, back) != "" {
				t.Errorf("ages do not come back: %v", err)
			}
			if n := len(bytes.ReplaceAll(v, []byte{0}, nil)); n > c.size {
				t.Errorf("%d bytes that are not zero, want %d at most", n, c.size)
			}
		})
	}
}

// A compaction that was read before a write to the row is not made after it, whatever was written:
// the write has a stamp that the row did not have.
func TestWritesAreNoticed(t *testing.T) {
	const late = 5_000 // before quietTime, as the cells of the row
	histogram := func(offset uint32) own.Object {
		return own.Object{Offset: offset * 1000, Kind: storage.KindHistogram, Data: []byte("h")}
	}
	float := func(offset uint32) own.Object { return own.FloatObject(offset*1000, math.Inf(1)) }
	point := func(offset uint32) schema.Point {
		p, _ := schema.FloatPoint(offset*1000, 7, schema.ValuesAuto)
		return p
	}
	objects := func(before int64, offset uint32) kv.Cell {
		q, v := own.AppendObjectCell(nil, nil, []own.Object{histogram(offset)})
		return kv.Cell{Qualifier: q, Value: v, Time: quietTime - before}
	}
	for _, c := range []struct {
		name    string
		points  []schema.Point
		objects []own.Object
		age     int64 // before quietTime
	}{
		{"a point", []schema.Point{point(3)}, nil, late - 1},
		{"a point of the instant of a cell's stamp", []schema.Point{point(3)}, nil, late},
		{"a correction of that instant", []schema.Point{point(5)}, nil, late},
		{"an object", nil, []own.Object{histogram(3)}, late - 1},
		{"an object older than the others", nil, []own.Object{histogram(3)}, late + 1},
		{"an object that is put with a later one", nil, []own.Object{float(7)}, late + 5},
		{"an object in place of a point", nil, []own.Object{histogram(5)}, late + 1},
		{"an object in place of a point, of the instant of a cell's stamp", nil, []own.Object{histogram(5)}, late},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := rowOf(pointsCell(30_000, 1, 0), pointsCell(late+2, 1, 5), objects(late+10, 7), objects(late, 9))
			db := kv.NewShared(kv.Table{Name: "t", Families: []string{"f"}})
			before := kv.Mutation{Key: h.Key}
			for _, cell := range h.Cells {
				before.Puts = append(before.Puts, kv.Put(cell))
			}
			var compacter, writer Reconciler
			compaction, _ := compacter.Compact(h, quietTime, 0)
			p := Pending{Points: c.points, Objects: c.objects, Clock: quietTime + 1000}
			for _, point := range c.points {
				p.Ages = append(p.Ages, own.Age{Offset: point.Offset, Time: quietTime - c.age})
			}
			for _, o := range c.objects {
				p.Ages = append(p.Ages, own.Age{Offset: o.Offset, Time: quietTime - c.age})
			}
			written := writer.Reconcile(h.Key, h, &p)
			for _, m := range []kv.Mutation{before, written.Mutation} {
				if err := db.Apply(t.Context(), "t", "f", []kv.Mutation{m}); err != nil {
					t.Fatal(err)
				}
			}
			made, err := db.ApplyUnchanged(t.Context(), "t", "f", []kv.Conditional{compaction.Conditional})
			if err != nil || made[0] {
				t.Errorf("the compaction was made: %v, %v; written: %+v", made, err, written.Puts)
			}
		})
	}
}

// What is put into a row keeps its ages, though a compaction deleted a cell of ages with the stamp
// that it would have.
func TestAgesAfterCompaction(t *testing.T) {
	const stamp = quietTime - 1000
	db := kv.NewShared(kv.Table{Name: "t", Families: []string{"f"}})
	apply := func(m kv.Mutation) {
		m.Key = []byte("row")
		if err := db.Apply(t.Context(), "t", "f", []kv.Mutation{m}); err != nil {
			t.Fatal(err)
		}
	}
	history := func() *kv.History {
		rows, err := db.History(t.Context(), "t", "f", [][]byte{[]byte("row")})
		if err != nil {
			t.Fatal(err)
		}
		return &rows[0]
	}
	q, v := own.AppendAgesCell(nil, nil, stamp, []own.Age{{Offset: 0, Time: stamp - 7}})
	apply(kv.Mutation{Puts: []kv.Put{{Qualifier: q, Value: v, Time: stamp}, kv.Put(pointsCell(2000, 1, 0))}})
	apply(kv.Mutation{Deletes: []kv.Delete{{Qualifier: q, Time: stamp}}})
	db.Flush() // the deletion is all that is left
	p := Pending{Clock: quietTime}
	for i := range uint32(2) {
		point, _ := schema.FloatPoint(1000+i*1000, 7, schema.ValuesAuto)
		p.Points, p.Ages = append(p.Points, point), append(p.Ages, own.Age{Offset: point.Offset, Time: stamp - 100 + int64(i)*100})
	}
	var r Reconciler
	apply(r.Reconcile([]byte("row"), history(), &p).Mutation)
	db.Flush()
	r.Look(history())
	for _, want := range p.Ages {
		if age, _ := r.Newest(want.Offset); age != want.Time {
			t.Errorf("the point at %d ms was acknowledged at %d, want %d", want.Offset, age, want.Time)
		}
	}
}
