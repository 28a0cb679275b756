package adapter

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

// sameBits compares floats by their bits: NaN payloads and the sign of zero count.
func sameBits() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

func intHistograms() map[string]*histogram.Histogram {
	return map[string]*histogram.Histogram{
		"empty": {},
		"exponential": {
			CounterResetHint: histogram.NotCounterReset, Schema: 3, ZeroThreshold: 1e-128, ZeroCount: 2, Count: 19, Sum: 18.4,
			PositiveSpans: []histogram.Span{{Offset: -3, Length: 2}, {Offset: 1, Length: 2}}, PositiveBuckets: []int64{1, 1, -1, 0},
			NegativeSpans: []histogram.Span{{Offset: 5, Length: 3}}, NegativeBuckets: []int64{6, -3, 0},
		},
		"custom buckets": {
			Schema: histogram.CustomBucketsSchema, Count: 5, Sum: -7,
			PositiveSpans: []histogram.Span{{Length: 2}, {Offset: 1, Length: 1}}, PositiveBuckets: []int64{2, -1, 1},
			CustomValues: []float64{0.25, 1, 5},
		},
		"stale":         {Sum: math.Float64frombits(value.StaleNaN)},
		"sum of -0":     {Sum: math.Copysign(0, -1), ZeroThreshold: math.Copysign(0, -1)},
		"gauge, narrow": {CounterResetHint: histogram.GaugeType, Schema: -4, Count: math.MaxUint64, ZeroCount: math.MaxUint64},
		"empty span":    {PositiveSpans: []histogram.Span{{Offset: math.MinInt32}, {Offset: math.MaxInt32}}},
	}
}

func floatHistograms() map[string]*histogram.FloatHistogram {
	return map[string]*histogram.FloatHistogram{
		"empty": {},
		"exponential": {
			CounterResetHint: histogram.CounterReset, Schema: 8, ZeroThreshold: 0.001, ZeroCount: 0.5, Count: 4.25, Sum: math.Inf(1),
			PositiveSpans: []histogram.Span{{Offset: 7, Length: 2}}, PositiveBuckets: []float64{1.5, 2.25},
			NegativeSpans: []histogram.Span{{Length: 1}}, NegativeBuckets: []float64{0},
		},
		"custom buckets": {
			Schema: histogram.CustomBucketsSchema, Count: 3, PositiveSpans: []histogram.Span{{Length: 1}},
			PositiveBuckets: []float64{3}, CustomValues: []float64{math.Inf(-1), 0},
		},
		"stale":  {Sum: math.Float64frombits(value.StaleNaN)},
		"zeroes": {Count: math.Copysign(0, -1), ZeroCount: math.Copysign(0, -1), PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []float64{math.Copysign(0, -1)}},
	}
}

func TestHistogramRoundTrip(t *testing.T) {
	for name, h := range intHistograms() {
		t.Run(name, func(t *testing.T) {
			got, float, err := decodeHistogram(encodeHistogram(h))
			if err != nil || float != nil {
				t.Fatalf("decodeHistogram: float %v, error %v", float, err)
			}
			if diff := cmp.Diff(h, got, sameBits()); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, h := range floatHistograms() {
		t.Run("float "+name, func(t *testing.T) {
			ints, got, err := decodeHistogram(encodeFloatHistogram(h))
			if err != nil || ints != nil {
				t.Fatalf("decodeHistogram: int %v, error %v", ints, err)
			}
			if diff := cmp.Diff(h, got, sameBits()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Whatever reads storage's data with the generated types must find the same bytes there.
func TestHistogramBytesAreThoseOfPrompb(t *testing.T) {
	for _, name := range []string{"exponential", "custom buckets", "stale", "gauge, narrow", "empty"} {
		p := prompb.FromIntHistogram(0, intHistograms()[name])
		want, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got := encodeHistogram(intHistograms()[name]); !bytes.Equal(got, want) {
			t.Errorf("%s: encodeHistogram = %x, want %x", name, got, want)
		}
	}
	for _, name := range []string{"exponential", "custom buckets", "stale", "empty"} {
		p := prompb.FromFloatHistogram(0, floatHistograms()[name])
		want, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got := encodeFloatHistogram(floatHistograms()[name]); !bytes.Equal(got, want) {
			t.Errorf("%s: encodeFloatHistogram = %x, want %x", name, got, want)
		}
	}
}

func TestDecodeHistogramRefusesWhatCannotBeComputedWith(t *testing.T) {
	for name, h := range map[string]*histogram.Histogram{
		"too few buckets":  {PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []int64{1}},
		"too many buckets": {NegativeBuckets: []int64{1}},
	} {
		if _, _, err := decodeHistogram(encodeHistogram(h)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := decodeHistogram([]byte{0x19, 0}); err == nil {
		t.Error("half a sum: no error")
	}
}

func FuzzDecodeHistogram(f *testing.F) {
	for _, h := range intHistograms() {
		f.Add(encodeHistogram(h))
	}
	for _, h := range floatHistograms() {
		f.Add(encodeFloatHistogram(h))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, fh, err := decodeHistogram(data)
		if err != nil {
			return
		}
		if (h == nil) == (fh == nil) {
			t.Fatalf("int %v, float %v: one of them must be there", h, fh)
		}
		encoded := encodeAny(h, fh)
		again, floatAgain, err := decodeHistogram(encoded)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, again, sameBits()) + cmp.Diff(fh, floatAgain, sameBits()); diff != "" {
			t.Error(diff)
		}
		if twice := encodeAny(again, floatAgain); !bytes.Equal(encoded, twice) {
			t.Errorf("encoded %x, then %x", encoded, twice)
		}
	})
}

func encodeAny(h *histogram.Histogram, fh *histogram.FloatHistogram) []byte {
	if fh != nil {
		return encodeFloatHistogram(fh)
	}
	return encodeHistogram(h)
}

func FuzzExemplar(f *testing.F) {
	f.Add("trace_id", "4bf92f3577b34da6", "", "", 0.25)
	f.Add("", "", "", "", math.Copysign(0, -1))
	f.Add("a", "", "b", "\xff", math.NaN())
	f.Fuzz(func(t *testing.T, name1, value1, name2, value2 string, v float64) {
		b := labels.NewScratchBuilder(2)
		b.Add(name1, value1)
		b.Add(name2, value2)
		b.Sort()
		want := exemplar.Exemplar{Labels: b.Labels(), Value: v}
		got, err := decodeExemplar(encodeExemplar(want))
		if err != nil {
			t.Fatal(err)
		}
		if !labels.Equal(got.Labels, want.Labels) || math.Float64bits(got.Value) != math.Float64bits(v) || got.Ts != 0 || got.HasTs {
			t.Errorf("decodeExemplar(encodeExemplar(%v)) = %v", want, got)
		}
	})
}

func FuzzDecodeExemplar(f *testing.F) {
	f.Add(encodeExemplar(exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "1", "span_id", "2"), Value: -1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := decodeExemplar(data)
		if err != nil {
			return
		}
		again, err := decodeExemplar(encodeExemplar(e))
		if err != nil || !labels.Equal(e.Labels, again.Labels) || math.Float64bits(e.Value) != math.Float64bits(again.Value) {
			t.Errorf("decodeExemplar(encodeExemplar(%v)) = %v, %v", e, again, err)
		}
	})
}

func TestStartTimeRoundTrip(t *testing.T) {
	for _, want := range []int64{0, 1, -1, 63, -64, -65, -15_000, math.MinInt64, math.MaxInt64} {
		if got, err := decodeStartTime(encodeStartTime(want)); err != nil || got != want {
			t.Errorf("decodeStartTime(encodeStartTime(%d)) = %d, %v", want, got, err)
		}
	}
	for _, data := range [][]byte{{}, {0x80}, {1, 1}, binary.AppendUvarint([]byte{0xff}, math.MaxUint64)} {
		if got, err := decodeStartTime(data); err == nil {
			t.Errorf("decodeStartTime(%x) = %d, want an error", data, got)
		}
	}
}
