package own

import (
	"bytes"
	"math"
	"testing"

	"github.com/tsdbridge/tsdbridge/storage"
)

// foldWindow is PromQL's definition.
func foldWindow(values []float64) (w storage.WindowValues) {
	for i, v := range values {
		if i == 0 || v < w.Min || math.IsNaN(w.Min) {
			w.Min = v
		}
		if i == 0 || v > w.Max || math.IsNaN(w.Max) {
			w.Max = v
		}
		w.Count++
	}
	return w
}

func FuzzWindow(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6}, 2, []byte{1})
	f.Fuzz(func(t *testing.T, which []byte, cut int, value []byte) {
		pool := []float64{0, math.Copysign(0, -1), 1, -2.5, math.NaN(), math.Inf(1), math.Inf(-1), math.Float64frombits(0x7ff8000000000007)}
		values := make([]float64, len(which))
		for i, b := range which {
			values[i] = pool[int(b)%len(pool)]
		}
		cut = min(max(cut, 0), len(values))
		var first, second storage.WindowValues
		for i, v := range values {
			if i < cut {
				first.Add(v)
			} else {
				second.Add(v)
			}
		}
		if second.Count > 0 {
			first.Join(&second)
		}
		want := foldWindow(values)
		bits := math.Float64bits
		if first.Count != want.Count || bits(first.Min) != bits(want.Min) || bits(first.Max) != bits(want.Max) {
			t.Fatalf("%v cut at %d: %+v, want %+v", values, cut, first, want)
		}
		if first.Count > 0 {
			again, err := ParseWindow(AppendWindow(nil, &first))
			if err != nil || again.Count != first.Count || bits(again.Min) != bits(first.Min) || bits(again.Max) != bits(first.Max) || bits(again.Sum) != bits(first.Sum) {
				t.Fatalf("%+v comes back as %+v, %v", first, again, err)
			}
		}
		if w, err := ParseWindow(value); err == nil && len(value) < 27 && !bytes.Equal(AppendWindow(nil, &w), value) {
			t.Fatalf("%X comes back as %X", value, AppendWindow(nil, &w))
		}
	})
}

func TestWindowOfHistograms(t *testing.T) {
	w := storage.WindowValues{Histograms: true}
	again, err := ParseWindow(AppendWindow(nil, &w))
	if err != nil || again != w {
		t.Fatalf("%+v, %v", again, err)
	}
	floats := storage.WindowValues{}
	floats.Add(1)
	if floats.Join(&w); floats != w {
		t.Errorf("floats and histograms are %+v", floats)
	}
	if w.Join(&again); !w.Histograms {
		t.Error("histograms are lost")
	}
}
