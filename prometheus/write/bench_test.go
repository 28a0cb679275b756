package write

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/storage"
)

// nullStore acknowledges everything.
type nullStore struct{ next storage.Ref }

func (s *nullStore) Resolve(_ context.Context, series []storage.Series) ([]storage.Ref, []error) {
	refs := make([]storage.Ref, len(series))
	for i := range refs {
		s.next++
		refs[i] = s.next
	}
	return refs, nil
}

func (*nullStore) Append(context.Context, *storage.Batch) error { return nil }

func (*nullStore) PutMetadata(context.Context, map[string]storage.Metadata) error { return nil }

// senderText returns a batch as Prometheus sends it: n series with one sample each and labels of
// usual length.
func senderText(n int, more ...prompb.Label) promtest.WriteText {
	var q promtest.WriteText
	for i := range n {
		q.Series = append(q.Series, promtest.WriteTextSeries{
			Labels: append([]prompb.Label{
				{Name: "__name__", Value: "node_cpu_seconds_total"},
				{Name: "cpu", Value: fmt.Sprint(i % 64)},
				{Name: "env", Value: "production"},
				{Name: "instance", Value: fmt.Sprintf("host-%04d.example.org:9100", i/64)},
				{Name: "job", Value: "node-exporter"},
				{Name: "mode", Value: []string{"idle", "user", "system"}[i%3]},
				{Name: "region", Value: "eu-central-1"},
			}, more...),
			Samples: []writev2.Sample{{Value: float64(i) * 1.25, Timestamp: 1_767_225_600_000}},
		})
	}
	return q
}

func senderBody(t testing.TB, v version, n int, more ...prompb.Label) []byte {
	if v == version2 {
		m := senderText(n, more...).V2()
		return snappy.Encode(nil, promtest.Marshal(t, &m))
	}
	m := senderText(n, more...).V1()
	return snappy.Encode(nil, promtest.Marshal(t, &m))
}

// nullWriter is a ResponseWriter that keeps the status.
type nullWriter struct {
	header http.Header
	status int
}

func (w *nullWriter) Header() http.Header { return w.header }

func (w *nullWriter) Write(p []byte) (int, error) { return len(p), nil }

func (w *nullWriter) WriteHeader(status int) { w.status = status }

// poster returns a function that posts one body again and again, with little overhead.
func poster(t testing.TB, v version, n int) (post func(), reset func()) {
	return bodyPoster(t, v, senderBody(t, v, n), nil)
}

func bodyPoster(t testing.TB, v version, sent []byte, change func(*Options)) (post func(), reset func()) {
	store := &nullStore{}
	newHandler := func() http.Handler {
		o := DefaultOptions()
		o.Appender, o.Metadata, o.Names = store, store, plainNames{}
		o.Logger, o.Registerer, o.Now = slog.New(slog.DiscardHandler), prometheus.NewRegistry(), promtest.Now
		if change != nil {
			change(&o)
		}
		return New(o)
	}
	h := newHandler()
	body := bytes.NewReader(sent)
	r := httptest.NewRequest(http.MethodPost, "/api/v1/write", body)
	if v == version2 {
		r.Header.Set("Content-Type", "application/x-protobuf;proto="+protoV2)
	}
	w := &nullWriter{header: http.Header{}}
	post = func() {
		if _, err := body.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		h.ServeHTTP(w, r)
		if w.status != http.StatusNoContent {
			t.Fatalf("status %d", w.status)
		}
	}
	return post, func() { h = newHandler() }
}

// A known series allocates nothing. (The race detector makes pools drop content on purpose, which
// costs a few allocations.)
func TestRemoteWriteAllocates(t *testing.T) {
	for _, v := range []version{version1, version2} {
		post, _ := poster(t, v, 2000)
		// A collection in between may empty the pool.
		if got := testing.AllocsPerRun(20, post); got > 50 {
			t.Errorf("%v: %v allocations for 2000 known series, want at most 50", v, got)
		}
	}
}

func BenchmarkRemoteWrite(b *testing.B) {
	const series = 2000
	for _, v := range []version{version1, version2} {
		b.Run(v.String()+"/known", func(b *testing.B) {
			post, _ := poster(b, v, series)
			post()
			b.ReportAllocs()
			for b.Loop() {
				post()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/sample")
		})
		b.Run(v.String()+"/new", func(b *testing.B) {
			post, reset := poster(b, v, series)
			b.ReportAllocs()
			for b.Loop() {
				reset()
				post()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/series, "ns/sample")
		})
	}
}

// randomText returns a request that both versions can carry.
func randomText(r *rand.Rand) (q promtest.WriteText) {
	value := func() float64 { return math.Float64frombits(r.Uint64()) }
	names := []string{"__name__", "__name__", "job", "a", "b", "", "ü", "\xff"}
	for range r.IntN(8) {
		var s promtest.WriteTextSeries
		for range r.IntN(4) {
			s.Labels = append(s.Labels, prompb.Label{Name: names[r.IntN(len(names))], Value: []string{"", "x", "y", "\xfe"}[r.IntN(40)/13]})
		}
		if r.IntN(4) > 0 {
			s.Labels = append([]prompb.Label{{Name: "__name__", Value: []string{"up", "down"}[r.IntN(2)]}}, s.Labels...)
		}
		for range r.IntN(3) {
			s.Samples = append(s.Samples, writev2.Sample{Value: value(), Timestamp: r.Int64N(1000) - 10})
		}
		// The order is fixed, so that a failure can be reproduced.
		for _, name := range []string{"good", "nhcb", "stale", "schema20", "schema100", "wrong-count", "nhcb-unsorted"} {
			h := promtest.Histograms()[name]
			if r.IntN(10) == 0 {
				s.Histograms = append(s.Histograms, promtest.TextHistogram{Time: r.Int64N(1000) - 10, Ints: h.Ints})
			}
			if r.IntN(10) == 0 && h.Floats != nil {
				s.Histograms = append(s.Histograms, promtest.TextHistogram{Time: r.Int64N(1000) - 10, Floats: h.Floats})
			}
		}
		for range r.IntN(3) {
			s.Exemplars = append(s.Exemplars, prompb.Exemplar{Labels: s.Labels, Value: value(), Timestamp: r.Int64N(1000) - 10})
		}
		q.Series = append(q.Series, s)
	}
	return q
}

// Either version stores the same data with the same answer, also the second time, when the series
// are known.
func TestRemoteWriteVersionsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	one, two := newTestDoor(nil), newTestDoor(nil)
	for n := range 300 {
		q := randomText(r)
		m1, m2 := q.V1(), q.V2()
		res1, res2 := one.send(version1, promtest.Marshal(t, &m1)), two.send(version2, promtest.Marshal(t, &m2))
		written := res2.Header
		text1 := describe(t, res1)
		text2 := describe(t, &http.Response{StatusCode: res2.StatusCode, Body: res2.Body})
		if text1 != text2 {
			t.Fatalf("request %d:\n1.0: %s\n2.0: %s", n, text1, text2)
		}
		if res2.StatusCode == http.StatusNoContent && written.Get("X-Prometheus-Remote-Write-Samples-Written") != fmt.Sprint(countSamples(q)) {
			t.Fatalf("request %d: %d samples sent, %v", n, countSamples(q), written)
		}
	}
	if a, b := one.store.String(), two.store.String(); a != b {
		t.Errorf("1.0:\n%s2.0:\n%s", a, b)
	}
	c1, c2 := checkCounters(t, one), checkCounters(t, two)
	for _, what := range []string{"received", "written", "rejected"} {
		for k := range dataKinds {
			if a, b := c1[what]["remote_write_1/"+k.String()], c2[what]["remote_write_2/"+k.String()]; a != b {
				t.Errorf("%s of kind %v: 1.0 %v, 2.0 %v", what, k, a, b)
			}
		}
	}
	if c1["written"]["remote_write_1/sample"] == 0 || c1["rejected"]["remote_write_1/exemplar"] == 0 {
		t.Error("the requests were all good or all bad")
	}
}

func countSamples(q promtest.WriteText) (n int) {
	for _, s := range q.Series {
		n += len(s.Samples)
	}
	return n
}

// Concurrent requests do not use each other's memory.
func TestRemoteWriteConcurrently(t *testing.T) {
	d := newTestDoor(func(l *Options) { l.SeriesCache = 64 })
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for n := range 40 {
				text := ""
				for i := range 10 {
					text += fmt.Sprintf("{__name__=\"m%d\", g=\"%d\"} %d@%d ex:{n=\"%d\"}=%d@%d\n", i, g, n, n, n, n, n)
				}
				if got := sendText(t, d, version(n%2), text).StatusCode; got != http.StatusNoContent {
					t.Errorf("status %d", got)
				}
			}
		})
	}
	wg.Wait()
	checkCounters(t, d)
	if n := len(d.store.series); n != 80 {
		t.Errorf("%d series, want 80", n)
	}
	for ref, points := range d.store.points {
		if len(points) != 40 || len(d.store.objects[ref]) != 40 {
			t.Errorf("%v: %d points, %d exemplars, want 40 each", d.store.series[ref-1], len(points), len(d.store.objects[ref]))
		}
		for time, v := range points {
			if float64(time) != v {
				t.Errorf("%v: %v at %d", d.store.series[ref-1], v, time)
			}
		}
	}
}

// Negative zero is a value that the generated code does not send.
func TestRemoteWriteNegativeZero(t *testing.T) {
	d := newTestDoor(nil)
	message := []byte{
		0x0a, 27, 0x0a, 14, 0x0a, 8, '_', '_', 'n', 'a', 'm', 'e', '_', '_', 0x12, 2, 'u', 'p',
		0x12, 9, 0x09, 0, 0, 0, 0, 0, 0, 0, 0x80,
	}
	if got := describe(t, d.send(version1, message)); got != "204" || math.Float64bits(d.store.points[1][0]) != 1<<63 {
		t.Errorf("%s, stored %x", got, math.Float64bits(d.store.points[1][0]))
	}
}
