package read

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	gocmp "github.com/google/go-cmp/cmp"
	configutil "github.com/prometheus/common/config"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/storage/remote"
	"github.com/prometheus/prometheus/tsdb/chunkenc"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
)

var (
	samplesType  = []prompb.ReadRequest_ResponseType{prompb.ReadRequest_SAMPLES}
	streamedType = []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}
)

// testOptions returns options with the parts, and with the default limit of frames unless one is
// set.
func testOptions(p *promStorage, o Options) Options {
	o.Queryable, o.Logger = p.Store, slog.New(slog.DiscardHandler)
	o.FrameBytes = cmp.Or(o.FrameBytes, defaultFrame)
	return o
}

// readServer serves remote read over HTTP. Its writer is wrapped, as by middleware.
func readServer(t testing.TB, p *promStorage, o Options) *httptest.Server {
	t.Helper()
	h := New(testOptions(p, o))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(wrappedWriter{w}, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// wrappedWriter hides the Flusher of the writer below, but lets http.ResponseController find it.
type wrappedWriter struct{ http.ResponseWriter }

func (w wrappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// readClient returns the module's own client.
func readClient(t testing.TB, s *httptest.Server, types []prompb.ReadRequest_ResponseType) remote.ReadClient {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	c, err := remote.NewReadClient(t.Name(), &remote.ClientConfig{
		URL: &configutil.URL{URL: u}, Timeout: model.Duration(time.Minute), ChunkedReadLimit: 50e6, AcceptedResponseTypes: types,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A shownSeries is a series as text, to be compared whichever way it was read.
type shownSeries struct {
	Labels  string
	Samples []string
}

// show reads a whole set. It ignores counter-reset hints: that of a chunk's first histogram is
// unknown.
func show(set promstorage.SeriesSet) ([]shownSeries, error) {
	var out []shownSeries
	for set.Next() {
		s := shownSeries{Labels: set.At().Labels().String()}
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			if kind == chunkenc.ValFloat {
				at, v := it.At()
				s.Samples = append(s.Samples, fmt.Sprintf("%d %v", at, v))
				continue
			}
			at, fh := it.AtFloatHistogram(nil)
			s.Samples = append(s.Samples, fmt.Sprintf("%d %v %v", at, kind, fh.Compact(0)))
		}
		if it.Err() != nil {
			return out, it.Err()
		}
		out = append(out, s)
	}
	return out, set.Err()
}

// querierOf returns a querier over a range of milliseconds.
func querierOf(t testing.TB, p *promStorage, mint, maxt int64) promstorage.Querier {
	t.Helper()
	q, err := p.Querier(mint, maxt)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// TestRemoteRead reads the same data as samples, as a stream, and directly.
func TestRemoteRead(t *testing.T) {
	p := newMemStorage(t)
	promtest.WriteDemo(t, p)
	server := readServer(t, p, Options{Concurrency: 2})
	for _, tc := range []struct {
		selector string
		hints    *promstorage.SelectHints
	}{
		{`requests_total`, nil},
		{`requests_total{instance="b"}`, &promstorage.SelectHints{Start: 600_000, End: 1200_000, Func: "rate", Range: 300_000}},
		{`{__name__=~".+"}`, nil},
		{`latency`, nil},
		{`latency{instance!="a"}`, nil},
		{`nothing`, nil},
		{`{__name__=~".+"}`, &promstorage.SelectHints{Start: 0, End: 7200_000, Func: "series"}},
	} {
		want, err := show(querierOf(t, p, 0, 7200_000).Select(t.Context(), true, tc.hints, promtest.Matchers(t, tc.selector)...))
		if err != nil {
			t.Fatal(err)
		}
		if (len(want) == 0) != (tc.selector == "nothing") {
			t.Fatalf("%s: %d series", tc.selector, len(want))
		}
		for name, types := range map[string][]prompb.ReadRequest_ResponseType{"samples": samplesType, "streamed": streamedType} {
			if name == "streamed" && tc.hints != nil && tc.hints.Func == "series" {
				continue // A series without chunks has no frame, in Prometheus too.
			}
			set, err := readClient(t, server, types).Read(t.Context(), promtest.ReadQuery(t, 0, 7200_000, tc.hints, tc.selector), true)
			if err != nil {
				t.Fatal(err)
			}
			got, err := show(set)
			if err != nil {
				t.Fatal(err)
			}
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("%s %s: -direct +read\n%s", tc.selector, name, diff)
			}
		}
	}
}

// TestRemoteReadFrames checks the stream itself: order, one frame a series, encodings, index of the
// query.
func TestRemoteReadFrames(t *testing.T) {
	p := newMemStorage(t)
	promtest.WriteDemo(t, p)
	var times []int64
	for i := range int64(5000) {
		times = append(times, i*1000)
	}
	p.Write(t, promtest.Labels(t, `long`), times...)
	server := readServer(t, p, Options{})
	resp := postRead(t, server, &prompb.ReadRequest{
		AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{99, prompb.ReadRequest_STREAMED_XOR_CHUNKS, prompb.ReadRequest_SAMPLES},
		Queries:               []*prompb.Query{promtest.ReadQuery(t, 0, 7200_000, nil, `{__name__=~".+"}`), promtest.ReadQuery(t, 0, 7200_000, nil, `long`)},
	})
	if got, want := resp.Header.Get("Content-Type"), "application/x-streamed-protobuf; proto=prometheus.ChunkedReadResponse"; got != want {
		t.Errorf("content type %q, want %q", got, want)
	}
	reader := remote.NewChunkedReader(resp.Body, 50e6, nil)
	last, index := labels.EmptyLabels(), int64(0)
	b := labels.NewScratchBuilder(0)
	for {
		var frame prompb.ChunkedReadResponse
		err := reader.NextProto(&frame)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if frame.QueryIndex != index {
			index, last = frame.QueryIndex, labels.EmptyLabels()
		}
		ls := frame.ChunkedSeries[0].ToLabels(&b, nil)
		if len(frame.ChunkedSeries) != 1 || labels.Compare(last, ls) >= 0 {
			t.Errorf("query %d: %d series in a frame, %s after %s", index, len(frame.ChunkedSeries), ls, last)
		}
		last = ls
		for _, c := range frame.ChunkedSeries[0].Chunks {
			if c.Type > prompb.Chunk_FLOAT_HISTOGRAM {
				t.Errorf("%s: chunk of type %v", ls, c.Type)
			}
		}
	}
	if index != 1 || last.Get("__name__") != "long" {
		t.Errorf("the stream ends with %s of query %d", last, index)
	}
}

func postRead(t testing.TB, s *httptest.Server, req *prompb.ReadRequest) *http.Response {
	t.Helper()
	data, err := req.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(s.URL, "application/x-protobuf", bytes.NewReader(snappy.Encode(nil, data)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestRemoteReadRefuses sends requests that are refused with a status and a reason.
func TestRemoteReadRefuses(t *testing.T) {
	p := newPromStorageOf(&promtest.PlainStore{}, promtest.RawNames{}, queryable.Limits{Series: 1})
	p.Write(t, promtest.Labels(t, `a`), 1, 2, 3)
	p.Write(t, promtest.Labels(t, `b`), 1, 2, 3)
	server := readServer(t, p, Options{Samples: 2, FrameBytes: 1})
	query := func(selector string, types ...prompb.ReadRequest_ResponseType) []byte {
		req := prompb.ReadRequest{Queries: []*prompb.Query{promtest.ReadQuery(t, 0, 10, nil, selector)}, AcceptedResponseTypes: types}
		data, err := req.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return snappy.Encode(nil, data)
	}
	badRegexp := prompb.ReadRequest{Queries: []*prompb.Query{{Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "a", Value: "("}}}}}
	badRegexpData, _ := badRegexp.Marshal()
	for _, tc := range []struct {
		name, method, encoding string
		body                   []byte
		status                 int
		text                   string
	}{
		{"get", http.MethodGet, "snappy", nil, 405, "POST"},
		{"zstd", http.MethodPost, "zstd", query("a"), 415, "snappy"},
		{"not snappy", http.MethodPost, "snappy", []byte("hello"), 400, "snappy"},
		{"empty", http.MethodPost, "", nil, 400, "snappy"},
		{"bomb", http.MethodPost, "snappy", []byte{0xff, 0xff, 0xff, 0xff, 0x07, 0}, 400, "limit"},
		{"not a message", http.MethodPost, "snappy", snappy.Encode(nil, []byte("hello")), 400, "read request"},
		{"bad regexp", http.MethodPost, "snappy", snappy.Encode(nil, badRegexpData), 400, "matchers"},
		{"no known type", http.MethodPost, "snappy", query("a", 99), 400, "response types"},
		{"too many samples", http.MethodPost, "snappy", query("a"), 400, "exceeded sample limit (2)"},
		{"too many series", http.MethodPost, "snappy", query(`{__name__=~".+"}`), 422, "series"},
		{"too many series streamed", http.MethodPost, "snappy", query(`{__name__=~".+"}`, streamedType...), 422, "series"},
		{"too long a series", http.MethodPost, "snappy", query("a", streamedType...), 422, `{__name__="a"}`},
		{"too large", http.MethodPost, "snappy", make([]byte, maxBody+1), 413, "too large"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tc.method, server.URL, bytes.NewReader(tc.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Encoding", tc.encoding)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tc.status || !strings.Contains(string(text), tc.text) || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("%s: %d %q, want %d %q", tc.name, resp.StatusCode, text, tc.status, tc.text)
		}
	}
}

// TestRemoteReadFails makes the store fail before and in the middle of an answer.
func TestRemoteReadFails(t *testing.T) {
	s := &promtest.PlainStore{Fail: promtest.ErrEngine}
	p := newPromStorageOf(s, promtest.RawNames{}, queryable.Limits{})
	for i := range 3 * 256 {
		p.Write(t, labels.FromStrings("__name__", "m", "i", fmt.Sprintf("%05d", i)), 1, 2)
	}
	server := readServer(t, p, Options{})
	for _, tc := range []struct {
		after  int
		types  []prompb.ReadRequest_ResponseType
		status string
	}{
		{0, samplesType, "503"},
		{256, samplesType, "503"},
		{0, streamedType, "503"},
		{256, streamedType, ""}, // the first group is on its way
	} {
		s.FailAfter = tc.after
		set, err := readClient(t, server, tc.types).Read(t.Context(), promtest.ReadQuery(t, 0, 10, nil, "m"), true)
		if tc.status != "" {
			if err == nil || !strings.Contains(err.Error(), tc.status) || !strings.Contains(err.Error(), promtest.ErrEngine.Error()) {
				t.Errorf("%v after %d: %v, want %s", tc.types, tc.after, err, tc.status)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, err := show(set); err == nil {
			t.Errorf("%v after %d: %d series and no error", tc.types, tc.after, len(got))
		}
	}
}

// TestRemoteReadGate lets one request in; the next waits until its time is up.
func TestRemoteReadGate(t *testing.T) {
	p := newPromStorageOf(&promtest.PlainStore{}, promtest.RawNames{}, queryable.Limits{})
	h := New(testOptions(p, Options{Concurrency: 1}))
	turn, err := h.turns.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	data, _ := (&prompb.ReadRequest{}).Marshal()
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	answer := func(ctx context.Context) int {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/", bytes.NewReader(snappy.Encode(nil, data))))
		return w.Code
	}
	if got := answer(ctx); got != http.StatusServiceUnavailable {
		t.Errorf("while another reads: status %d, want 503", got)
	}
	turn.End()
	if got := answer(t.Context()); got != http.StatusOK {
		t.Errorf("status %d, want 200", got)
	}
}
