package own

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/schema"
)

// WindowAggregation is the id of the cells of Windows, beside those of a TSD's aggregations. No TSD asks for
// it, and a configuration with rules that fill may not use it.
const WindowAggregation = 82

// IsWindow reports whether a cell of a rollup table is a window.
func IsWindow(qualifier []byte) bool { return len(qualifier) == 3 && qualifier[0] == WindowAggregation }

// windowBytes is the length of the value of a cell without its count.
const windowBytes = 1 + 3*8

// The first byte of a cell's value.
const (
	windowOfFloats     = 0
	windowOfHistograms = 1
)

// AppendWindow appends the value of a window's cell: a byte that tells what the samples are, and of floats
// the least, the greatest and the sum, each as the bits of a float (big-endian), and the count as a varint.
func AppendWindow(buf []byte, w *storage.WindowValues) []byte {
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
func ParseWindow(value []byte) (w storage.WindowValues, err error) {
	switch {
	case len(value) == 1 && value[0] == windowOfHistograms:
		return storage.WindowValues{Histograms: true}, nil
	case len(value) > windowBytes && value[0] == windowOfFloats:
		if count, n := binary.Uvarint(value[windowBytes:]); n == len(value)-windowBytes && count > 0 {
			return storage.WindowValues{Count: count, Min: float(value[1:]), Max: float(value[9:]), Sum: float(value[17:])}, nil
		}
	}
	return storage.WindowValues{}, fmt.Errorf("window cell of %d bytes (%X): not a value", len(value), schema.Clip(value))
}

func float(b []byte) float64 { return math.Float64frombits(binary.BigEndian.Uint64(b)) }
