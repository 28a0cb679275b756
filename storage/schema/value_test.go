package schema

import (
	"math"
	"math/rand/v2"
	"testing"
)

// someFloats returns special values and then random bits: of doubles, of short floats and of whole
// numbers.
func someFloats() []float64 {
	floats := []float64{
		0, math.Copysign(0, -1), 1, -1, 0.1, 127, 128, -128, -129, 32767, 32768, 1 << 31, 1<<53 - 1, 1 << 53, 1<<53 + 2, -(1 << 53),
		math.MaxFloat32, math.SmallestNonzeroFloat32, math.MaxFloat64, math.SmallestNonzeroFloat64, math.MaxInt64, math.MinInt64,
		math.NaN(), math.Inf(1), math.Inf(-1), math.Float64frombits(0x7FF0000000000002), math.Float64frombits(0xFFF0000000000001),
	}
	rng := rand.New(rand.NewPCG(7, 7))
	for range 20000 {
		floats = append(floats,
			math.Float64frombits(rng.Uint64()),
			float64(math.Float32frombits(rng.Uint32())),
			float64(rng.Int64()>>rng.UintN(64)))
	}
	return floats
}

func TestFloatsComeBackBitForBit(t *testing.T) {
	for _, v := range someFloats() {
		for values := ValuesAuto; values <= ValuesCompact; values++ {
			p, ok := FloatPoint(1500, v, values)
			if want := !math.IsNaN(v) && !math.IsInf(v, 0); ok != want {
				t.Fatalf("FloatPoint(%v, %v) is ok: %v, want %v", v, values, ok, want)
			}
			if !ok {
				continue
			}
			if got := p.Float(); math.Float64bits(got) != math.Float64bits(v) {
				t.Fatalf("FloatPoint(%v, %v).Float() = %v", v, values, got)
			}
			q, b := AppendCell(nil, nil, []Point{p})
			again, err := DecodeData(nil, q, b)
			if err != nil || again[0] != p {
				t.Fatalf("%v as %v: %X=%X holds %v, %v, want %v", v, values, q, b, again, err, p)
			}
		}
	}
}

func TestEncodingsOfFloats(t *testing.T) {
	for _, v := range someFloats() {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			continue
		}
		auto, _ := FloatPoint(0, v, ValuesAuto)
		double, _ := FloatPoint(0, v, ValuesDouble)
		compact, _ := FloatPoint(0, v, ValuesCompact)
		short := math.Float64bits(float64(float32(v))) == math.Float64bits(v)
		if auto.Flags&FlagFloat == 0 || short != (auto.Width() == 4) || !short && auto != double {
			t.Errorf("%v as auto: %+v", v, auto)
		}
		if double.Flags&FlagFloat == 0 || double.Width() != 8 {
			t.Errorf("%v as double: %+v", v, double)
		}
		whole := v == math.Trunc(v) && v >= math.MinInt32 && v <= math.MaxInt32 && (v != 0 || !math.Signbit(v))
		if whole && compact != IntPoint(0, int64(v)) || !whole && compact != auto {
			t.Errorf("%v as compact: %+v", v, compact)
		}
	}
}

func TestIntegersComeBackInFewestBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 20000 {
		v := rng.Int64() >> rng.UintN(64)
		if rng.IntN(2) == 0 {
			v = ^v
		}
		p := IntPoint(0, v)
		if p.Flags&FlagFloat != 0 || p.Int() != v || p.Float() != float64(v) {
			t.Fatalf("IntPoint(%d) = %+v: %d", v, p, p.Int())
		}
		if w := p.Width(); w > 1 && v >= -1<<(4*w-1) && v < 1<<(4*w-1) {
			t.Fatalf("IntPoint(%d) has %d bytes", v, w)
		}
	}
}

func TestSameValue(t *testing.T) {
	one, _ := FloatPoint(1000, 1, ValuesAuto)
	double, _ := FloatPoint(1000, 1, ValuesDouble)
	for _, c := range []struct {
		a, b Point
		want bool
	}{
		{one, one, true},
		{one, Point{Bits: one.Bits, Flags: one.Flags, Offset: 1000, Millis: true}, true},
		{one, double, false},
		{IntPoint(0, 1), one, false},
		{IntPoint(0, 1), IntPoint(0, 2), false},
		{Point{Bits: 1, Flags: 0}, Point{Bits: 1, Flags: 1}, false},
	} {
		if got := c.a.SameValue(c.b); got != c.want {
			t.Errorf("%+v.SameValue(%+v) = %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestParseValues(t *testing.T) {
	for _, word := range []string{"auto", "double", "compact"} {
		if v, err := ParseValues(word); err != nil || v.String() != word {
			t.Errorf("ParseValues(%q) = %v, %v", word, v, err)
		}
	}
	for _, word := range []string{"", "Auto", "float"} {
		if v, err := ParseValues(word); err == nil {
			t.Errorf("ParseValues(%q) = %v, want an error", word, v)
		}
	}
}
