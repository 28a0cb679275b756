package write

import (
	"bytes"
	"encoding/binary"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// Empty labels count too: millions of them in a small message must not take gigabytes.
func TestWriteManyEmptyLabels(t *testing.T) {
	series := append(bytes.Repeat([]byte{0x0a, 0x00}, 8<<20), 0x12, 0x02, 0x10, 0x01)
	body := append(binary.AppendUvarint([]byte{0x0a}, uint64(len(series))), series...)
	var before, after runtime.MemStats
	d := newTestDoor(nil)
	runtime.ReadMemStats(&before)
	answer := describe(t, d.send(version1, body))
	runtime.ReadMemStats(&after)
	if !strings.Contains(answer, "400") || !strings.Contains(answer, "labels of more than") {
		t.Errorf("answer %s", answer)
	}
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 256<<20 {
		t.Errorf("%d MiB allocated for a message of %d MiB", grown>>20, len(body)>>20)
	}
}

// Prometheus' engine never returns from adding two histograms whose zero threshold is NaN, and
// Validate accepts them.
func TestNaNZeroThreshold(t *testing.T) {
	h := promtest.Fine(0)
	if err := histogramcodec.CheckInts(h); err != nil {
		t.Fatal(err)
	}
	h.ZeroThreshold = math.NaN()
	if err := histogramcodec.CheckInts(h); err == nil {
		t.Error("a histogram with a zero threshold of NaN is taken")
	}
}
