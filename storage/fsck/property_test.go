package fsck

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/row"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// damaged are rows of random points in cells of many kinds, with what can be wrong with them and
// readers can read all the same.
func damaged(w *world, r *rand.Rand, rows int) {
	w.Helper()
	for i := range rows {
		key := w.layout.AppendRowKey(nil, []byte{0, 0, 1, 0, 0, 1, 0, 0, byte(1 + i%9)}, uint32(1_600_000_000/3600*3600+i*3600))
		m := kv.Mutation{Key: key}
		taken := map[string]bool{}
		for time := range int64(1 + r.IntN(5)) {
			q, v := damagedCell(r)
			if taken[string(q)] {
				continue
			}
			taken[string(q)] = true
			m.Puts = append(m.Puts, kv.Put{Qualifier: q, Value: v, Time: 1000 + time})
		}
		if err := w.db.Apply(w.Context(), "tsdb", "t", []kv.Mutation{m}); err != nil {
			w.Fatal(err)
		}
	}
}

func damagedCell(r *rand.Rand) (q, v []byte) {
	var points []schema.Point
	for n := r.IntN(6); len(points) <= n; {
		p := schema.IntPoint(uint32(r.IntN(8))*500, int64(r.IntN(3)))
		if r.IntN(3) == 0 {
			p, _ = schema.FloatPoint(p.Offset, r.Float64(), schema.ValuesAuto)
		} else if r.IntN(3) == 0 {
			p.Bits, p.Flags = uint64(p.Int()), 7 // too long
		}
		p.Millis = p.Millis || r.IntN(4) == 0
		if !slices.ContainsFunc(points, func(o schema.Point) bool { return o.Offset == p.Offset }) {
			points = append(points, p)
		} else if len(points) > 3 {
			break
		}
	}
	if r.IntN(8) == 0 { // an append cell, in any order
		for _, p := range points {
			v = p.AppendValue(p.AppendQualifier(v))
		}
		return []byte{5, 0, 0}, v
	}
	if r.IntN(2) == 0 {
		slices.SortFunc(points, func(a, b schema.Point) int { return int(a.Offset) - int(b.Offset) })
	}
	for _, p := range points {
		q, v = p.AppendQualifier(q), p.AppendValue(v)
	}
	if len(points) > 1 {
		v = append(v, byte(r.IntN(4)))
		if r.IntN(5) == 0 {
			v = v[:len(v)-1]
		}
	} else if r.IntN(3) == 0 && !points[0].Millis && points[0].IsInt() {
		q[len(q)-1] = q[len(q)-1]&0xF8 | byte(r.IntN(8)) // a wrong length
	}
	return q, v
}

// content is what readers read of the rows: the points, with their values.
func (w *world) content() (lines []string) {
	w.Helper()
	var content row.Row
	for r, err := range w.db.Scan(w.Context(), kv.Scan{Table: "tsdb", Family: "t"}) {
		if err == nil {
			err = content.Load(r.Cells)
		}
		if err != nil {
			w.Fatal(err)
		}
		line := fmt.Sprintf("%X", r.Key)
		for _, p := range content.Points {
			line += fmt.Sprintf(" %d=%v,%v", p.Offset, p.IsInt(), p.Float())
		}
		lines = append(lines, line)
	}
	return lines
}

// What loses nothing loses nothing: readers read the same before and after, of every instant the
// value that was written last, and afterwards nothing is left that can be mended so.
func TestLossless(t *testing.T) {
	fix, err := ParseFix(FixLossless)
	if err != nil {
		t.Fatal(err)
	}
	for seed := range uint64(40) {
		for name, w := range worlds(t) {
			damaged(w, rand.New(rand.NewPCG(seed, 1)), 20)
			before := w.content()
			found, report := w.run(Query{Tables: []string{TableData}, Fix: fix})
			all, mended := report.Tally.All()
			if len(found) == 0 || all != mended {
				t.Fatalf("%s, seed %d: %d of %d findings are mended:\n%v", name, seed, mended, all, report.Tally)
			}
			if diff := cmp.Diff(before, w.content()); diff != "" {
				t.Fatalf("%s, seed %d: the points are others (-before +after):\n%s", name, seed, diff)
			}
			if again, _ := w.run(Query{Tables: []string{TableData}}); len(again) > 0 {
				t.Fatalf("%s, seed %d: it finds again %v", name, seed, again)
			}
		}
	}
}
