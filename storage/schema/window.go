package schema

import (
	"encoding/binary"
	"fmt"
	"math"
)

// WindowAggregation is the id of the cells of Windows, beside those of a TSD's aggregations. No TSD asks for
// it, and a configuration with rules that fill may not use it.
const WindowAggregation = 82

// A Window is what PromQL's functions need of the samples of one series in an interval: those after its
// begin and not after its end. A TSD's values of the same interval have the sample at the begin instead of that at
// the end, and neither NaN nor infinities. Stale markers are no samples.
type Window struct {
	// Histograms means that some samples are histograms; the other fields are 0.
	Histograms bool
	Count      uint64 // at least 1
	// Min and Max are those of PromQL: NaN only if all values are, and the first one of 0 and -0.
	Min, Max, Sum float64
}

// IsEmpty reports whether there are no samples.
func (w *Window) IsEmpty() bool { return w.Count == 0 && !w.Histograms }

// IsWindow reports whether a cell of a rollup table is a window.
func IsWindow(qualifier []byte) bool { return len(qualifier) == 3 && qualifier[0] == WindowAggregation }

// windowBytes is the length of the value of a cell without its count.
const windowBytes = 1 + 3*8

// Add adds a sample that is later than all others.
func (w *Window) Add(v float64) { w.Join(&Window{Count: 1, Min: v, Max: v, Sum: v}) }

// Join adds the samples of a window that comes after this one.
func (w *Window) Join(next *Window) {
	switch {
	case next.Histograms || w.Histograms:
		*w = Window{Histograms: true}
		return
	case w.Count == 0:
		*w = *next
		return
	}
	if next.Min < w.Min || math.IsNaN(w.Min) {
		w.Min = next.Min
	}
	if next.Max > w.Max || math.IsNaN(w.Max) {
		w.Max = next.Max
	}
	w.Sum += next.Sum
	w.Count += next.Count
}

// The first byte of a cell's value.
const (
	windowOfFloats     = 0
	windowOfHistograms = 1
)

// AppendValue appends the value of the window's cell: a byte that tells what the samples are, and of floats
// the least, the greatest and the sum, each as the bits of a float (big-endian), and the count as a varint.
func (w *Window) AppendValue(buf []byte) []byte {
	if w.Histograms {
		return append(buf, windowOfHistograms)
	}
	buf = append(buf, windowOfFloats)
	for _, v := range []float64{w.Min, w.Max, w.Sum} {
		buf = binary.BigEndian.AppendUint64(buf, math.Float64bits(v))
	}
	return binary.AppendUvarint(buf, w.Count)
}

// ParseWindow reads the value of a cell.
func ParseWindow(value []byte) (w Window, err error) {
	switch {
	case len(value) == 1 && value[0] == windowOfHistograms:
		return Window{Histograms: true}, nil
	case len(value) > windowBytes && value[0] == windowOfFloats:
		if count, n := binary.Uvarint(value[windowBytes:]); n == len(value)-windowBytes && count > 0 {
			return Window{Count: count, Min: float(value[1:]), Max: float(value[9:]), Sum: float(value[17:])}, nil
		}
	}
	return Window{}, fmt.Errorf("window cell of %d bytes (%X): not a value", len(value), clip(value))
}

func float(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
