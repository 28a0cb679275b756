package read

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"

	"github.com/tsdbridge/tsdbridge/internal/query"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// readRequest posts a read request.
func readRequest(t testing.TB, address string, req *prompb.ReadRequest) (int, string, http.Header) {
	t.Helper()
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, bytes.NewReader(snappy.Encode(nil, promtest.Marshal(t, req))))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(post)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text), resp.Header
}

// A request has a limit on its queries, their matchers and regular expressions, and on the samples
// of all its queries together.
func TestRemoteReadBounds(t *testing.T) {
	p := newMemStorage(t)
	p.Write(t, promtest.Labels(t, `up{job="a"}`), 1, 2, 3, 4)
	server := readServer(t, p, Options{Samples: 10})
	repeated := func(n int, q *prompb.Query) (all []*prompb.Query) {
		for range n {
			all = append(all, q)
		}
		return all
	}
	all := promtest.ReadQuery(t, 0, 10, nil, `{__name__=~".*p.*"}`)
	manyMatchers := &prompb.Query{EndTimestampMs: 10}
	for range 1000 {
		manyMatchers.Matchers = append(manyMatchers.Matchers, all.Matchers...)
	}
	dear := &prompb.Query{EndTimestampMs: 10, Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "a", Value: strings.Repeat("(a{1000})", 3000)}}}
	for name, c := range map[string]struct {
		queries []*prompb.Query
		status  int
		text    string
	}{
		"20000 queries":        {repeated(20000, all), 400, "more than 100 queries"},
		"a million of nothing": {repeated(1_000_000, &prompb.Query{}), 400, "more than 100 queries"},
		"many matchers":        {[]*prompb.Query{manyMatchers}, 400, "more than 200 matchers"},
		"dear expressions":     {[]*prompb.Query{dear}, 400, "regular expressions"},
		"two queries":          {repeated(2, all), 200, ""},
		"three queries":        {repeated(3, all), 400, "exceeded sample limit (10)"},
	} {
		for _, types := range [][]prompb.ReadRequest_ResponseType{samplesType, streamedType} {
			if name == "three queries" && types[0] != prompb.ReadRequest_SAMPLES {
				continue // a stream has no limit of samples: it holds none
			}
			status, text, _ := readRequest(t, server.URL, &prompb.ReadRequest{Queries: c.queries, AcceptedResponseTypes: types})
			if status != c.status || !strings.Contains(text, c.text) {
				t.Errorf("%s: %d %.200q, want %d %q", name, status, text, c.status, c.text)
			}
		}
	}
}

// A query without matchers selects nothing, as in Prometheus.
func TestRemoteReadWithoutMatchers(t *testing.T) {
	p := newMemStorage(t)
	p.Write(t, promtest.Labels(t, `up{job="a"}`), 1, 2, 3, 4)
	server := readServer(t, p, Options{})
	req := &prompb.ReadRequest{Queries: []*prompb.Query{{EndTimestampMs: 10}, promtest.ReadQuery(t, 0, 10, nil, "up"), {EndTimestampMs: 10}}}
	status, text, _ := readRequest(t, server.URL, req)
	data, err := snappy.Decode(nil, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var answer prompb.ReadResponse
	if err := answer.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	var series []int
	for _, r := range answer.Results {
		series = append(series, len(r.Timeseries))
	}
	if status != 200 || len(series) != 3 || series[0] != 0 || series[1] != 1 || series[2] != 0 {
		t.Errorf("%d, series %v", status, series)
	}
	req.Queries = req.Queries[:1]
	req.AcceptedResponseTypes = streamedType
	if status, text, _ = readRequest(t, server.URL, req); status != 200 || text != "" {
		t.Errorf("streamed: %d %q", status, text)
	}
}

// Both kinds of answer take their memory from the account of the request, and release it.
func TestRemoteReadIsCharged(t *testing.T) {
	p := newMemStorage(t)
	for i := range 100 {
		times := make([]int64, 500)
		for j := range times {
			times[j] = int64(j) * 1000
		}
		p.Write(t, promtest.Labels(t, `up{instance="`+strings.Repeat("i", i+1)+`"}`), times...)
	}
	h := New(testOptions(p, Options{}))
	for _, types := range [][]prompb.ReadRequest_ResponseType{samplesType, streamedType} {
		req := &prompb.ReadRequest{Queries: []*prompb.Query{promtest.ReadQuery(t, 0, 500_000, nil, "up")}, AcceptedResponseTypes: types}
		for _, c := range []struct {
			limit, others int64
			status        int
		}{{1 << 30, 0, 200}, {20_000, 0, 422}, {1 << 30, 1<<30 - 20_000, 503}} {
			b := query.NewBudget(c.limit)
			promtest.OthersHold(t, b, c.others)
			server := promtest.NewServer(t, query.Accounts(b)(h))
			status, text, header := readRequest(t, server.URL, req)
			if status != c.status || status != 200 && !strings.Contains(text, query.MemoryFlag) || (header.Get("Retry-After") != "") != (status == 503) {
				t.Errorf("with a budget of %d: %d %.200q %v", c.limit-c.others, status, text, header)
			}
			server.Close()
			if held := b.Used() - c.others; held != 0 {
				t.Errorf("with a budget of %d: %d bytes are held afterwards", c.limit-c.others, held)
			}
		}
	}
}

// A stream releases the memory of queries that it has sent.
func TestRemoteReadStreamsReleaseMemory(t *testing.T) {
	p := newMemStorage(t)
	for i := range 300 {
		p.Write(t, promtest.Labels(t, `up{instance="`+strings.Repeat("i", i+1)+`"}`), 1, 2, 3)
	}
	h := New(testOptions(p, Options{}))
	req := &prompb.ReadRequest{AcceptedResponseTypes: streamedType}
	for range maxQueries {
		req.Queries = append(req.Queries, promtest.ReadQuery(t, 0, 10, nil, "up"))
	}
	const enoughForSome = 2 << 20
	status, text, _ := readRequest(t, promtest.NewServer(t, query.Accounts(query.NewBudget(enoughForSome))(h)).URL, req)
	if status != http.StatusOK || text == "" {
		t.Errorf("%d %.200q", status, text)
	}
}

// Whatever the bytes are, counting before decoding agrees with the decoder.
func FuzzCheckReadRequest(f *testing.F) {
	f.Add([]byte{}, uint16(1))
	f.Add([]byte{0x0a, 0x00}, uint16(101))
	f.Add([]byte{0x0a, 0x04, 0x1a, 0x02, 0x12, 0x00}, uint16(99))
	f.Add([]byte{0x0a, 0x02, 0x1a, 0x00}, uint16(300))
	f.Fuzz(func(t *testing.T, piece []byte, times uint16) {
		b := bytes.Repeat(piece, int(times)%512)
		if checkRequest(b) != nil {
			return
		}
		var req prompb.ReadRequest
		if req.Unmarshal(b) != nil {
			return
		}
		if len(req.Queries) > maxQueries {
			t.Errorf("%d queries passed", len(req.Queries))
		}
		for _, q := range req.Queries {
			if len(q.Matchers) > maxMatchers {
				t.Errorf("%d matchers passed", len(q.Matchers))
			}
		}
	})
}
