package row

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/schema/own"
)

// Rows of a hundred thousand cells or objects are reconciled as fast as they are read: nothing
// takes quadratic time.
func TestLargeRows(t *testing.T) {
	// of less than one; minutes where something is quadratic
	const n, timeLimit = 100_000, 20 * time.Second
	point := func(i int, v float64) schema.Point {
		p, _ := schema.FloatPoint(uint32(i*30+1), v, schema.ValuesAuto)
		return p
	}
	exemplar := func(i int) own.Object {
		return own.Object{Offset: uint32(i * 30), Kind: storage.KindExemplar, Data: binary.BigEndian.AppendUint32(nil, uint32(i))}
	}
	start := func(i int) own.Object {
		return own.Object{Offset: uint32(i*30 + 1), Kind: storage.KindStartTime, Data: []byte{1}}
	}
	cells := func(h *kv.History, put []kv.Put, at int64) {
		for _, p := range put {
			h.Cells = append(h.Cells, kv.Cell{Qualifier: p.Qualifier, Value: p.Value, Time: at})
		}
	}
	for name, fill := range map[string]func(h *kv.History, p *Pending){
		"points corrected": func(h *kv.History, p *Pending) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				p.Points = append(p.Points, point(i, 0.1))
				p.Ages = append(p.Ages, own.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
		"points corrected that were deleted and put again": func(h *kv.History, p *Pending) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				h.Deletes = append(h.Deletes, kv.Tombstone{Qualifier: h.Cells[i].Qualifier, Time: 900})
				p.Points = append(p.Points, point(i, 0.1))
				p.Ages = append(p.Ages, own.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
		"points in two cells each": func(h *kv.History, p *Pending) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				cells(h, appendPointCells(nil, []schema.Point{point(i, 0.1)}), 1000+int64(i%2)*2-1)
			}
		},
		"pairs that lose one": func(h *kv.History, p *Pending) {
			for i := 0; i < n; i += 2 {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5), point(i+1, 1.5)}), 1000+int64(i))
				cells(h, appendPointCells(nil, []schema.Point{point(i, 0.1)}), 1001+int64(i))
			}
		},
		"exemplars": func(h *kv.History, p *Pending) {
			for i := range n {
				cells(h, appendObjectCells(nil, []own.Object{exemplar(i)}), 1000)
				p.Objects = append(p.Objects, exemplar(i), exemplar(i+n))
			}
		},
		"exemplars of one instant": func(h *kv.History, p *Pending) {
			for i := range n {
				o := exemplar(i)
				o.Offset = 7
				p.Objects = append(p.Objects, o)
			}
			cells(h, appendObjectCells(nil, p.Objects[n/2:]), 1000)
		},
		"histograms in place of points": func(h *kv.History, p *Pending) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				p.Objects = append(p.Objects, own.Object{Offset: point(i, 0).Offset, Kind: storage.KindHistogram, Data: []byte{1}})
				p.Ages = append(p.Ages, own.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
		"start times": func(h *kv.History, p *Pending) {
			for i := range n {
				cells(h, appendObjectCells(nil, []own.Object{start(i)}), 1000)
				p.Points, p.Objects = append(p.Points, point(i, 0.1)), append(p.Objects, start(i))
				p.Ages = append(p.Ages, own.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := kv.History{}, Pending{Clock: 3000}
			fill(&h, &p)
			slices.SortFunc(h.Cells, func(a, b kv.Cell) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
			h.Cells = slices.CompactFunc(h.Cells, func(a, b kv.Cell) bool { return bytes.Equal(a.Qualifier, b.Qualifier) })
			slices.SortFunc(p.Objects, CompareObjects)
			begin := time.Now()
			var r Reconciler
			m := r.Reconcile([]byte("row"), &h, &p)
			if took := time.Since(begin); took > timeLimit {
				t.Errorf("it took %v", took)
			} else {
				t.Logf("%v: %d puts, %d deletions", took, len(m.Puts), len(m.Deletes))
			}
			begin = time.Now()
			var content Row
			if err := content.Load(h.Cells); err != nil {
				t.Fatal(err)
			}
			merged := content.Mutation([]byte("row"), h.Cells, content.Merge(p.Points, p.Objects))
			if took := time.Since(begin); took > timeLimit {
				t.Errorf("to merge it took %v", took)
			} else {
				t.Logf("merged: %v: %d puts, %d deletions", took, len(merged.Puts), len(merged.Deletes))
			}
		})
	}
}
