package query

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"testing"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

func queryResponse(v promql.Matrix) *v1.Response {
	return &v1.Response{Status: "success", Data: &v1.QueryData{ResultType: v.Type(), Result: v}}
}

func encode(t testing.TB, c *resultWriter, r *v1.Response) string {
	t.Helper()
	var b bytes.Buffer
	if err := c.write(r, func() io.Writer { return &b }, func(err error) { t.Fatal(err) }); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sameJSON compares our JSON of an answer with the module's.
func sameJSON(t testing.TB, r *v1.Response) {
	t.Helper()
	got := encode(t, newResultWriter(), r)
	want, err := v1.JSONCodec{}.Encode(r)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%.2000s\nthe module writes\n%.2000s", got, want)
	}
}

var oddFloats = []float64{
	0, math.Copysign(0, -1), 1, -1, 0.1, -0.1, 0.5, 1.5, 1234.56, 1234.567, 1234.5678, -0.001, 0.0005, 0.001, 1e-6, 9.99e-7, 1e-7, 1e15, 999999999999999,
	999999999999.999, 1e14 + 0.5, 123456789012345.6, 1e15 + 1, 1 << 53, 1<<53 + 2, 1e20, 1e21, -1e21, 1e22, math.MaxFloat64, math.SmallestNonzeroFloat64, math.NaN(),
	math.Inf(1), math.Inf(-1), 0.30000000000000004, 0.3, 2.675, 1.005, 4.35, 100.01, math.MaxInt64, math.MinInt64, math.Pi,
}

func TestQueryJSON(t *testing.T) {
	odd := labels.FromStrings("__name__", "m\"\\\n\r\t\x00\x1f\x7f<>&\u2028\xffé", "b", "")
	var long, short promql.Series
	long.Metric, short.Metric = odd, labels.FromStrings("a", "b")
	for i, f := range oddFloats {
		at := int64(i-5) * 7_003
		long.Floats = append(long.Floats, promql.FPoint{T: at, F: f}, promql.FPoint{T: at + 1, F: f})
		if i%3 == 0 {
			short.Floats = append(short.Floats, promql.FPoint{T: at + int64(i%2), F: f})
		}
	}
	var vector promql.Vector
	for i, f := range oddFloats {
		vector = append(vector, promql.Sample{Metric: labels.FromStrings("i", fmt.Sprint(i)), T: int64(i) * 500, F: f})
	}
	h := &histogram.FloatHistogram{Schema: 0, Count: 1, Sum: 2, ZeroCount: 1}
	ok := func(r v1.Response) *v1.Response {
		r.Status = "success"
		return &r
	}
	for name, r := range map[string]*v1.Response{
		"nothing":              queryResponse(nil),
		"empty series":         queryResponse(promql.Matrix{{}}),
		"odd":                  queryResponse(promql.Matrix{short, long, short, {Metric: odd}}),
		"histogram":            queryResponse(promql.Matrix{long, {Metric: odd, Histograms: []promql.HPoint{{T: 1, H: h}}}}),
		"vector":               ok(v1.Response{Data: &v1.QueryData{ResultType: "vector", Result: vector}}),
		"empty vector":         ok(v1.Response{Data: &v1.QueryData{ResultType: "vector", Result: promql.Vector(nil)}}),
		"vector of histograms": ok(v1.Response{Data: &v1.QueryData{ResultType: "vector", Result: promql.Vector{{H: h, T: 1}}}}),
		"scalar":               ok(v1.Response{Data: &v1.QueryData{ResultType: "scalar", Result: promql.Scalar{T: 1, V: 2}}}),
		"string":               ok(v1.Response{Data: &v1.QueryData{ResultType: "string", Result: promql.String{T: 1, V: "<&>\xff"}}}),
		"notes": ok(v1.Response{
			Data: &v1.QueryData{ResultType: "vector", Result: vector}, Warnings: []string{"<a>\"", "b\xff"}, Infos: []string{"c"},
		}),
		"labels": ok(v1.Response{Data: []string{"a", "b"}}),
		"error":  {Status: "error", ErrorType: "bad_data", Error: "no"},
	} {
		t.Run(name, func(t *testing.T) { sameJSON(t, r) })
	}
}

// manySeries returns an answer that is written in several parts.
func manySeries(series, points int) promql.Matrix {
	m := make(promql.Matrix, series)
	for i := range m {
		m[i].Metric = labels.FromStrings("__name__", "node_cpu_seconds_total", "cpu", fmt.Sprint(i%4), "instance", fmt.Sprintf("host-%d:9100", i))
		for j := range points {
			f := float64(i * j)
			switch i % 3 {
			case 1:
				f /= 100
			case 2:
				f = float64(i)
			}
			m[i].Floats = append(m[i].Floats, promql.FPoint{T: 1_763_700_000_000 + int64(j)*15_000, F: f})
		}
	}
	return m
}

func TestQueryJSONParts(t *testing.T) {
	for _, n := range []int{1, 2, 3, 100} {
		sameJSON(t, queryResponse(manySeries(n, partPoints)))
	}
}

// The times of an answer are those of the one before, later ones, others, or many.
func TestQueryJSONTimesAgain(t *testing.T) {
	var p jsonPart
	reused := 0
	for i, g := range []struct{ start, step, points int64 }{
		{0, 60_000, 5},
		{0, 60_000, 5},
		{60_000, 60_000, 5},
		{60_000, 15_000, 9},
		{75_000, 15_000, 9},
		{75_000, 30_000, 3},
		{75_500, 30_000, 1},
		{75_500, 30_000, 3},
		{-90_000, 30_000, 9},
		{0, 30_000, 3000},
		{30_000, 30_000, 3000},
		{60_000, 30_000, 6000},
	} {
		m := promql.Matrix{{Metric: labels.FromStrings("a", "b")}, {Metric: labels.FromStrings("a", "c")}}
		for n := range g.points {
			at := g.start + n*g.step
			m[0].Floats = append(m[0].Floats, promql.FPoint{T: at, F: float64(n)})
			if n%3 == 0 {
				m[1].Floats = append(m[1].Floats, promql.FPoint{T: at, F: float64(n)})
			}
		}
		known := len(p.digit)
		p.reset()
		p.write(matrixItems(m), 0, len(m))
		if known > 0 && len(p.digit) >= known && len(p.digit) < 2*maxKeptTimes {
			reused++
		}
		var fresh jsonPart
		fresh.write(matrixItems(m), 0, len(m))
		if got, want := string(p.text), string(fresh.text); got != want {
			t.Errorf("answer %d:\n%.2000s\nalone it is\n%.2000s", i, got, want)
		}
		sameJSON(t, queryResponse(m))
	}
	if reused == 0 {
		t.Error("no times were used again")
	}
}

// FuzzQueryJSON makes floats, times and labels from bytes.
func FuzzQueryJSON(f *testing.F) {
	for _, v := range oddFloats {
		f.Add(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)), int64(1000), "a")
	}
	f.Add([]byte("12345678abcdefgh12345678"), int64(-1), "\x00\xff\"")
	f.Fuzz(func(t *testing.T, data []byte, step int64, label string) {
		if label == "" {
			label = "x"
		}
		step %= 1 << 40
		s := promql.Series{Metric: labels.FromStrings(label, label)}
		for at := int64(0); len(data) >= 8; data = data[8:] {
			bits := binary.LittleEndian.Uint64(data)
			s.Floats = append(s.Floats,
				promql.FPoint{T: at, F: math.Float64frombits(bits)},
				promql.FPoint{T: at, F: float64(int64(bits)>>20) / 100},
				promql.FPoint{T: at, F: float64(int64(bits)>>11) / 1000})
			at += step
		}
		sameJSON(t, queryResponse(promql.Matrix{s, s}))
	})
}

func BenchmarkQueryJSON(b *testing.B) {
	r := queryResponse(manySeries(1000, 240))
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		for c := newResultWriter(); b.Loop(); {
			if err := c.write(r, func() io.Writer { return io.Discard }, func(err error) { b.Fatal(err) }); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("module", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := (v1.JSONCodec{}).Encode(r); err != nil {
				b.Fatal(err)
			}
		}
	})
}
