package storage

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// Rows of a hundred thousand cells or objects are reconciled as fast as they are read: nothing is gone through for each of them.
func TestLargeRows(t *testing.T) {
	const n, patience = 100_000, 20 * time.Second // of less than one; minutes where something is quadratic
	point := func(i int, v float64) schema.Point {
		p, _ := schema.FloatPoint(uint32(i*30+1), v, schema.ValuesAuto)
		return p
	}
	exemplar := func(i int) schema.Object {
		return schema.Object{Offset: uint32(i * 30), Kind: schema.ObjectExemplar, Data: binary.BigEndian.AppendUint32(nil, uint32(i))}
	}
	start := func(i int) schema.Object {
		return schema.Object{Offset: uint32(i*30 + 1), Kind: schema.ObjectStartTime, Data: []byte{1}}
	}
	cells := func(h *kv.History, put []kv.Put, at int64) {
		for _, p := range put {
			h.Cells = append(h.Cells, kv.Cell{Qualifier: p.Qualifier, Value: p.Value, Time: at})
		}
	}
	for name, fill := range map[string]func(h *kv.History, p *pendingRow){
		"points corrected": func(h *kv.History, p *pendingRow) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				p.points = append(p.points, point(i, 0.1))
				p.ages = append(p.ages, schema.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
		"points corrected that were deleted and put again": func(h *kv.History, p *pendingRow) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				h.Deletes = append(h.Deletes, kv.Tombstone{Qualifier: h.Cells[i].Qualifier, Time: 900})
				p.points = append(p.points, point(i, 0.1))
				p.ages = append(p.ages, schema.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
		"points in two cells each": func(h *kv.History, p *pendingRow) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				cells(h, appendPointCells(nil, []schema.Point{point(i, 0.1)}), 1000+int64(i%2)*2-1)
			}
		},
		"pairs that lose one": func(h *kv.History, p *pendingRow) {
			for i := 0; i < n; i += 2 {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5), point(i+1, 1.5)}), 1000+int64(i))
				cells(h, appendPointCells(nil, []schema.Point{point(i, 0.1)}), 1001+int64(i))
			}
		},
		"exemplars": func(h *kv.History, p *pendingRow) {
			for i := range n {
				cells(h, appendObjectCells(nil, []schema.Object{exemplar(i)}), 1000)
				p.objects = append(p.objects, exemplar(i), exemplar(i+n))
			}
		},
		"exemplars of one instant": func(h *kv.History, p *pendingRow) {
			for i := range n {
				o := exemplar(i)
				o.Offset = 7
				p.objects = append(p.objects, o)
			}
			cells(h, appendObjectCells(nil, p.objects[n/2:]), 1000)
		},
		"histograms in place of points": func(h *kv.History, p *pendingRow) {
			for i := range n {
				cells(h, appendPointCells(nil, []schema.Point{point(i, 1.5)}), 1000)
				p.objects = append(p.objects, schema.Object{Offset: point(i, 0).Offset, Kind: schema.ObjectHistogram, Data: []byte{1}})
				p.ages = append(p.ages, schema.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
		"start times": func(h *kv.History, p *pendingRow) {
			for i := range n {
				cells(h, appendObjectCells(nil, []schema.Object{start(i)}), 1000)
				p.points, p.objects = append(p.points, point(i, 0.1)), append(p.objects, start(i))
				p.ages = append(p.ages, schema.Age{Offset: point(i, 0).Offset, Time: 2000})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := kv.History{}, pendingRow{clock: 3000}
			fill(&h, &p)
			slices.SortFunc(h.Cells, func(a, b kv.Cell) int { return bytes.Compare(a.Qualifier, b.Qualifier) })
			h.Cells = slices.CompactFunc(h.Cells, func(a, b kv.Cell) bool { return bytes.Equal(a.Qualifier, b.Qualifier) })
			slices.SortFunc(p.objects, compareObjects)
			begin := time.Now()
			var r reconciler
			m := r.row([]byte("row"), &h, &p)
			if took := time.Since(begin); took > patience {
				t.Errorf("it took %v", took)
			} else {
				t.Logf("%v: %d puts, %d deletions", took, len(m.Puts), len(m.Deletes))
			}
			begin = time.Now()
			var content row
			if err := content.load(h.Cells); err != nil {
				t.Fatal(err)
			}
			merged := content.mutation([]byte("row"), h.Cells, content.merge(p.points, p.objects))
			if took := time.Since(begin); took > patience {
				t.Errorf("to merge it took %v", took)
			} else {
				t.Logf("merged: %v: %d puts, %d deletions", took, len(merged.Puts), len(merged.Deletes))
			}
		})
	}
}
