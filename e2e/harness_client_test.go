package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"testing"
	"time"

	"github.com/gogo/protobuf/proto"
	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// Headers of remote write and read.
const (
	contentV1   = "application/x-protobuf"
	contentV2   = "application/x-protobuf;proto=io.prometheus.write.v2.Request"
	contentRead = "application/x-protobuf"
)

// requestTimeout bounds one request; none of the tests' takes seconds on an idle machine.
const requestTimeout = 60 * time.Second

// client sends HTTP requests to an adapter or a Prometheus.
type client struct {
	base           string // scheme://host:port
	http           *http.Client
	user, password string // basic auth; none without user
}

// reply is an HTTP response.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (r reply) String() string { return fmt.Sprintf("%d %s", r.status, bytes.TrimSpace(r.body)) }

// ok fails the test unless the reply is a success.
func (r reply) ok(t testing.TB) reply {
	t.Helper()
	if r.status/100 != 2 {
		t.Fatalf("answer: %v", r)
	}
	return r
}

// newClient returns a client of the server at host:port.
func newClient(addr string) client {
	return client{base: "http://" + addr, http: &http.Client{Transport: &http.Transport{}}}
}

// URL returns the address of a path.
func (c client) URL(path string) string { return c.base + path }

// do sends one request. An error means that there was no whole answer.
func (c client) do(ctx context.Context, method, path string, header map[string]string, body []byte) (reply, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, c.URL(path), bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	if c.user != "" {
		req.SetBasicAuth(c.user, c.password)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return reply{status: resp.StatusCode, header: resp.Header, body: answer}, err
}

// Get requests a path and fails the test without an answer.
func (c client) Get(t testing.TB, path string) reply {
	t.Helper()
	r, err := c.do(t.Context(), http.MethodGet, path, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Post sends a body and fails the test without an answer.
func (c client) Post(t testing.TB, path string, header map[string]string, body []byte) reply {
	t.Helper()
	r, err := c.do(t.Context(), http.MethodPost, path, header, body)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Write sends series by remote write 1.0.
func (c client) Write(t testing.TB, series ...prompb.TimeSeries) reply {
	t.Helper()
	return c.WriteV1(t, &prompb.WriteRequest{Timeseries: series})
}

// WriteV1 sends a message of remote write 1.0.
func (c client) WriteV1(t testing.TB, m *prompb.WriteRequest) reply {
	t.Helper()
	return c.Post(t, "/api/v1/write", writeHeader(contentV1, nil), snappied(t, m))
}

// WriteV2 sends a message of remote write 2.0.
func (c client) WriteV2(t testing.TB, m *writev2.Request) reply {
	t.Helper()
	return c.Post(t, "/api/v1/write", writeHeader(contentV2, nil), snappied(t, m))
}

// writeHeader returns the header of remote write, with what changes replaces.
func writeHeader(contentType string, changes map[string]string) map[string]string {
	version := "0.1.0"
	if contentType == contentV2 {
		version = "2.0.0"
	}
	header := map[string]string{
		"Content-Type": contentType, "Content-Encoding": "snappy", "X-Prometheus-Remote-Write-Version": version,
	}
	maps.Copy(header, changes)
	return header
}

// message is implemented by all three of Prometheus' messages.
type message interface{ Marshal() ([]byte, error) }

func snappied(t testing.TB, m message) []byte {
	t.Helper()
	raw, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return snappy.Encode(nil, raw)
}

// Read sends a remote read and returns the series, by the unstreamed path: every sample as it is
// stored, stale markers included.
func (c client) Read(t testing.TB, from, to time.Time, matchers ...*prompb.LabelMatcher) []*prompb.TimeSeries {
	t.Helper()
	m := &prompb.ReadRequest{Queries: []*prompb.Query{{
		StartTimestampMs: from.UnixMilli(), EndTimestampMs: to.UnixMilli(), Matchers: matchers,
	}}}
	r := c.Post(t, "/api/v1/read", map[string]string{"Content-Type": contentRead, "Content-Encoding": "snappy"}, snappied(t, m)).ok(t)
	raw, err := snappy.Decode(nil, r.body)
	if err != nil {
		t.Fatal(err)
	}
	var answer prompb.ReadResponse
	if err := proto.Unmarshal(raw, &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Results[0].Timeseries
}

// equals returns the matcher name="value".
func equals(name, value string) *prompb.LabelMatcher {
	return &prompb.LabelMatcher{Type: prompb.LabelMatcher_EQ, Name: name, Value: value}
}

// series returns a time series of floats: labels as name, value, name, value, ...
func series(samples []prompb.Sample, labels ...string) prompb.TimeSeries {
	ts := prompb.TimeSeries{Samples: samples}
	for i := 0; i < len(labels); i += 2 {
		ts.Labels = append(ts.Labels, prompb.Label{Name: labels[i], Value: labels[i+1]})
	}
	return ts
}

// sampleAt returns a float at an instant.
func sampleAt(at time.Time, v float64) prompb.Sample {
	return prompb.Sample{Timestamp: at.UnixMilli(), Value: v}
}
