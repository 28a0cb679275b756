package adapter

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/klauspost/compress/snappy"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// testNow is the clock of these tests: 2026-01-01T00:00:00Z, 1767225600000 ms.
func testNow() time.Time { return time.Unix(1_767_225_600, 0) }

// writeDoor is a handler over a store that remembers.
type writeDoor struct {
	http.Handler
	store    *recordingStore
	registry *prometheus.Registry
}

func newWriteDoor(change func(*WriteLimits)) writeDoor {
	limits := DefaultWriteLimits()
	if change != nil {
		change(&limits)
	}
	d := writeDoor{store: newRecordingStore(), registry: prometheus.NewPedanticRegistry()}
	d.Handler = newWriteHandler(writeOptions{
		Appender: d.store, Metadata: d.store, Translator: plainNames{}, Limits: limits,
		Logger: slog.New(slog.DiscardHandler), Registerer: d.registry, Now: testNow,
	})
	return d
}

// post sends a body as it is. Headers are name, value, ...
func (d writeDoor) post(body []byte, headers ...string) *http.Response {
	r := httptest.NewRequest(http.MethodPost, "/api/v1/write", bytes.NewReader(body))
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, r)
	return w.Result()
}

// send sends a message as its version demands.
func (d writeDoor) send(v wireVersion, message []byte) *http.Response {
	contentType := "application/x-protobuf"
	if v == wireV2 {
		contentType += ";proto=" + protoV2
	}
	return d.post(snappy.Encode(nil, message), "Content-Type", contentType, "Content-Encoding", "snappy")
}

// describe prints what a client sees of an answer.
func describe(t testing.TB, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	out := strconv.Itoa(res.StatusCode)
	if n := res.Header.Get("X-Prometheus-Remote-Write-Samples-Written"); n != "" {
		out += fmt.Sprintf(" written %s/%s/%s", n, res.Header.Get("X-Prometheus-Remote-Write-Histograms-Written"), res.Header.Get("X-Prometheus-Remote-Write-Exemplars-Written"))
	}
	return strings.TrimSpace(out + " " + string(text))
}

// TestRemoteWrite runs testdata/remote_write. A case is one request, sent as 1.0, as 2.0 or as both, each to a store of its own:
//
//	write [1|2]         both without a number
//	{__name__="up", job="a"} 1@1000 ...
//	metadata counter "family" "help" "unit"
//	----
//	what is answered, then what is stored
//
// A datum is value@milliseconds, value@milliseconds<start, int:NAME@..., float:NAME@... (a histogram of testHistograms),
// ex:{labels}=value@milliseconds or meta:type,"help","unit". Values are Go floats or nan:BITS.
func TestRemoteWrite(t *testing.T) {
	datadriven.RunTest(t, "testdata/remote_write", func(t *testing.T, d *datadriven.TestData) string {
		req, err := parseWrite(d.Input)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		v1, v2 := newWriteDoor(nil), newWriteDoor(nil)
		answer1 := func() string { m := req.v1(); return describe(t, v1.send(wireV1, marshal(t, &m))) }
		answer2 := func() string { m := req.v2(); return describe(t, v2.send(wireV2, marshal(t, &m))) }
		switch {
		case d.HasArg("1"):
			return answer1() + "\n" + v1.store.String()
		case d.HasArg("2"):
			return answer2() + "\n" + v2.store.String()
		}
		out := "1.0: " + answer1() + "\n2.0: " + answer2() + "\n"
		if one, two := v1.store.String(), v2.store.String(); one != two {
			return out + "1.0: " + one + "2.0: " + two
		}
		return out + v1.store.String()
	})
}

// writeText is a request in neither version.
type writeText struct {
	series   []writeTextSeries
	metadata []prompb.MetricMetadata
}

type writeTextSeries struct {
	labels     []prompb.Label
	samples    []writev2.Sample
	exemplars  []prompb.Exemplar
	histograms []wireHistogram
	metadata   prompb.MetricMetadata
}

func (q writeText) v1() prompb.WriteRequest {
	out := prompb.WriteRequest{Metadata: q.metadata}
	for _, s := range q.series {
		ts := prompb.TimeSeries{Labels: s.labels, Exemplars: s.exemplars}
		for _, v := range s.samples {
			ts.Samples = append(ts.Samples, prompb.Sample{Value: v.Value, Timestamp: v.Timestamp})
		}
		for _, h := range s.histograms {
			if h.ints != nil {
				ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(h.time, h.ints))
			} else {
				ts.Histograms = append(ts.Histograms, prompb.FromFloatHistogram(h.time, h.floats))
			}
		}
		out.Timeseries = append(out.Timeseries, ts)
	}
	return out
}

func (q writeText) v2() writev2.Request {
	symbols := writev2.NewSymbolTable()
	refs := func(ls []prompb.Label) (out []uint32) {
		for _, l := range ls {
			out = append(out, symbols.Symbolize(l.Name), symbols.Symbolize(l.Value))
		}
		return out
	}
	var out writev2.Request
	for _, s := range q.series {
		ts := writev2.TimeSeries{LabelsRefs: refs(s.labels), Samples: s.samples}
		ts.Metadata = writev2.Metadata{
			Type: writev2.Metadata_MetricType(s.metadata.Type), HelpRef: symbols.Symbolize(s.metadata.Help), UnitRef: symbols.Symbolize(s.metadata.Unit),
		}
		for _, e := range s.exemplars {
			ts.Exemplars = append(ts.Exemplars, writev2.Exemplar{LabelsRefs: refs(e.Labels), Value: e.Value, Timestamp: e.Timestamp})
		}
		for _, h := range s.histograms {
			if h.ints != nil {
				ts.Histograms = append(ts.Histograms, writev2.FromIntHistogram(h.start, h.time, h.ints))
			} else {
				ts.Histograms = append(ts.Histograms, writev2.FromFloatHistogram(h.start, h.time, h.floats))
			}
		}
		out.Timeseries = append(out.Timeseries, ts)
	}
	out.Symbols = symbols.Symbols()
	return out
}

// testHistograms are histograms, good and bad, by name.
func testHistograms() map[string]wireHistogram {
	return map[string]wireHistogram{
		"good": {ints: intHistograms()["exponential"], floats: floatHistograms()["exponential"]},
		"nhcb": {ints: intHistograms()["custom buckets"], floats: &histogram.FloatHistogram{
			Schema: histogram.CustomBucketsSchema, Count: 3, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []float64{3}, CustomValues: []float64{1},
		}},
		"stale":       {ints: intHistograms()["stale"], floats: floatHistograms()["stale"]},
		"schema20":    {ints: fine(20), floats: fine(20).ToFloat(nil)},
		"schema100":   {ints: fine(100), floats: fine(100).ToFloat(nil)},
		"wrong-count": {ints: &histogram.Histogram{Count: 5, ZeroCount: 2}, floats: &histogram.FloatHistogram{Count: -1}},
		"nhcb-unsorted": {ints: &histogram.Histogram{
			Schema: histogram.CustomBucketsSchema, Count: 1, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []int64{1}, CustomValues: []float64{2, 1},
		}},
		"schema20-mismatch": {ints: &histogram.Histogram{Schema: 20, Count: 1, PositiveSpans: []histogram.Span{{Length: 3}}, PositiveBuckets: []int64{1}}},
		"span-mismatch":     {ints: &histogram.Histogram{Count: 1, PositiveSpans: []histogram.Span{{Length: 3}}, PositiveBuckets: []int64{1}}},
	}
}

// fine is a histogram of two neighbouring buckets.
func fine(schema int32) *histogram.Histogram {
	return &histogram.Histogram{Schema: schema, Count: 3, Sum: 3, PositiveSpans: []histogram.Span{{Offset: 1, Length: 2}}, PositiveBuckets: []int64{1, 1}}
}

func parseWrite(input string) (q writeText, err error) {
	for line := range strings.Lines(input) {
		p := &textParser{rest: strings.TrimSpace(line)}
		switch {
		case strings.HasPrefix(p.rest, "#") || p.rest == "":
		case p.skip("metadata "):
			q.metadata = append(q.metadata, p.metadata(true))
		default:
			q.series = append(q.series, p.series())
		}
		if p.err != nil {
			return q, fmt.Errorf("%q at %q: %w", line, p.rest, p.err)
		}
	}
	return q, nil
}

// textParser eats a line from the left; the first error stays.
type textParser struct {
	rest string
	err  error
}

func (p *textParser) skip(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = rest
	return ok
}

// word eats up to one of the characters in end, not itself eaten.
func (p *textParser) word(end string) string {
	i := strings.IndexAny(p.rest, end)
	if i < 0 {
		i = len(p.rest)
	}
	w := p.rest[:i]
	p.rest = p.rest[i:]
	return w
}

func (p *textParser) fail(err error) {
	if err != nil && p.err == nil {
		p.err = err
	}
}

func (p *textParser) quoted() string {
	prefix, err := strconv.QuotedPrefix(p.rest)
	p.fail(err)
	p.rest = p.rest[len(prefix):]
	s, err := strconv.Unquote(prefix)
	p.fail(err)
	return s
}

func (p *textParser) labels() (out []prompb.Label) {
	if !p.skip("{") {
		p.fail(fmt.Errorf("no {"))
	}
	for p.err == nil && !p.skip("}") {
		var l prompb.Label
		if strings.HasPrefix(p.rest, `"`) {
			l.Name = p.quoted()
		} else {
			l.Name = p.word("=")
		}
		if !p.skip("=") {
			p.fail(fmt.Errorf("no ="))
		}
		l.Value = p.quoted()
		out = append(out, l)
		p.skip(", ")
	}
	return out
}

func (p *textParser) int() int64 {
	v, err := strconv.ParseInt(p.word(" <"), 10, 64)
	p.fail(err)
	return v
}

func (p *textParser) float(end string) float64 {
	if p.skip("nan:") {
		bits, err := strconv.ParseUint(p.word(end), 16, 64)
		p.fail(err)
		return math.Float64frombits(bits)
	}
	v, err := strconv.ParseFloat(p.word(end), 64)
	p.fail(err)
	return v
}

// times eats @time or @time<start.
func (p *textParser) times() (time, start int64) {
	if !p.skip("@") {
		p.fail(fmt.Errorf("no @"))
	}
	time = p.int()
	if p.skip("<") {
		start = p.int()
	}
	return time, start
}

func (p *textParser) metadata(family bool) (m prompb.MetricMetadata) {
	m.Type = prompb.MetricMetadata_MetricType(prompb.MetricMetadata_MetricType_value[strings.ToUpper(p.word(" ,"))])
	p.rest = p.rest[1:]
	if family {
		m.MetricFamilyName = p.quoted()
		p.skip(" ")
	}
	m.Help = p.quoted()
	p.rest = p.rest[1:]
	m.Unit = p.quoted()
	return m
}

func (p *textParser) series() (s writeTextSeries) {
	s.labels = p.labels()
	for p.err == nil && p.skip(" ") {
		switch {
		case p.skip("int:"):
			h := wireHistogram{ints: testHistograms()[p.word("@")].ints}
			h.time, h.start = p.times()
			s.histograms = append(s.histograms, h)
		case p.skip("float:"):
			h := wireHistogram{floats: testHistograms()[p.word("@")].floats}
			h.time, h.start = p.times()
			s.histograms = append(s.histograms, h)
		case p.skip("ex:"):
			e := prompb.Exemplar{Labels: p.labels()}
			p.skip("=")
			e.Value = p.float("@")
			e.Timestamp, _ = p.times()
			s.exemplars = append(s.exemplars, e)
		case p.skip("meta:"):
			s.metadata = p.metadata(false)
		default:
			v := writev2.Sample{Value: p.float("@")}
			v.Timestamp, v.StartTimestamp = p.times()
			s.samples = append(s.samples, v)
		}
	}
	return s
}
