package columns

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// checkAppendColumns compares the columns of a cell with DecodeData.
func checkAppendColumns(t *testing.T, q, v []byte) {
	t.Helper()
	const base = 3600
	points, wantErr := schema.DecodeData(nil, q, v)
	times, values, err := Append([]int64{1}, []float64{2}, q, v, base)
	if (err == nil) != (wantErr == nil) || len(times) != len(points)+1 || len(values) != len(times) {
		t.Fatalf("AppendColumns(%x, %x) = %v, %v, %v, want %v, %v", q, v, times, values, err, points, wantErr)
	}
	if times[0] != 1 || values[0] != 2 {
		t.Fatalf("what stood there became %d, %v", times[0], values[0])
	}
	for i, p := range points {
		if times[i+1] != schema.Time(base, p.Offset) || math.Float64bits(values[i+1]) != math.Float64bits(p.Float()) {
			t.Fatalf("point %d of (%x, %x) = %d, %v, want %+v", i, q, v, times[i+1], values[i+1], p)
		}
	}
	if len(points) > DataCount(q) {
		t.Fatalf("DataCount(%x) = %d, it has %d", q, DataCount(q), len(points))
	}
}

// TestAppendColumns makes cells of one and of many points, of one kind and mixed.
func TestAppendColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		var points []schema.Point
		unit, kinds := []int{1, 1000, 500}[r.IntN(3)], r.IntN(3)
		for offset, n := r.IntN(100), 1+r.IntN(20); len(points) < n; offset += 1 + r.IntN(100) {
			p := schema.IntPoint(uint32(offset*unit), r.Int64()>>r.IntN(64))
			switch kinds {
			case 0:
				p, _ = schema.FloatPoint(uint32(offset*unit), float64(r.IntN(1000)), schema.ValuesAuto)
			case 1:
				p, _ = schema.FloatPoint(uint32(offset*unit), r.NormFloat64(), schema.ValuesDouble)
			}
			points = append(points, p)
		}
		q, v := schema.AppendCell(nil, nil, points)
		checkAppendColumns(t, q, v)
		v[r.IntN(len(v))]++
		checkAppendColumns(t, q, v[:r.IntN(len(v)+1)])
		q[r.IntN(len(q))] ^= 1 << r.IntN(8)
		checkAppendColumns(t, q, v)
	}
}

func FuzzAppendColumns(f *testing.F) {
	f.Add([]byte{0, 0x0B, 0, 0x1B}, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add([]byte{0xF0, 0, 0, 0x0F, 0xF0, 0, 0x40, 0x0F}, make([]byte, 17))
	f.Add([]byte{0, 0x0B, 0xF0, 0, 0x40, 0x0F}, make([]byte, 13))
	f.Fuzz(func(t *testing.T, q, v []byte) { checkAppendColumns(t, q, v) })
}
