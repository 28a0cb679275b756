package e2e_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// TestBadBodies posts bodies that are no remote write: each gets its status and a reason, and
// nothing of it is stored.
func TestBadBodies(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	now := time.Now()
	raw, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{series([]prompb.Sample{sampleAt(now, 1)}, "__name__", "bad_body")}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	good := snappy.Encode(nil, raw)
	for _, c := range []struct {
		name    string
		body    []byte
		changes map[string]string // of the header of 1.0
		status  int
		words   string
	}{
		{"empty", nil, nil, 400, "snappy"},
		{"not snappy", []byte("hello, world"), nil, 400, "snappy"},
		{"snappy cut short", good[:len(good)-3], nil, 400, "snappy"},
		{"framed snappy", framed(t, raw), nil, 400, "snappy"},
		{"not compressed", raw, map[string]string{"Content-Encoding": ""}, 400, "snappy"},
		{"bomb: 2 GiB in six bytes", binary.AppendUvarint(nil, 2<<30), nil, 400, "more than"},
		{"bomb: zeros", snappy.Encode(nil, make([]byte, 33<<20)), nil, 400, "decodes to 34603008 bytes"},
		{"more than a body may be", bytes.Repeat([]byte{1}, 32<<20+1), nil, 413, "more than 33554432"},
		{"protobuf cut short", snappy.Encode(nil, raw[:len(raw)-2]), nil, 400, ""},
		{"no protobuf", snappy.Encode(nil, []byte("{}")), nil, 400, ""},
		{"JSON", good, map[string]string{"Content-Type": "application/json"}, 415, "application/x-protobuf"},
		{"a message that is none", good, map[string]string{"Content-Type": "application/x-protobuf;proto=prometheus.ReadRequest"}, 415, "prometheus.WriteRequest"},
		{"no media type", good, map[string]string{"Content-Type": ";;"}, 415, "content type"},
		{"wrong type before bad body", []byte("x"), map[string]string{"Content-Type": "text/plain"}, 415, "application/x-protobuf"},
		{"gzip", good, map[string]string{"Content-Encoding": "gzip"}, 415, "snappy"},
	} {
		r := a.Post(t, "/api/v1/write", writeHeader(contentV1, c.changes), c.body)
		if r.status != c.status || !strings.Contains(string(r.body), c.words) || len(r.body) == 0 {
			t.Errorf("%s: %v, want %d and %q", c.name, r, c.status, c.words)
		}
	}
	if r := a.Get(t, "/api/v1/write"); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != http.MethodPost {
		t.Errorf("GET: %v, allow %q, want 405 and POST", r, r.header.Get("Allow"))
	}
	if got := a.Series(t, `{__name__=~".+"}`, time.UnixMilli(0), now.Add(time.Hour)); len(got) != 0 {
		t.Errorf("stored: %v, want nothing", got)
	}
	// The same body with the right header is stored: nothing else was wrong with it.
	a.Post(t, "/api/v1/write", writeHeader(contentV1, nil), good).ok(t)
	if got := a.Query(t, "bad_body", now); len(got) != 1 {
		t.Errorf("the good body: %v, want one series", got)
	}
}

// framed returns a stream of snappy, which remote write does not take.
func framed(t *testing.T, raw []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := snappy.NewBufferedWriter(&b)
	if _, err := w.Write(raw); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// badSeries is a series that can never be stored, and a word of the reason.
type badSeries struct {
	name   string
	series prompb.TimeSeries
	words  string
}

func badSeriesTable(now time.Time) []badSeries {
	one := []prompb.Sample{sampleAt(now, 1)}
	at := func(ms int64) prompb.TimeSeries {
		return series([]prompb.Sample{{Timestamp: ms, Value: 1}}, "__name__", "bad_series", "kind", "time")
	}
	of := func(h *histogram.Histogram) prompb.TimeSeries {
		ts := series(nil, "__name__", "bad_series", "kind", "histogram")
		ts.Histograms = []prompb.Histogram{prompb.FromIntHistogram(now.UnixMilli(), h)}
		return ts
	}
	one64 := []histogram.Span{{Length: 1}}
	return []badSeries{
		{"no name", series(one, "job", "a"), "no metric name"},
		{"empty name", series(one, "__name__", "", "job", "a"), "no metric name"},
		{"no labels", series(one), "no metric name"},
		{"empty label name", series(one, "__name__", "bad_series", "", "x"), "empty label name"},
		{"label twice", series(one, "__name__", "bad_series", "job", "a", "job", "b"), `label "job" occurs twice`},
		{"value not UTF-8", series(one, "__name__", "bad_series", "job", "\xff"), "not UTF-8"},
		{"label name not UTF-8", series(one, "__name__", "bad_series", "\xff", "a"), "not UTF-8"},
		{"metric name not UTF-8", series(one, "__name__", "bad\xff"), "not UTF-8"},
		{"time before 1970", at(-1), "negative"},
		{"least time", at(math.MinInt64), "negative"},
		{"in an hour", at(now.Add(time.Hour).UnixMilli()), "in the future"},
		{"after 2106", at(1 << 45), "after the year 2106"},
		{"greatest time", at(math.MaxInt64), "after the year 2106"},
		{"histogram of schema 100", of(&histogram.Histogram{Schema: 100}), "schema"},
		{"histogram of a wrong count", of(&histogram.Histogram{Count: 5, PositiveSpans: one64, PositiveBuckets: []int64{1}}), "count"},
		{"histogram of a negative bucket", of(&histogram.Histogram{Count: 1, PositiveSpans: one64, PositiveBuckets: []int64{-1}}), "negative"},
		{"histogram with fewer buckets than spans", of(&histogram.Histogram{Count: 1, PositiveSpans: []histogram.Span{{Length: 3}}, PositiveBuckets: []int64{1}}), "span"},
		{"histogram with bounds out of order", of(&histogram.Histogram{
			Schema: histogram.CustomBucketsSchema, Count: 1, PositiveSpans: one64, PositiveBuckets: []int64{1}, CustomValues: []float64{2, 1},
		}), "increasing order"},
	}
}

// TestBadSeries sends each bad series between two good ones, by both versions: the answer is 400
// with the reason, the good ones are stored, and the answer to 2.0 counts them.
func TestBadSeries(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	now := time.Now().Truncate(time.Millisecond)
	table := badSeriesTable(now)
	for i, c := range table {
		for _, version := range []string{"1.0", "2.0"} {
			neighbour := func(side string) prompb.TimeSeries {
				return series([]prompb.Sample{sampleAt(now, float64(i))}, "__name__", "neighbour", "case", c.name, "side", side, "version", version)
			}
			all := []prompb.TimeSeries{neighbour("before"), c.series, neighbour("after")}
			r := sendVersion(t, a, version, all)
			if r.status != 400 || !strings.Contains(string(r.body), c.words) || !strings.Contains(string(r.body), "the rest is stored") {
				t.Errorf("%s by %s: %v, want 400 and %q", c.name, version, r, c.words)
			}
			if got, want := written(r), map[string]string{"1.0": "//", "2.0": "2/0/0"}[version]; got != want {
				t.Errorf("%s by %s: written %s, want %s", c.name, version, got, want)
			}
		}
	}
	if got, want := len(a.Query(t, "neighbour", now)), 4*len(table); got != want {
		t.Errorf("%d neighbours are stored, want %d", got, want)
	}
	if got := a.Series(t, `{__name__!="neighbour", __name__=~".+"}`, time.UnixMilli(0), now.Add(2*time.Hour)); len(got) != 0 {
		t.Errorf("bad series are stored: %v", got)
	}
}

// TestBadReferences sends series of 2.0 whose labels are not in the table of strings, together with
// a good one.
func TestBadReferences(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	now := time.Now()
	for _, c := range []struct {
		name  string
		refs  []uint32
		words string
	}{
		{"odd", []uint32{1, 2, 3}, "odd number"},
		{"beyond the table", []uint32{1, 2, 3, 99}, "symbol 99"},
		{"greatest", []uint32{1, math.MaxUint32}, "symbol 4294967295"},
		{"none", nil, "no metric name"},
	} {
		m := asV2([]prompb.TimeSeries{
			series([]prompb.Sample{sampleAt(now, 1)}, "__name__", "good", "case", c.name),
			series([]prompb.Sample{sampleAt(now, 1)}, "__name__", "bad"),
		})
		m.Timeseries[1].LabelsRefs = c.refs
		r := a.WriteV2(t, m)
		if r.status != 400 || !strings.Contains(string(r.body), c.words) || written(r) != "1/0/0" {
			t.Errorf("%s: %v, written %s, want 400, %q and 1/0/0", c.name, r, written(r), c.words)
		}
		if got := a.Query(t, fmt.Sprintf("good{case=%q}", c.name), now); len(got) != 1 {
			t.Errorf("%s: the good series = %v", c.name, got)
		}
	}
}

// TestWrittenHeaders counts what the answers to 2.0 report as written, and reads it all back.
func TestWrittenHeaders(t *testing.T) {
	needE2E(t)
	t.Parallel()
	a := startAdapter(t)
	now := time.Now().Truncate(time.Millisecond)
	ts := series([]prompb.Sample{sampleAt(now.Add(-time.Second), 1), sampleAt(now.Add(-2*time.Second), 2)}, "__name__", "written")
	ts.Histograms = []prompb.Histogram{prompb.FromIntHistogram(now.UnixMilli(), &histogram.Histogram{Count: 1, ZeroCount: 1, ZeroThreshold: 0.1, Sum: 0.05})}
	ts.Exemplars = []prompb.Exemplar{{Labels: []prompb.Label{{Name: "trace_id", Value: "1"}}, Value: 1, Timestamp: now.UnixMilli()}}
	alone := prompb.TimeSeries{Labels: series(nil, "__name__", "written", "exemplar", "alone").Labels, Exemplars: ts.Exemplars}
	all := []prompb.TimeSeries{ts, alone}
	// samples that are sent again count again: the sender compares with what it sent
	for _, again := range []bool{false, true} {
		if r := sendVersion(t, a, "2.0", all); r.status != http.StatusNoContent || written(r) != "2/1/2" {
			t.Errorf("again %v: %v, written %s, want 204 and 2/1/2", again, r, written(r))
		}
	}
	if r := sendVersion(t, a, "1.0", all); r.status != http.StatusNoContent || written(r) != "//" {
		t.Errorf("1.0: %v, written %s, want 204 and no header", r, written(r))
	}
	got := a.Read(t, now.Add(-time.Minute), now, equals("__name__", "written"))
	if len(got) != 1 || len(got[0].Samples) != 2 || len(got[0].Histograms) != 1 {
		t.Errorf("read back %v, want a series of two samples and a histogram", got)
	}
	// A message of one version under the name of the other: the answer to 2.0 reports that nothing
	// was written.
	if r := a.Post(t, "/api/v1/write", writeHeader(contentV2, nil), snappied(t, &prompb.WriteRequest{Timeseries: all})); written(r) != "0/0/0" {
		t.Errorf("1.0 called 2.0: %v, written %s, want 0/0/0", r, written(r))
	}
}

func written(r reply) string {
	const prefix = "X-Prometheus-Remote-Write-"
	return fmt.Sprintf("%s/%s/%s", r.header.Get(prefix+"Samples-Written"), r.header.Get(prefix+"Histograms-Written"), r.header.Get(prefix+"Exemplars-Written"))
}

func sendVersion(t *testing.T, a *adapter, version string, all []prompb.TimeSeries) reply {
	t.Helper()
	if version == "1.0" {
		return a.Write(t, all...)
	}
	return a.WriteV2(t, asV2(all))
}

// asV2 returns the same series in a message of 2.0.
func asV2(all []prompb.TimeSeries) *writev2.Request {
	symbols := writev2.NewSymbolTable()
	refs := func(ls []prompb.Label) (out []uint32) {
		for _, l := range ls {
			out = append(out, symbols.Symbolize(l.Name), symbols.Symbolize(l.Value))
		}
		return out
	}
	m := &writev2.Request{}
	for _, s := range all {
		ts := writev2.TimeSeries{LabelsRefs: refs(s.Labels)}
		for _, v := range s.Samples {
			ts.Samples = append(ts.Samples, writev2.Sample{Value: v.Value, Timestamp: v.Timestamp})
		}
		for _, h := range s.Histograms {
			ts.Histograms = append(ts.Histograms, writev2.FromIntHistogram(0, h.Timestamp, h.ToIntHistogram()))
		}
		for _, e := range s.Exemplars {
			ts.Exemplars = append(ts.Exemplars, writev2.Exemplar{LabelsRefs: refs(e.Labels), Value: e.Value, Timestamp: e.Timestamp})
		}
		m.Timeseries = append(m.Timeseries, ts)
	}
	m.Symbols = symbols.Symbols()
	return m
}
