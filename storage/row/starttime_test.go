package row

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// startOffset is the one instant of these tests.
const startOffset = 1000

// sampleWrite is one write of an instant: a number, a histogram or a NaN, with or without a start
// time; or a start time alone.
type sampleWrite struct{ sample, start string }

func (w sampleWrite) String() string { return w.sample + w.start }

func (w sampleWrite) points() []schema.Point {
	if v := map[string]float64{"one": 1, "two": 2}[w.sample]; v > 0 {
		p, _ := schema.FloatPoint(startOffset, v, schema.ValuesAuto)
		return []schema.Point{p}
	}
	return nil
}

func (w sampleWrite) objects() (objects []own.Object) {
	switch w.sample {
	case "histogram":
		objects = append(objects, own.Object{Offset: startOffset, Kind: storage.KindHistogram, Data: []byte("h")})
	case "nan":
		objects = append(objects, own.Object{Offset: startOffset, Kind: storage.KindFloat, Data: []byte{0x7f, 0xf8, 0, 0, 0, 0, 0, 1}})
	}
	if w.start != "" {
		objects = append(objects, own.Object{Offset: startOffset, Kind: storage.KindStartTime, Data: []byte(w.start)})
	}
	return objects
}

// pending is the write as a process has it that acknowledged it at a time.
func (w sampleWrite) pending(at int64) *Pending {
	p := &Pending{Points: w.points(), Objects: w.objects(), Clock: at}
	if w.sample != "" {
		p.Ages = []own.Age{{Offset: startOffset, Time: at}}
	}
	return p
}

// put applies a mutation to cells.
func put(cells []kv.Cell, m kv.Mutation) []kv.Cell {
	gone := func(c kv.Cell) bool {
		return slices.ContainsFunc(m.Deletes, func(d kv.Delete) bool { return bytes.Equal(d.Qualifier, c.Qualifier) }) ||
			slices.ContainsFunc(m.Puts, func(p kv.Put) bool { return bytes.Equal(p.Qualifier, c.Qualifier) })
	}
	cells = slices.DeleteFunc(slices.Clone(cells), gone)
	for _, p := range m.Puts {
		cells = append(cells, kv.Cell(p))
	}
	slices.SortFunc(cells, func(a, b kv.Cell) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
	return cells
}

// shown is what a reader finds at the instant.
func shown(t *testing.T, cells []kv.Cell) string {
	t.Helper()
	var r Row
	if err := r.Load(cells); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range r.Points {
		fmt.Fprintf(&b, "%x ", p.Bits)
	}
	for _, o := range r.Objects {
		fmt.Fprintf(&b, "%d:%x ", o.Kind, o.Data)
	}
	return b.String()
}

// want is what a reader finds after writes in this order: the last sample and the last start time.
func want(t *testing.T, writes []sampleWrite) string {
	t.Helper()
	var last sampleWrite
	for _, w := range writes {
		if w.sample != "" {
			last.sample = w.sample
		}
		if w.start != "" {
			last.start = w.start
		}
	}
	return shown(t, put(nil, kv.Mutation{Puts: Cells(last.points(), last.objects())}))
}

// The last sample and the last start time of an instant stay, whether the writes are merged into the
// row of an exclusive table, or reconciled with that of a shared one in the order of their
// acknowledgement or in another.
func TestStartTimeStays(t *testing.T) {
	var writes []sampleWrite
	for _, sample := range []string{"one", "two", "histogram", "nan"} {
		for _, start := range []string{"", "s", "t"} {
			writes = append(writes, sampleWrite{sample, start})
		}
	}
	for _, a := range writes {
		for _, b := range writes {
			for _, c := range writes {
				list := []sampleWrite{a, b, c}
				if got, want := merged(t, list), want(t, list); got != want {
					t.Errorf("merge %v: %q, want %q", list, got, want)
				}
				if got, want := reconciled(t, list, []int{0, 1, 2}), want(t, list); got != want {
					t.Errorf("reconcile %v: %q, want %q", list, got, want)
				}
			}
			// The later write is flushed first.
			if a.start == "" || b.start == "" || a.start == b.start {
				list := []sampleWrite{a, b}
				if got, want := reconciled(t, list, []int{1, 0}), want(t, list); got != want {
					t.Errorf("reconcile %v, the later one first: %q, want %q", list, got, want)
				}
			}
		}
	}
}

// merged merges writes in their order.
func merged(t *testing.T, writes []sampleWrite) string {
	t.Helper()
	var cells []kv.Cell
	for i, w := range writes {
		var r Row
		if err := r.Load(cells); err != nil {
			t.Fatal(err)
		}
		m := r.Mutation(nil, cells, r.Merge(w.points(), w.objects()))
		for j := range m.Puts {
			m.Puts[j].Time = int64(i + 1)
		}
		cells = put(cells, m)
	}
	return shown(t, cells)
}

// reconciled reconciles writes, which were acknowledged in their order, in another order.
func reconciled(t *testing.T, writes []sampleWrite, order []int) string {
	t.Helper()
	const begin = 1_700_000_000_000
	var cells []kv.Cell
	var r Reconciler
	for _, i := range order {
		h := &kv.History{Row: kv.Row{Cells: cells}}
		cells = put(cells, r.Reconcile([]byte("row"), h, writes[i].pending(begin+int64(i)*10_000)).Mutation)
	}
	return shown(t, agesCut(cells))
}

// agesCut leaves the cells of points and objects.
func agesCut(cells []kv.Cell) []kv.Cell {
	return slices.DeleteFunc(slices.Clone(cells), func(c kv.Cell) bool { return schema.ClassifyCell(c.Qualifier) == schema.CellAges })
}
