package otlp

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// nest returns messages around b, from the inside out.
func nest(b []byte, fields ...int) []byte {
	for _, f := range fields {
		b = appendMessage(nil, f, b)
	}
	return b
}

// pointOf returns a request with one data point of a kind.
func pointOf(kind int, fields []byte) []byte {
	metric := appendMessage(appendMessage(nil, 1, []byte("m")), kind, appendMessage([]byte{2 << 3, temporalityCumulative}, 1, fields))
	return nest(metric, 2, 2, 1)
}

// hostileSize is the size of a hostile request, in bytes.
const hostileSize = 8 << 20

// TestHostile sends requests that were made to take much memory or time. A request may take so many
// times its size in memory, and a few seconds even on a loaded machine.
func TestHostile(t *testing.T) {
	at := wire.AppendDoubleAlways(nil, 3, 0) // 1970
	fill := func(piece []byte) []byte { return bytes.Repeat(piece, hostileSize/len(piece)) }
	repeated := func(kind int, piece []byte) []byte { return pointOf(kind, append(bytes.Clone(at), fill(piece)...)) }
	fixed := binary.LittleEndian.AppendUint64([]byte{6<<3 | 1}, 1)
	long := appendMessage(nil, 1, appendMessage(nil, 1, bytes.Repeat([]byte("x"), hostileSize/2)))
	wide := appendMessage(appendMessage(bytes.Clone(at), 6, make([]byte, hostileSize/4)), 7, make([]byte, hostileSize/4))
	points := func(kind int, fields []byte) []byte {
		metric := appendMessage(appendMessage(nil, 1, []byte("m")), kind, append([]byte{2 << 3, temporalityCumulative}, fill(nest(fields, 1))...))
		return nest(metric, 2, 2, 1)
	}
	const below = 1<<20 - 128 // of the largest data point
	buckets := appendMessage(appendMessage(bytes.Clone(at), 6, make([]byte, below/4)), 7, make([]byte, below/4))
	for _, tc := range []struct {
		name string
		body []byte
	}{
		{"points of empty exemplars", points(kindGauge, append(bytes.Clone(at), bytes.Repeat(nest(nil, 5), below/2)...))},
		{"points of some empty exemplars", points(kindGauge, append(bytes.Clone(at), bytes.Repeat(nest(nil, 5), maxExemplars)...))},
		{"points of exponential buckets", points(kindExponential, append(bytes.Clone(at), nest(bytes.Repeat([]byte{1}, below), 2, 8)...))},
		{"points of buckets with a long attribute", points(kindHistogram, append(bytes.Clone(buckets), nest(nest(make([]byte, below/2), 1), 9)...))},
		{"empty resources", fill(nest(nil, 1))},
		{"empty scopes", nest(fill(nest(nil, 2)), 1)},
		{"empty metrics", nest(fill(nest(nil, 2)), 2, 1)},
		{"empty points", nest(fill(nest(nil, 1)), kindGauge, 2, 2, 1)},
		{"a resource in pieces", nest(fill(nest(nil, 1)), 1)},
		{"a resource in pieces of one attribute", nest(fill(nest(nest(nest([]byte("x"), 1), 1), 1)), 1)},
		{"a scope in pieces", nest(fill(nest([]byte{0x10, 1}, 1)), 2, 1)},
		{"a long resource with many scopes", nest(append(bytes.Clone(long), bytes.Repeat(nest(nil, 2), hostileSize/4)...), 1)},
		{"counts that are not packed", repeated(kindHistogram, fixed)},
		{"empty exemplars", repeated(kindGauge, nest(nil, 5))},
		{"empty quantiles", repeated(kindSummary, nest(nil, 6))},
		{"empty attributes", repeated(kindGauge, nest(nil, 7))},
		{"a long attribute of many buckets", pointOf(kindHistogram, append(bytes.Clone(wide), nest(nest(make([]byte, hostileSize/2), 1), 9)...))},
		{"many buckets", pointOf(kindHistogram, wide)},
		{"many exponential buckets", pointOf(kindExponential, append(bytes.Clone(at), nest(bytes.Repeat([]byte{1}, hostileSize), 2, 8)...))},
		{"unknown fields", fill([]byte{15 << 3, 1})},
		{"deep values", repeated(kindGauge, nest(nest(nil, bytesOf(5, 1, 40)...), 2, 7))},
	} {
		t.Run(tc.name, func(t *testing.T) { sendHostile(t, "application/x-protobuf", tc.body) })
	}
	for _, tc := range []struct{ name, before, piece, after string }{
		{"empty resources", `{"resourceMetrics":[`, `{},`, `{}]}`},
		{"empty points", `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","gauge":{"dataPoints":[`, `{},`, `{}]}}]}]}]}`},
		{"counts", `{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"m","histogram":{"dataPoints":[{"bucketCounts":[`, `1,`, `1]}]}}]}]}]}`},
		{"unknown fields", `{"a":[`, `[],`, `[]]}`},
	} {
		t.Run("JSON of "+tc.name, func(t *testing.T) {
			body := tc.before + strings.Repeat(tc.piece, hostileSize/len(tc.piece)) + tc.after
			sendHostile(t, "application/json", []byte(body))
		})
	}
}

// bytesOf returns pairs of fields.
func bytesOf(a, b, n int) (fields []int) {
	for range n {
		fields = append(fields, b, a)
	}
	return fields
}

// sendHostile sends a body with gzip, and checks what it cost.
func sendHostile(t *testing.T, contentType string, body []byte) {
	t.Helper()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	d := newDoor(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	status, text := post(t, d, contentType, packed.Bytes(), "Content-Encoding", "gzip")
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("%d bytes as %d: %d in %v, %d MiB allocated: %.150q", len(body), packed.Len(), status, took, allocated>>20, text)
	if status == http.StatusServiceUnavailable {
		t.Errorf("the sender is asked to send it again: %s", text)
	}
	const times = 100
	if allocated > uint64(times*len(body)) {
		t.Errorf("%d bytes allocated for %d", allocated, len(body))
	}
	if took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if held := d.intake.Gate().Bytes(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}
