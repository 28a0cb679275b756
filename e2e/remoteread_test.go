package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/prompb"
)

const remoteReadConfig = `
remote_read:
  - url: %s
    read_recent: true
`

// longSeries is the number of samples of the long series. Its values are noise, which takes nine
// bytes each in a chunk. Together they exceed the frame of 1 MiB at which Prometheus' own server
// splits a series, which its client does not join again.
const longSeries = 150_000

// TestRemoteRead: a real Prometheus without data answers from the adapter, by streamed chunks and
// by samples, as the adapter does itself.
func TestRemoteRead(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	begin := time.Now().Add(-6 * time.Hour).Truncate(time.Hour)
	end := writeReadable(t, a, begin)
	for _, c := range []struct{ name, url, contentType string }{
		{"streamed chunks", a.base, "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"},
		{"samples", samplesOnly(t, a.base), "application/x-protobuf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			seen := watchContentType(t, c.url)
			p := startPrometheus(t, fmt.Sprintf(remoteReadConfig, seen.url+"/api/v1/read"))
			q := comparison{got: p.client, want: a.client, from: end.Add(-5 * time.Minute), to: end}
			q.run(t, readableCases())
			checkLongSeries(t, p, end)
			if got := seen.contentType.Load(); got == nil || *got != c.contentType {
				t.Errorf("content type of the answers: %v, want %s", got, c.contentType)
			}
		})
	}
}

// readableCases returns the expressions over what writeReadable wrote.
func readableCases() (cases []promqlCase) {
	for _, expr := range []string{
		`{__name__=~"read_.*", __name__!="read_long"}[5m]`, `read_special`, `read_ends`, `read_native`, `rate(read_native[1m])`,
		`histogram_quantile(0.9, rate(read_native[1m]))`, `count_over_time(read_long[5m])`, `sum by (n) (read_many)`,
		`read_many{n!~"1.*", odd=""}`, `read_many{n=~"1|2|30"}`, `count({n!="", __name__=~".+"})`, `absent(read_ends)`, `{"read.utf8 ✓"}`,
		`read_long @ end()`, `resets(read_native[5m])`,
	} {
		cases = append(cases, promqlCase{expr: expr})
	}
	return cases
}

// writeReadable writes a long series and some minutes of others at its end, and returns that end.
func writeReadable(t *testing.T, a *adapter, begin time.Time) time.Time {
	t.Helper()
	const step = 100 * time.Millisecond
	noise := rand.New(rand.NewPCG(1, 2))
	var all []prompb.Sample
	for i := range longSeries {
		all = append(all, sampleAt(begin.Add(time.Duration(i)*step), noise.NormFloat64()))
		if len(all) == 50_000 {
			a.Write(t, series(all, "__name__", "read_long", "n", "0")).ok(t)
			all = nil
		}
	}
	end := begin.Add((longSeries - 1) * step)
	var rest []prompb.TimeSeries
	for i := range 200 {
		labels := []string{"__name__", "read_many", "n", strconv.Itoa(i)}
		if i%2 == 1 {
			labels = append(labels, "odd", "yes")
		}
		rest = append(rest, series(everySecond(end, func(n int) float64 { return float64(n * i) }), labels...))
	}
	special := []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, 0.1}
	rest = append(rest,
		series(everySecond(end, func(n int) float64 { return special[n%len(special)] }), "__name__", "read_special"),
		series(everySecond(end, func(n int) float64 { return 7 }), "__name__", "read.utf8 ✓", "läbel \n", "\"ü"),
		series(everySecond(end, func(n int) float64 {
			if n%60 == 30 {
				return math.Float64frombits(value.StaleNaN)
			}
			return float64(n)
		})[:200], "__name__", "read_ends"),
		prompb.TimeSeries{Labels: []prompb.Label{{Name: "__name__", Value: "read_native"}}, Histograms: nativeHistograms(end)},
	)
	a.Write(t, rest...).ok(t)
	return end
}

// everySecond returns the samples of five minutes up to end.
func everySecond(end time.Time, v func(n int) float64) (all []prompb.Sample) {
	for n := range 300 {
		all = append(all, sampleAt(end.Add(time.Duration(n-299)*time.Second), v(n)))
	}
	return all
}

// nativeHistograms are those of five minutes up to end, one in five seconds, counted anew after
// each minute.
func nativeHistograms(end time.Time) (all []prompb.Histogram) {
	for n := range 60 {
		at := end.Add(time.Duration(n-59) * 5 * time.Second)
		c := int64(n%12 + 1)
		all = append(all, prompb.FromIntHistogram(at.UnixMilli(), &histogram.Histogram{
			Schema: 1, Count: uint64(5 * c), Sum: float64(c) * 1.5, ZeroThreshold: 0.01, ZeroCount: uint64(c),
			PositiveSpans: []histogram.Span{{Offset: -1, Length: 2}}, PositiveBuckets: []int64{c, 0},
			NegativeSpans: []histogram.Span{{Length: 1}}, NegativeBuckets: []int64{2 * c},
		}))
	}
	return all
}

// checkLongSeries checks that the long series comes in one piece.
func checkLongSeries(t *testing.T, p *prometheusServer, end time.Time) {
	t.Helper()
	got := p.Query(t, "count_over_time(read_long[6h])", end)
	if len(got) != 1 || got[0].points[0].value != strconv.Itoa(longSeries) {
		t.Errorf("the long series: %v, want %d samples", got, longSeries)
	}
}

// A watched server is a proxy that records the type of the answers.
type watched struct {
	url         string
	contentType atomic.Pointer[string]
}

func watchContentType(t *testing.T, to string) *watched {
	t.Helper()
	w := &watched{}
	proxy := proxyTo(t, to)
	proxy.ModifyResponse = func(r *http.Response) error {
		contentType := r.Header.Get("Content-Type")
		w.contentType.Store(&contentType)
		return nil
	}
	w.url = serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		forward(proxy, rw, r, body)
	}))
	return w
}

// forward sends a request on with a body that is already read. If the body is still being read when
// the answer begins, the server closes it; the transport, which reads to its end, then breaks the
// connection and the answer.
func forward(proxy http.Handler, w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	proxy.ServeHTTP(w, r)
}

// samplesOnly returns a proxy that asks for samples where Prometheus would take streamed chunks
// too: its configuration has no setting for that.
func samplesOnly(t *testing.T, to string) string {
	t.Helper()
	proxy := proxyTo(t, to)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			body, err = withoutStreaming(body)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		forward(proxy, w, r, body)
	}))
}

func withoutStreaming(body []byte) ([]byte, error) {
	raw, err := snappy.Decode(nil, body)
	if err != nil {
		return nil, err
	}
	var m prompb.ReadRequest
	if err := m.Unmarshal(raw); err != nil {
		return nil, err
	}
	m.AcceptedResponseTypes = nil
	if raw, err = m.Marshal(); err != nil {
		return nil, err
	}
	return snappy.Encode(nil, raw), nil
}

func proxyTo(t *testing.T, to string) *httputil.ReverseProxy {
	t.Helper()
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	// A transport of its own: every test server that ends closes connections of the default one.
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(u) }}
}

// serve serves h until the test ends.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}
