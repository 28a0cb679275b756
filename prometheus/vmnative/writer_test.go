package vmnative

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// A testSeries is encoded and read back.
type testSeries struct {
	labels labels.Labels
	times  []int64
	values []float64
}

// encoded returns a file of series.
func encoded(t testing.TB, all ...testSeries) ([]byte, Counts) {
	t.Helper()
	e, err := NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	text := AppendRange(nil, math.MinInt64, math.MaxInt64)
	for _, s := range all {
		if err := e.Begin(s.labels); err != nil {
			t.Fatal(err)
		}
		for i, at := range s.times {
			text = e.Add(text, at, s.values[i])
		}
		text = e.AppendRest(text)
	}
	return text, e.Counts
}

// decoded returns the samples of a file of one series, and the number of its blocks.
func decoded(t testing.TB, text []byte) (s testSeries, blocks int) {
	t.Helper()
	r, err := NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for ; ; blocks++ {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			return s, blocks
		}
		if err != nil {
			t.Fatal(err)
		}
		s.labels = b.Labels.Copy()
		s.times, s.values = append(s.times, b.Times...), append(s.values, b.Values...)
	}
}

// valuesOf makes values of a kind.
func valuesOf(kind string, n int, random *rand.Rand) []float64 {
	values := make([]float64, n)
	for i := range values {
		switch kind {
		case "integers":
			values[i] = float64(random.Int64N(1<<53) >> random.IntN(53))
		case "negative counters with restarts":
			values[i] = -float64(i%700*3 + 1)
		case "hundredths":
			values[i] = math.Round(random.Float64()*1e5) / 100
		case "fractions":
			values[i] = random.Float64()
		case "any bits":
			values[i] = math.Float64frombits(random.Uint64())
		case "small bits":
			values[i] = math.Float64frombits(random.Uint64N(1 << 54))
		case "same":
			values[i] = 0.30000000000000004
		case "walk":
			values[i] = random.NormFloat64() + 100
			if i > 0 {
				values[i] = values[i-1] + random.NormFloat64()/10
			}
		case "no numbers":
			values[i] = []float64{math.Inf(1), math.Inf(-1), math.Float64frombits(value.StaleNaN), 0, 1e300, 12.5}[random.IntN(6)]
		}
	}
	return values
}

// TestRoundTrip: what is written is read back with the same bits, but for what is counted.
func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []string{"integers", "negative counters with restarts", "hundredths", "fractions", "any bits", "small bits", "same", "walk", "no numbers"} {
		t.Run(kind, func(t *testing.T) {
			const n = 20_000
			s := testSeries{labels.FromStrings("__name__", "m", "a", "x\x00y\x01z\x02", "b", "ü", "job", "some"), nil, valuesOf(kind, n, random)}
			for i := range s.values {
				s.times = append(s.times, 1_700_000_000_000+int64(i)*15_000+random.Int64N(3)*int64(i%2))
			}
			text, counts := encoded(t, s)
			got, blocks := decoded(t, text)
			if !labels.Equal(got.labels, s.labels) {
				t.Errorf("%v, want %v", got.labels, s.labels)
			}
			checkValues(t, s, got, counts)
			t.Logf("%d blocks, %d bytes, %+v", blocks, len(text), counts)
			if most := map[string]int64{"any bits": n / 20, "small bits": n, "fractions": n / 100}[kind]; counts.Rounded > most {
				t.Errorf("%d values are rounded", counts.Rounded)
			}
		})
	}
}

// checkValues compares what was read with what was written, and both with the counts.
func checkValues(t *testing.T, want, got testSeries, counts Counts) {
	t.Helper()
	var found Counts
	k := 0
	for i, v := range want.values {
		if math.IsNaN(v) && math.Float64bits(v) != value.StaleNaN {
			found.Left++
			continue
		}
		if k == len(got.times) || got.times[k] != want.times[i] {
			t.Fatalf("sample %d at %d is missing", i, want.times[i])
		}
		switch g := got.values[k]; {
		case math.Float64bits(g) == math.Float64bits(v):
			found.Exact++
		case math.Abs(g-v) <= math.Abs(v)*1e-15 || math.Abs(g-v) <= 1e-307:
			found.Rounded++
		default:
			t.Fatalf("sample %d: %v became %v", i, v, g)
		}
		k++
	}
	if found != counts || k != len(got.times) {
		t.Errorf("%d samples, %+v, want %+v", len(got.times), counts, found)
	}
}

// TestBlocks: numbers of samples at the bounds of blocks.
func TestBlocks(t *testing.T) {
	for _, n := range []int{0, 1, 2, 3, blockRows - 1, blockRows, blockRows + 1, 3 * blockRows} {
		s := testSeries{labels: labels.FromStrings("a", "b")}
		for i := range n {
			s.times, s.values = append(s.times, int64(i*i)), append(s.values, float64(i%7))
		}
		text, counts := encoded(t, s)
		got, blocks := decoded(t, text)
		if !slices.Equal(got.times, s.times) || !slices.Equal(got.values, s.values) || blocks != (n+blockRows-1)/blockRows || counts != (Counts{Exact: int64(n)}) {
			t.Errorf("%d samples: %d in %d blocks, %+v", n, len(got.times), blocks, counts)
		}
	}
}

// TestLongName: labels that no reader takes are an error.
func TestLongName(t *testing.T) {
	e, err := NewEncoder()
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Begin(labels.FromStrings("a", string(make([]byte, mostBytes/2+1)))); !errors.Is(err, errLongName) {
		t.Error(err)
	}
}

// FuzzEncoder: any values come back, or are counted.
func FuzzEncoder(f *testing.F) {
	f.Add([]byte("12345678"), []byte("abcdefgh"), uint8(3))
	f.Fuzz(func(t *testing.T, a, b []byte, every uint8) {
		s := testSeries{labels: labels.FromStrings("__name__", "m")}
		for i := range 300 {
			raw := fmt.Sprintf("%8.8s", a)
			if i%(int(every)+1) == 0 {
				raw = fmt.Sprintf("%8.8s", b)
			}
			var bits uint64
			for _, c := range []byte(raw) {
				bits = bits<<8 | uint64(c)
			}
			s.times, s.values = append(s.times, int64(i)), append(s.values, math.Float64frombits(bits+uint64(i)))
		}
		text, counts := encoded(t, s)
		got, _ := decoded(t, text)
		checkValues(t, s, got, counts)
	})
}

func BenchmarkEncoder(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, kind := range []string{"integers", "hundredths", "fractions", "walk"} {
		b.Run(kind, func(b *testing.B) {
			e, err := NewEncoder()
			if err != nil {
				b.Fatal(err)
			}
			values := valuesOf(kind, 8000, random)
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				_ = e.Begin(labels.FromStrings("__name__", "m"))
				dst = dst[:0]
				for i, v := range values {
					dst = e.Add(dst, int64(i)*15000, v)
				}
				dst = e.AppendRest(dst)
			}
			b.ReportMetric(float64(len(dst))/float64(len(values)), "B/sample")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(values)), "ns/sample")
		})
	}
}
