package write

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/translate"
)

// hostileSize is the size of a hostile request, in bytes.
const hostileSize = 8 << 20

// field returns a field that holds pieces.
func field(number int, pieces ...[]byte) []byte {
	m := bytes.Join(pieces, nil)
	return append(binary.AppendUvarint(wire.AppendTag(nil, number, wire.Bytes), uint64(len(m))), m...)
}

// times returns so many different pieces that they have so many bytes.
func times(size int, piece func(n int) []byte) (b []byte) {
	for n := 0; len(b) < size; n++ {
		b = append(b, piece(n)...)
	}
	return b
}

func same(piece []byte) []byte { return bytes.Repeat(piece, hostileSize/len(piece)) }

// hostile is a body that was made to cost much.
type hostile struct {
	name    string
	version version
	body    []byte
}

func hostiles() []hostile {
	label := func(name, value string) []byte {
		return field(1, field(1, []byte(name)), field(2, []byte(value)))
	}
	named := label("__name__", "m")
	sample := []byte{0x12, 0x02, 0x10, 0x01} // at 1 ms; the same in both versions
	unknown := wire.AppendUint(nil, 15, 1)
	long := bytes.Repeat([]byte("x"), 1<<20)
	symbols := func(all ...string) (b []byte) {
		for _, s := range all {
			b = append(b, field(4, []byte(s))...)
		}
		return b
	}
	nameRefs := field(1, []byte{1, 2})
	v2 := func(pieces ...[]byte) []byte {
		return bytes.Join(append([][]byte{symbols("", "__name__", "m", "a", "b", string(long), string(long[1:]))}, pieces...), nil)
	}
	exemplar := field(4, field(1, []byte{3, 5}), []byte{3 << 3, 1})
	return []hostile{
		{"empty series", version1, same(field(1))},
		{"series of a name", version1, same(field(1, named, sample))},
		{"series of an empty label", version1, same(field(1, field(1), sample))},
		{"new series", version1, times(hostileSize/4, func(n int) []byte { return field(1, named, label("n", fmt.Sprint(n)), sample) })},
		{"a series of samples", version1, field(1, named, same(sample))},
		{"a series of empty samples", version1, field(1, named, same(field(2)))},
		{"a series of empty exemplars", version1, field(1, named, same(field(3)))},
		{"a series of exemplars with a label", version1, field(1, named, same(field(3, field(1, field(1, []byte("a"))))))},
		{"a series of empty histograms", version1, field(1, named, same(field(4)))},
		{"histograms of empty spans", version1, field(1, named, same(field(4, bytes.Repeat(field(11), 9999))))},
		{"histograms of buckets", version1, field(1, named, same(field(4, field(12, bytes.Repeat([]byte{1}, 9999)))))},
		{"histograms of buckets that are not packed", version1, field(1, named, same(field(4, bytes.Repeat(wire.AppendUint(nil, 12, 1), 9999))))},
		{"empty metadata", version1, same(field(3))},
		{"metadata", version1, times(hostileSize, func(n int) []byte { return field(3, field(2, fmt.Append(nil, n))) })},
		{"labels of a byte", version1, same(field(1, named, bytes.Repeat(label("a", "b"), 1000), sample))},
		{"a series of many labels", version1, field(1, append(named, labelsOf(90_000)...), sample)},
		{"labels between samples", version1, field(1, same(append(field(1), sample...)))},
		{"unknown fields", version1, same(unknown)},
		{"symbols", version2, same(field(4))},
		{"references", version2, v2(field(5, field(1, same([]byte{3}))))},
		{"references in pieces", version2, v2(field(5, same([]byte{8, 3})))},
		{"series", version2, v2(same(field(5)))},
		{"series of one name", version2, v2(same(field(5, nameRefs, sample)))},
		{"series of long labels", version2, v2(same(field(5, field(1, []byte{1, 2, 3, 5}), sample)))},
		{"series of long metadata", version2, v2(same(field(5, nameRefs, sample, field(5, []byte{3 << 3, 5}))))},
		{"new series of long metadata", version2, longMetadata(long)},
		{"exemplars of long labels", version2, v2(field(5, nameRefs, sample, bytes.Repeat(exemplar, 500_000)))},
		{"empty exemplars", version2, v2(field(5, nameRefs, same(field(4))))},
		{"empty histograms", version2, v2(field(5, nameRefs, same(field(3))))},
		{"samples", version2, v2(field(5, nameRefs, same(sample)))},
		{"samples with starts", version2, v2(field(5, nameRefs, same(field(2, []byte{2 << 3, 2, 3 << 3, 1}))))},
	}
}

func labelsOf(n int) (b []byte) {
	for i := range n {
		b = append(b, field(1, field(1, fmt.Appendf(nil, "n%d", i)), field(2, []byte("b")))...)
	}
	return b
}

// longMetadata has a series of a name of its own for each long text of help.
func longMetadata(long []byte) (b []byte) {
	const families = 5000
	b = append(field(4), field(4, []byte("__name__"))...)
	b = append(b, field(4, long)...)
	for n := range families {
		b = append(b, field(4, fmt.Appendf(nil, "m%d", n))...)
	}
	for n := range families {
		refs := binary.AppendUvarint([]byte{1}, uint64(3+n))
		b = append(b, field(5, field(1, refs), []byte{0x12, 0x02, 0x10, 0x01}, field(5, []byte{3 << 3, 2}))...)
	}
	return b
}

// TestHostile sends requests that were made to take much memory or time.
func TestHostile(t *testing.T) {
	for _, h := range hostiles() {
		t.Run(h.version.String()+" "+h.name, func(t *testing.T) { sendHostile(t, h) })
	}
}

func sendHostile(t *testing.T, h hostile) {
	t.Helper()
	d := hostileDoor(t)
	packed := snappy.Encode(nil, h.body)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	begin := time.Now()
	status, text := postHostile(t, d, h.version, packed)
	took := time.Since(begin)
	runtime.ReadMemStats(&after)
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("%d bytes as %d: %d in %v, %d MiB allocated: %.150q", len(h.body), len(packed), status, took, allocated>>20, text)
	if status == http.StatusServiceUnavailable {
		t.Errorf("the sender is asked to send it again: %s", text)
	}
	const times = 300 // what is new to the store takes most
	if allocated > uint64(times*len(h.body)) {
		t.Errorf("%d bytes allocated for %d", allocated, len(h.body))
	}
	if took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	if held := d.intake.Gate().Bytes(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
}

// keepsNothing is a store that acknowledges everything.
type keepsNothing struct{}

func (keepsNothing) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	refs := make([]storage.Ref, len(series))
	for i := range refs {
		refs[i] = 1
	}
	return refs, nil
}

func (keepsNothing) Append(context.Context, *storage.Batch) error { return nil }

// TestHostileTogether sends all of them at once. The process takes twice what may be in flight, and what
// is kept for later requests.
func TestHostileTogether(t *testing.T) {
	const inFlight, senders = 64 << 20, 16
	d := hostileDoor(t, func(o *Options) {
		o.InFlightBytes, o.BodyBytes, o.Appender, o.Metadata = inFlight, 16<<20, keepsNothing{}, &nullStore{}
	})
	var packed []hostile
	for _, h := range hostiles() {
		packed = append(packed, hostile{h.name, h.version, snappy.Encode(nil, h.body)})
	}
	runtime.GC()
	before, stop, highest := liveBytes(), make(chan struct{}), make(chan uint64)
	go func() {
		most := uint64(0)
		for {
			select {
			case <-stop:
				highest <- most
				return
			case <-time.After(time.Millisecond):
				most = max(most, liveBytes())
			}
		}
	}()
	var wait sync.WaitGroup
	for n := range senders {
		wait.Go(func() {
			for i := range packed {
				h := packed[(i+n)%len(packed)]
				if status, text := postHostile(t, d, h.version, h.body); status == 0 {
					t.Errorf("%s: %s", h.name, text)
				}
			}
		})
	}
	wait.Wait()
	close(stop)
	most := <-highest - before
	t.Logf("%d MiB of memory, and %d MiB may be in flight", most>>20, inFlight>>20)
	// What is freed while the heap is collected counts until the next time: on a busy machine that is as much again.
	if most > 2*(2*inFlight+senders*pooledJob+64<<20) {
		t.Errorf("%d MiB of memory for %d MiB in flight", most>>20, inFlight>>20)
	}
}

// liveBytes returns how many bytes of the heap were in use when it was collected last.
func liveBytes() uint64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func hostileDoor(t testing.TB, change ...func(*Options)) *Handler {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	s := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	o := DefaultOptions()
	o.Appender, o.Metadata, o.Names, o.Now = s, s.Documents(), names, promtest.Now
	o.Logger, o.Registerer, o.SeriesCache = slog.New(slog.DiscardHandler), prometheus.NewRegistry(), 10_000
	for _, c := range change {
		c(&o)
	}
	return New(o)
}

func postHostile(t testing.TB, h http.Handler, v version, packed []byte) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/write", bytes.NewReader(packed))
	if v == version2 {
		req.Header.Set("Content-Type", usualV2)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}
