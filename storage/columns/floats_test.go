package columns

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// AppendFloats gives the bytes that Append gives the cell of the same points.
func TestAppendFloatsIsAppend(t *testing.T) {
	var direct, byCell Encoder
	coded := 0
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 11))
		times, values := randomFloats(rng)
		const begin = 1_700_000_000_000 / (schema.RowSeconds * 1000) * (schema.RowSeconds * 1000)
		for i := range times {
			times[i] += begin
		}
		for as := schema.ValuesAuto; as <= schema.ValuesCompact; as++ {
			kept, keptTimes := slices.Clone(values), slices.Clone(times)
			got, ok := direct.AppendFloats([]byte("before"), times, values, begin, as)
			if !slices.Equal(times, keptTimes) || !slices.EqualFunc(values, kept, sameFloat) {
				t.Fatalf("seed %d: the columns of the caller were changed", seed)
			}
			if !ok {
				if string(got) != "before" {
					t.Fatalf("seed %d: not ok, left %X", seed, got)
				}
				continue
			}
			coded++
			var points []schema.Point
			for i, v := range values {
				p, plain := schema.FloatPoint(uint32(times[i]-begin), v, as)
				if !plain {
					t.Fatalf("seed %d: %v was coded", seed, v)
				}
				points = append(points, p)
			}
			q, v := schema.AppendCell(nil, nil, points)
			want, ok := byCell.Append([]byte("before"), q, v)
			if !ok || !bytes.Equal(got, want) {
				t.Fatalf("seed %d, %v: %v at %v are coded as\n%X, their cell is %v as\n%X", seed, as, values, times, got, ok, want)
			}
		}
	}
	if coded < 2000 {
		t.Errorf("only %d of the cells were coded", coded)
	}
}

// AppendFloats is ok wherever Append is, but for what it leaves out.
func TestAppendFloatsRefusesOnlyTheRare(t *testing.T) {
	var direct, byCell Encoder
	for _, c := range hostCells(200, 240, 994, "") {
		points, err := schema.DecodeData(nil, c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		var times []int64
		var values []float64
		for _, p := range points {
			times, values = append(times, int64(p.Offset)), append(values, p.Float())
		}
		_, want := byCell.Append(nil, c[0], c[1])
		if _, ok := direct.AppendFloats(nil, times, values, 0, schema.ValuesAuto); ok != want {
			t.Errorf("%v at %v: %v, want %v", values, times, ok, want)
		}
	}
}

func sameFloat(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

// randomFloats returns points of an hour: of steps that are whole seconds or not, from any first
// instant, of values of several kinds.
func randomFloats(rng *rand.Rand) (times []int64, values []float64) {
	at := rng.Int64N(200_000)
	if rng.IntN(2) == 0 {
		at = at / 1000 * 1000
	}
	step := []int64{1000, 15_000, 10_007, 1, 60_000}[rng.IntN(5)]
	kind := rng.IntN(6)
	v := float64(rng.IntN(1 << 20))
	for n := rng.IntN(300); n >= 0 && at < schema.RowSeconds*1000; n-- {
		times, values = append(times, at), append(values, v)
		if rng.IntN(20) == 0 {
			at += rng.Int64N(3000)
		}
		at += step
		switch kind {
		case 1:
			v += float64(rng.IntN(100))
		case 2:
			v = hundredths(v + rng.Float64())
		case 3:
			v = rng.NormFloat64()
		case 4:
			v = float64(float32(rng.NormFloat64()))
		case 5:
			v = []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.MaxFloat64, 5e-324, 1 << 60}[rng.IntN(7)]
			if rng.IntN(3) == 0 {
				kind = 3
			}
		}
	}
	return times, values
}
