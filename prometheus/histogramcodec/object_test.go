package histogramcodec_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// sameBits compares floats by their bits: NaN payloads and the sign of zero count.
func sameBits() cmp.Option {
	return cmp.Comparer(func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

func TestHistogramRoundTrip(t *testing.T) {
	for name, h := range promtest.IntHistograms() {
		t.Run(name, func(t *testing.T) {
			got, float, err := histogramcodec.DecodeHistogram(histogramcodec.EncodeHistogram(h))
			if err != nil || float != nil {
				t.Fatalf("decodeHistogram: float %v, error %v", float, err)
			}
			if diff := cmp.Diff(h, got, sameBits()); diff != "" {
				t.Error(diff)
			}
		})
	}
	for name, h := range promtest.FloatHistograms() {
		t.Run("float "+name, func(t *testing.T) {
			ints, got, err := histogramcodec.DecodeHistogram(histogramcodec.EncodeFloatHistogram(h))
			if err != nil || ints != nil {
				t.Fatalf("decodeHistogram: int %v, error %v", ints, err)
			}
			if diff := cmp.Diff(h, got, sameBits()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Storage's data read with the generated types must have the same bytes.
func TestHistogramBytesAreThoseOfPrompb(t *testing.T) {
	for _, name := range []string{"exponential", "custom buckets", "stale", "gauge, narrow", "empty"} {
		p := prompb.FromIntHistogram(0, promtest.IntHistograms()[name])
		want, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got := histogramcodec.EncodeHistogram(promtest.IntHistograms()[name]); !bytes.Equal(got, want) {
			t.Errorf("%s: encodeHistogram = %x, want %x", name, got, want)
		}
	}
	for _, name := range []string{"exponential", "custom buckets", "stale", "empty"} {
		p := prompb.FromFloatHistogram(0, promtest.FloatHistograms()[name])
		want, err := p.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		if got := histogramcodec.EncodeFloatHistogram(promtest.FloatHistograms()[name]); !bytes.Equal(got, want) {
			t.Errorf("%s: encodeFloatHistogram = %x, want %x", name, got, want)
		}
	}
}

func TestDecodeHistogramRefusesWhatCannotBeComputedWith(t *testing.T) {
	for name, h := range map[string]*histogram.Histogram{
		"too few buckets":  {PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []int64{1}},
		"too many buckets": {NegativeBuckets: []int64{1}},
	} {
		if _, _, err := histogramcodec.DecodeHistogram(histogramcodec.EncodeHistogram(h)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, _, err := histogramcodec.DecodeHistogram([]byte{0x19, 0}); err == nil {
		t.Error("half a sum: no error")
	}
}

func FuzzDecodeHistogram(f *testing.F) {
	for _, h := range promtest.IntHistograms() {
		f.Add(histogramcodec.EncodeHistogram(h))
	}
	for _, h := range promtest.FloatHistograms() {
		f.Add(histogramcodec.EncodeFloatHistogram(h))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, fh, err := histogramcodec.DecodeHistogram(data)
		if err != nil {
			return
		}
		if (h == nil) == (fh == nil) {
			t.Fatalf("int %v, float %v: one of them must be there", h, fh)
		}
		encoded := encodeAny(h, fh)
		again, floatAgain, err := histogramcodec.DecodeHistogram(encoded)
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
		return histogramcodec.EncodeFloatHistogram(fh)
	}
	return histogramcodec.EncodeHistogram(h)
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
		got, err := histogramcodec.DecodeExemplar(histogramcodec.EncodeExemplar(want))
		if err != nil {
			t.Fatal(err)
		}
		if !labels.Equal(got.Labels, want.Labels) || math.Float64bits(got.Value) != math.Float64bits(v) || got.Ts != 0 || got.HasTs {
			t.Errorf("decodeExemplar(encodeExemplar(%v)) = %v", want, got)
		}
	})
}

func FuzzDecodeExemplar(f *testing.F) {
	f.Add(histogramcodec.EncodeExemplar(exemplar.Exemplar{Labels: labels.FromStrings("trace_id", "1", "span_id", "2"), Value: -1}))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := histogramcodec.DecodeExemplar(data)
		if err != nil {
			return
		}
		again, err := histogramcodec.DecodeExemplar(histogramcodec.EncodeExemplar(e))
		if err != nil || !labels.Equal(e.Labels, again.Labels) || math.Float64bits(e.Value) != math.Float64bits(again.Value) {
			t.Errorf("decodeExemplar(encodeExemplar(%v)) = %v, %v", e, again, err)
		}
	})
}

func TestStartTimeRoundTrip(t *testing.T) {
	for _, want := range []int64{0, 1, -1, 63, -64, -65, -15_000, math.MinInt64, math.MaxInt64} {
		if got, err := histogramcodec.DecodeStartTime(histogramcodec.AppendStartTime(nil, want)); err != nil || got != want {
			t.Errorf("decodeStartTime(encodeStartTime(%d)) = %d, %v", want, got, err)
		}
		for _, nanos := range []int{0, 1, 127, 128, 999_999} {
			data := histogramcodec.AppendSumStart(nil, want, nanos)
			got, gotNanos, known, err := histogramcodec.DecodeSumStart(data)
			if err != nil || got != want || gotNanos != nanos || !known {
				t.Errorf("DecodeSumStart(AppendSumStart(%d, %d)) = %d, %d, %v, %v", want, nanos, got, gotNanos, known, err)
			}
			if got, err := histogramcodec.DecodeStartTime(data); err != nil || got != want {
				t.Errorf("DecodeStartTime(AppendSumStart(%d, %d)) = %d, %v", want, nanos, got, err)
			}
		}
	}
	for _, data := range [][]byte{{}, {0x80}, {1, 0x80}, {1, 1, 1}, binary.AppendUvarint([]byte{1}, 1e6), binary.AppendUvarint([]byte{0xff}, math.MaxUint64)} {
		if got, err := histogramcodec.DecodeStartTime(data); err == nil {
			t.Errorf("decodeStartTime(%x) = %d, want an error", data, got)
		}
	}
}
