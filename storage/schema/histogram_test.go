package schema

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// TestHistograms runs the data file about histograms. The cells are those of a real TSD 2.4.1.
//
//	decode  value of a cell -> the histogram; if encoding it again gives other bytes, those
//	cell    milliseconds, and "ms" if they were given -> base time and qualifier
func TestHistograms(t *testing.T) {
	datadriven.RunTest(t, "testdata/histograms", func(t *testing.T, d *datadriven.TestData) string {
		switch d.Cmd {
		case "decode":
			value, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(d.Input), " ", ""))
			if err != nil {
				t.Fatal(err)
			}
			return describeHistogram(value)
		case "cell":
			var at int64
			if _, err := fmt.Sscan(d.Input, &at); err != nil {
				t.Fatal(err)
			}
			base, qualifier := HistogramCell(at, strings.HasSuffix(strings.TrimSpace(d.Input), "ms"))
			offset, ok := ForeignOffset(qualifier)
			if !ok || ClassifyCell(qualifier) != CellHistogram || Time(base, offset) != at {
				t.Errorf("%d is read as %d, %v", at, Time(base, offset), ok)
			}
			return fmt.Sprintf("%d %X", base, qualifier)
		}
		d.Fatalf(t, "unknown command")
		return ""
	})
}

func describeHistogram(value []byte) string {
	const codec = 0
	h, err := ParseStoredHistogram(value, codec)
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	var out strings.Builder
	for _, b := range h.Buckets {
		fmt.Fprintf(&out, "%v to %v: %d\n", b.Lower, b.Upper, b.Count)
	}
	fmt.Fprintf(&out, "under %d, over %d\n", h.Underflow, h.Overflow)
	if again := h.AppendTo([]byte{codec}); !bytes.Equal(again, value) {
		fmt.Fprintf(&out, "we would write %X\n", again)
	}
	return out.String()
}

// randomFloat returns any bits, mostly those of usual bounds.
func randomFloat32(r *rand.Rand) float32 {
	if r.IntN(3) == 0 {
		return math.Float32frombits(r.Uint32())
	}
	return float32(r.IntN(20)-5) / 4
}

// TestHistogramsSurvive encodes and decodes random histograms.
func TestHistogramsSurvive(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	count := func() int64 { return int64(r.Uint64()) >> r.IntN(64) }
	for range 3000 {
		h := SimpleHistogram{Underflow: count(), Overflow: count()}
		last := map[[2]uint32]int64{}
		for range r.IntN(12) {
			b := HistogramBucket{Lower: randomFloat32(r), Upper: randomFloat32(r), Count: count()}
			h.Buckets = append(h.Buckets, b)
			last[[2]uint32{math.Float32bits(canonical(b.Lower)), math.Float32bits(canonical(b.Upper))}] = b.Count
		}
		h.Normalize()
		if !slices.IsSortedFunc(h.Buckets, HistogramBucket.Compare) || len(h.Buckets) != len(last) {
			t.Fatalf("%d buckets, want %d in order: %v", len(h.Buckets), len(last), h.Buckets)
		}
		for _, b := range h.Buckets {
			if want := last[[2]uint32{math.Float32bits(b.Lower), math.Float32bits(b.Upper)}]; b.Count != want {
				t.Fatalf("count %d, want %d, the last one", b.Count, want)
			}
		}
		encoded := h.AppendTo(nil)
		got, err := parseHistogram(encoded)
		if err != nil || !bytes.Equal(got.AppendTo(nil), encoded) || got.Underflow != h.Underflow || got.Overflow != h.Overflow {
			t.Fatalf("%X: %+v, %v, want %+v", encoded, got, err, h)
		}
		for n := range encoded {
			if _, err := parseHistogram(encoded[:n]); err == nil {
				t.Fatalf("the first %d bytes of %X are a histogram", n, encoded)
			}
		}
	}
}

// FuzzParseSimpleHistogram: what can be read stays the same when it is written and read again.
func FuzzParseSimpleHistogram(f *testing.F) {
	for _, seed := range []string{"00020000 00003FE000000C3FE0000040600000100001", "FFFF00000000", "7FFF00000000"} {
		value, err := hex.DecodeString(strings.ReplaceAll(seed, " ", ""))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value []byte) {
		h, err := ParseSimpleHistogram(value)
		if err != nil {
			return
		}
		encoded := h.AppendTo(nil)
		again, err := parseHistogram(encoded)
		if err != nil || !bytes.Equal(again.AppendTo(nil), encoded) {
			t.Errorf("%X is %+v, again %X: %v", value, h, encoded, err)
		}
	})
}
