package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	configutil "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

// TestImportRemoteRead: what an import reads of a real Prometheus is equal in all bits, however often the import and the
// adapter are killed.
func TestImportRemoteRead(t *testing.T) {
	needE2E(t)
	t.Parallel()
	from := startPrometheus(t, "", "--web.enable-remote-write-receiver")
	end := time.Now().Truncate(time.Minute)
	begin := end.Add(-5 * time.Hour)
	writeForeign(t, from.client, begin, end)
	a := startAdapter(t, "--web.enable-admin-api")
	asked := holdRequests(t, from.base)
	state := filepath.Join(t.TempDir(), "state")
	args := []string{
		"import", "remote-read", asked.url + "/api/v1/read", "--adapter-url=" + a.base, "--state=" + state, "--verify=all", "--window=5m", "--parallel=1",
		fmt.Sprint("--from=", begin.Unix()), fmt.Sprint("--to=", end.Unix()),
	}
	start := func() *process { return startProcess(t, t.TempDir(), adapterBinary(t), args...) }
	for range 3 {
		before := textOf(state)
		p := asked.during(t, 5, start, func() {
			eventually(t, waitTimeout, "progress in the state file", func() error {
				if now := textOf(state); now == before {
					return fmt.Errorf("it still has %q", now)
				}
				return nil
			})
		})
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond) // at any moment
		p.Kill()
	}
	p := asked.during(t, 5, start, func() { a.Kill(); a.Relaunch(t) }) // the import waits for it
	select {
	case <-p.done:
	case <-time.After(waitTimeout):
	}
	if p.Kill(); p.err != nil {
		t.Fatalf("%v: %s", p.err, p.out)
	}
	var imported, before int
	var took, rate string // 2.5s, 1000/s;
	if _, err := fmt.Sscanf(p.out.String(), "%d samples imported in %s %s %d before", &imported, &took, &rate, &before); err != nil || before == 0 || imported == 0 {
		t.Errorf("the last import did not go on where the state file tells: %s", p.out)
	}
	got, want := everyBit(t, a.client, begin, end), everyBit(t, from.client, begin, end)
	if len(want) < 10 || !slices.Equal(slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want))) {
		t.Fatalf("series %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	for name := range want {
		if !slices.Equal(got[name], want[name]) {
			t.Errorf("%s: %d samples, want %d; the first ones that differ: %s", name, len(got[name]), len(want[name]), firstOther(got[name], want[name]))
		}
	}
}

// textOf returns what a file has; empty: there is none.
func textOf(path string) string {
	text, _ := os.ReadFile(path)
	return string(text)
}

func firstOther(got, want []string) string {
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			return fmt.Sprintf("%s, want %s", got[i], want[i])
		}
	}
	return "none"
}

// writeForeign writes floats of many kinds and all kinds of histograms to a Prometheus, each 15 s.
func writeForeign(t *testing.T, c client, begin, end time.Time) {
	t.Helper()
	special := []uint64{
		0x7ff8000000000001, value.StaleNaN, 0x7ff0000000000000, 0xfff0000000000000, 0x8000000000000000, 0, 1, 0x7fefffffffffffff, 0xfff8000000001234,
	}
	for hour := begin; hour.Before(end); hour = hour.Add(time.Hour) {
		var all []prompb.TimeSeries
		add := func(v func(n int) float64, names ...string) {
			s := series(nil, names...)
			for n := range 240 {
				s.Samples = append(s.Samples, sampleAt(hour.Add(time.Duration(n)*15*time.Second), v(n)))
			}
			all = append(all, s)
		}
		for i := range 8 {
			add(func(n int) float64 { return math.Sqrt(float64(n * i)) }, "__name__", "noise", "i", strconv.Itoa(i))
		}
		add(func(n int) float64 { return math.Float64frombits(special[n%len(special)]) }, "__name__", "special")
		add(func(n int) float64 { return float64(n) }, "__name__", "with.dots ü", "läbel", "\"\n")
		for kind, h := range foreignHistograms() {
			s := series(nil, "__name__", "h", "kind", kind)
			for n := range 240 {
				s.Histograms = append(s.Histograms, h(hour.Add(time.Duration(n)*15*time.Second).UnixMilli(), int64(n%100+1)))
			}
			all = append(all, s)
		}
		c.Write(t, all...).ok(t)
	}
}

// foreignHistograms makes histograms of each kind from a count.
func foreignHistograms() map[string]func(at, n int64) prompb.Histogram {
	spans := []histogram.Span{{Offset: -1, Length: 2}}
	ints := func(n int64) *histogram.Histogram {
		return &histogram.Histogram{
			Schema: 1, Count: uint64(5 * n), Sum: float64(n) * 1.1, ZeroThreshold: 0.01, ZeroCount: uint64(n),
			PositiveSpans: spans, PositiveBuckets: []int64{n, 0}, NegativeSpans: spans[:1], NegativeBuckets: []int64{n, 0},
		}
	}
	return map[string]func(at, n int64) prompb.Histogram{
		"ints":   func(at, n int64) prompb.Histogram { return prompb.FromIntHistogram(at, ints(n)) },
		"floats": func(at, n int64) prompb.Histogram { return prompb.FromFloatHistogram(at, ints(n).ToFloat(nil)) },
		"custom": func(at, n int64) prompb.Histogram {
			return prompb.FromIntHistogram(at, &histogram.Histogram{
				Schema: histogram.CustomBucketsSchema, Count: uint64(2 * n), Sum: float64(n), CustomValues: []float64{0.1, 1},
				PositiveSpans: []histogram.Span{{Length: 2}}, PositiveBuckets: []int64{n, 0},
			})
		},
		"stale": func(at, n int64) prompb.Histogram {
			if n%7 == 0 {
				return prompb.FromIntHistogram(at, &histogram.Histogram{Sum: math.Float64frombits(value.StaleNaN)})
			}
			return prompb.FromIntHistogram(at, ints(n))
		},
	}
}

// everyBit reads all series of the tests' names as streamed chunks, whose floats keep all bits.
func everyBit(t *testing.T, c client, begin, end time.Time) map[string][]string {
	t.Helper()
	u, err := url.Parse(c.base + "/api/v1/read")
	if err != nil {
		t.Fatal(err)
	}
	read, err := remote.NewReadClient(t.Name(), &remote.ClientConfig{URL: &configutil.URL{URL: u}, Timeout: model.Duration(time.Minute), ChunkedReadLimit: 50e6})
	if err != nil {
		t.Fatal(err)
	}
	q, err := remote.ToQuery(begin.UnixMilli(), end.UnixMilli(), []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, "__name__", "noise|special|with.dots ü|h")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := read.Read(t.Context(), q, false)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for set.Next() {
		name, it := set.At().Labels().String(), set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			all[name] = append(all[name], bitsOf(it, kind))
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
	}
	if set.Err() != nil {
		t.Fatal(set.Err())
	}
	return all
}

// bitsOf shows a sample. What tells whether a counter was reset depends on the chunk that a histogram is in, and is left out.
func bitsOf(it chunkenc.Iterator, kind chunkenc.ValueType) string {
	switch kind {
	case chunkenc.ValFloat:
		at, v := it.At()
		return fmt.Sprintf("%d %x", at, math.Float64bits(v))
	case chunkenc.ValHistogram:
		at, h := it.AtHistogram(nil)
		h.CounterResetHint = histogram.UnknownCounterReset
		return fmt.Sprintf("%d %x %+v", at, math.Float64bits(h.Sum), *h)
	default:
		at, h := it.AtFloatHistogram(nil)
		h.CounterResetHint = histogram.UnknownCounterReset
		return fmt.Sprintf("%d %x %+v", at, math.Float64bits(h.Sum), *h)
	}
}

// A held server is a proxy that holds one of the requests.
type held struct {
	url     string
	left    atomic.Int64 // requests before the one that is held
	holding chan struct{}
	release chan struct{}
}

func holdRequests(t *testing.T, to string) *held {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	h, proxy := &held{holding: make(chan struct{}), release: make(chan struct{})}, httputil.NewSingleHostReverseProxy(u)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h.left.Add(-1) == 0 {
			h.holding <- struct{}{}
			select {
			case <-h.release:
			case <-t.Context().Done():
			}
		}
		// A server closes the body when it begins to answer, and the proxy then cuts the answer if it still reads.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client was killed
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// during starts something that sends requests, and calls f while the nth of them is held.
func (h *held) during(t *testing.T, nth int64, start func() *process, f func()) *process {
	t.Helper()
	h.left.Store(nth)
	p := start()
	select {
	case <-h.holding:
	case <-p.done:
		t.Fatalf("it ended before its request %d: %v: %s", nth, p.err, p.out)
	}
	f()
	h.release <- struct{}{}
	return p
}
