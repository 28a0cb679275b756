package decimal

import (
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// FuzzAppend compares with strconv, bit by bit and digit by digit.
func FuzzAppend(f *testing.F) {
	for _, v := range []float64{0, math.Copysign(0, -1), 1, -1, 0.1, -0.25, 123456.789, 1e15, 999999999999999, 0.000001, 1e-7, 1.0000001, 123456789.123457, math.NaN(), math.Inf(1), 5e-324, 0.3, 0.1 + 0.2} {
		f.Add(math.Float64bits(v))
	}
	f.Fuzz(func(t *testing.T, bits uint64) { compare(t, math.Float64frombits(bits)) })
}

func compare(t *testing.T, v float64) (short bool) {
	t.Helper()
	got, ok := Append([]byte("x"), v)
	if !ok {
		if string(got) != "x" {
			t.Fatalf("Append(%v) is not ok and left %q", v, got)
		}
		return false
	}
	if want := "x" + strconv.FormatFloat(v, 'f', -1, 64); string(got) != want {
		t.Fatalf("Append(%v) = %q, want %q", v, got, want)
	}
	return true
}

func TestAppendRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300_000 {
		n := r.Int64N(int64(math.Pow10(1 + r.IntN(17))))
		v := float64(n) / math.Pow10(r.IntN(9))
		short := compare(t, v)
		compare(t, -v)
		compare(t, math.Nextafter(v, 0))
		if text := strconv.FormatFloat(v, 'f', -1, 64); !short && len(text) < 9 && v >= 0.001 {
			t.Fatalf("%s goes the long way", text)
		}
	}
}

func TestCounter(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var c Counter
	for range 2000 {
		n, step := r.Int64N(1<<r.IntN(62))-r.Int64N(100), r.Int64N(1<<r.IntN(40))-r.Int64N(3)
		c.Set(n)
		for range 30 {
			if got, want := string(c.Text()), strconv.FormatInt(n, 10); got != want {
				t.Fatalf("text %s, want %s (step %d)", got, want, step)
			}
			c.Add(step)
			n += step
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	var buf []byte
	values := []float64{17, 123456, 0.25, 98.76, 1234.567, 1e9 + 0.5}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		buf, _ = Append(buf[:0], values[i%len(values)])
	}
}
