package otlp

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/queryable"
	"github.com/tsdbridge/tsdbridge/prometheus/writelimits"
	"github.com/tsdbridge/tsdbridge/storage"
	"github.com/tsdbridge/tsdbridge/storage/kv"
	"github.com/tsdbridge/tsdbridge/storage/store"
	"github.com/tsdbridge/tsdbridge/translate"
)

// door is a Handler over a store, and what reads it.
type door struct {
	*Handler
	*queryable.Store
	stored  *store.Store
	options Options
}

func newDoor(t testing.TB, change ...func(*Options)) *door {
	t.Helper()
	names, err := translate.New()
	if err != nil {
		t.Fatal(err)
	}
	s := promtest.OpenStore(t, kv.NewMem(promtest.Tables()...))
	o := DefaultOptions()
	o.Appender, o.Reader, o.Metadata, o.Names, o.Now = s, s, s.Documents(), names, promtest.Now
	o.Intake = writelimits.New(writelimits.Options{Requests: 256, InFlightBytes: 256 << 20, Timeout: 20 * time.Second})
	o.Logger, o.Registerer, o.SeriesCache = slog.New(slog.DiscardHandler), prometheus.NewRegistry(), 10_000
	for _, c := range change {
		c(&o)
	}
	return &door{New(o), queryable.New(s, names, queryable.Limits{}), s, o}
}

// again returns a door over the same store that remembers nothing.
func (d *door) again() *door {
	o := d.options
	o.Registerer = prometheus.NewRegistry()
	return &door{New(o), d.Store, d.stored, o}
}

// dump returns the samples of all series, a line each, sorted.
func (d *door) dump(t testing.TB) string {
	t.Helper()
	q, err := d.Querier(0, storage.MaxTime)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	var lines []string
	set := q.Select(t.Context(), true, nil, promtest.Matchers(t, `{__name__=~".+"}`)...)
	for set.Next() {
		ls := set.At().Labels()
		it := set.At().Iterator(nil)
		for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
			switch kind {
			case chunkenc.ValFloat:
				at, v := it.At()
				lines = append(lines, floatLine(ls, at, v))
			case chunkenc.ValHistogram:
				at, h := it.AtHistogram(nil)
				lines = append(lines, histogramLine(ls, at, h))
			default:
				at, h := it.AtFloatHistogram(nil)
				lines = append(lines, fmt.Sprintf("%s %d float %s\n", ls, at, h))
			}
		}
	}
	if err := set.Err(); err != nil {
		t.Fatal(err)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

func floatLine(ls labels.Labels, at int64, v float64) string {
	return fmt.Sprintf("%s %d %v %x\n", ls, at, v, math.Float64bits(v))
}

func histogramLine(ls labels.Labels, at int64, h *histogram.Histogram) string {
	return fmt.Sprintf("%s %d schema %d zero %d %s\n", ls, at, h.Schema, h.ZeroCount, h)
}

// post sends a body and returns the status and the answer.
func post(t testing.TB, h http.Handler, contentType string, body []byte, header ...string) (int, string) {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v1/otlp/v1/metrics", bytes.NewReader(body))
	req.Header.Set("Content-Type", contentType)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, req)
	return w.Code, w.Body.String()
}

// send sends metrics as protobuf, and returns the status, the rejected points and the text.
func send(t testing.TB, h http.Handler, md pmetric.Metrics) (status int, rejected int64, text string) {
	t.Helper()
	status, body := post(t, h, "application/x-protobuf", encode(t, md))
	if status != http.StatusOK {
		return status, 0, body
	}
	answer := pmetricotlp.NewExportResponse()
	if err := answer.UnmarshalProto([]byte(body)); err != nil {
		t.Fatal(err)
	}
	return status, answer.PartialSuccess().RejectedDataPoints(), answer.PartialSuccess().ErrorMessage()
}

func encode(t testing.TB, md pmetric.Metrics) []byte {
	t.Helper()
	b, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// second returns a time so many seconds before promtest.Now.
func second(ago int) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(promtest.Now().Add(-time.Duration(ago) * time.Second))
}

// one returns metrics with one resource and one metric.
func one(name string) (pmetric.Metrics, pmetric.Metric) {
	md := pmetric.NewMetrics()
	r := md.ResourceMetrics().AppendEmpty()
	r.Resource().Attributes().PutStr("service.name", "shop")
	r.Resource().Attributes().PutStr("service.instance.id", "1")
	m := r.ScopeMetrics().AppendEmpty().Metrics().AppendEmpty()
	m.SetName(name)
	return md, m
}

// sum returns metrics with a sum of one point.
func sum(name string, temporality pmetric.AggregationTemporality, start, at pcommon.Timestamp, v float64) pmetric.Metrics {
	md, m := one(name)
	s := m.SetEmptySum()
	s.SetAggregationTemporality(temporality)
	s.SetIsMonotonic(true)
	p := s.DataPoints().AppendEmpty()
	p.SetStartTimestamp(start)
	p.SetTimestamp(at)
	p.SetDoubleValue(v)
	return md
}

func TestFormats(t *testing.T) {
	md := sum("requests", pmetric.AggregationTemporalityCumulative, second(60), second(10), 5)
	proto := encode(t, md)
	json, err := pmetricotlp.NewExportRequestFromMetrics(md).MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(proto); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	want := floatLine(labels.FromStrings("__name__", "requests_total", "instance", "1", "job", "shop"), promtest.Now().Unix()*1000-10_000, 5)
	for _, tc := range []struct {
		contentType string
		body        []byte
		header      []string
		answer      string
	}{
		{"application/x-protobuf", proto, nil, ""},
		{"application/json; charset=utf-8", json, nil, "{}"},
		{"application/x-protobuf", packed.Bytes(), []string{"Content-Encoding", "gzip"}, ""},
	} {
		d := newDoor(t)
		for range 2 {
			if status, text := post(t, d, tc.contentType, tc.body, tc.header...); status != http.StatusOK || text != tc.answer {
				t.Errorf("%s: %d %q", tc.contentType, status, text)
			}
		}
		if got := d.dump(t); got != want {
			t.Errorf("%s: stored %s, want %s", tc.contentType, got, want)
		}
	}
}

func TestBadRequests(t *testing.T) {
	deep := bytes.Repeat([]byte("["), 1000)
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	if _, err := z.Write(make([]byte, 3<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		contentType string
		body        []byte
		coding      string
		status      int
		want        string
	}{
		{"text/plain", nil, "", http.StatusUnsupportedMediaType, "content type"},
		{"application/x-protobuf", nil, "snappy", http.StatusUnsupportedMediaType, "snappy"},
		{"application/x-protobuf", []byte{0xa, 5, 1}, "", http.StatusBadRequest, "malformed"},
		{"application/x-protobuf", []byte("no gzip"), "gzip", http.StatusBadRequest, "read body"},
		{"application/x-protobuf", bomb.Bytes(), "gzip", http.StatusRequestEntityTooLarge, "--write.max-body-bytes"},
		{"application/x-protobuf", make([]byte, 2<<20), "", http.StatusRequestEntityTooLarge, "--write.max-body-bytes"},
		{"application/json", deep, "", http.StatusBadRequest, `"code":3,"message":"JSON nested too deeply"`},
		{"application/json", []byte("{"), "", http.StatusBadRequest, "JSON"},
	} {
		d := newDoor(t, func(o *Options) { o.BodyBytes = 1 << 20 })
		header := []string{}
		if tc.coding != "" {
			header = []string{"Content-Encoding", tc.coding}
		}
		if status, text := post(t, d, tc.contentType, tc.body, header...); status != tc.status || !strings.Contains(text, tc.want) {
			t.Errorf("%s %.20q: %d %q, want %d %q", tc.contentType, tc.body, status, text, tc.status, tc.want)
		}
		if held := d.intake.Gate().Bytes(); held != 0 {
			t.Errorf("%.20q: %d bytes are held", tc.body, held)
		}
	}
}

// TestPartialSuccess sends what cannot be stored with what can.
func TestPartialSuccess(t *testing.T) {
	md, m := one("good")
	good := m.SetEmptyGauge().DataPoints().AppendEmpty()
	good.SetTimestamp(second(5))
	good.SetIntValue(1)
	metrics := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics()
	add := func(name string) pmetric.Metric {
		m := metrics.AppendEmpty()
		m.SetName(name)
		return m
	}
	late := add("late").SetEmptyGauge().DataPoints()
	late.AppendEmpty().SetTimestamp(second(-10_000))
	late.AppendEmpty().SetTimestamp(second(7)) // comes after a bad one
	add("").SetEmptyGauge().DataPoints().AppendEmpty().SetTimestamp(second(5))
	add("unspecified").SetEmptySum().DataPoints().AppendEmpty().SetTimestamp(second(5))
	coarse := add("coarse").SetEmptyExponentialHistogram()
	coarse.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	p := coarse.DataPoints().AppendEmpty()
	p.SetTimestamp(second(5))
	p.SetScale(-10)
	nameless := add("nameless").SetEmptyGauge().DataPoints()
	nameless.AppendEmpty().SetTimestamp(second(5))
	nameless.At(0).Attributes().PutStr("", "x")
	nameless.AppendEmpty().SetTimestamp(second(6))
	deep := add("deep").SetEmptyGauge().DataPoints().AppendEmpty()
	deep.SetTimestamp(second(5))
	value := deep.Attributes().PutEmpty("a")
	for range 30 {
		value = value.SetEmptySlice().AppendEmpty()
	}
	far := add("far").SetEmptyExponentialHistogram()
	far.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	p = far.DataPoints().AppendEmpty()
	p.SetTimestamp(second(5))
	p.SetCount(1)
	p.Positive().SetOffset(math.MaxInt32 - 9)
	p.Positive().BucketCounts().FromRaw([]uint64{1})
	d := newDoor(t)
	status, rejected, text := send(t, d, md)
	if status != http.StatusOK || rejected != 7 {
		t.Errorf("%d, %d rejected: %s", status, rejected, text)
	}
	for _, want := range []string{"refused 7 of 10 data points", `metric "late"`, "--write.max-future", "no metric name", `metric "unspecified": neither`, `metric "coarse": scale -10`, `; and 2 more`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
	got := d.dump(t)
	for _, want := range []string{`__name__="good"`, `__name__="late"`, `__name__="nameless"`} {
		if strings.Count(got, want) != 1 {
			t.Errorf("stored %s, want one of %s", got, want)
		}
	}
	for _, timeless := range []pmetric.Metrics{
		sum("x", pmetric.AggregationTemporalityCumulative, 0, 0, 1), sum("x", pmetric.AggregationTemporalityCumulative, second(5), 0, 1),
		sum("x", pmetric.AggregationTemporalityDelta, second(5), 0, 1),
	} {
		if status, _, text := send(t, d, timeless); status != http.StatusBadRequest || !strings.Contains(text, "no time") {
			t.Errorf("no time: %d %q", status, text)
		}
	}
	if status, _, text := send(t, d, sum("x", pmetric.AggregationTemporalityUnspecified, 0, second(5), 1)); status != http.StatusBadRequest || !strings.Contains(text, "neither") {
		t.Errorf("all refused: %d %q", status, text)
	}
}

// TestBadExemplars: a point is stored without those of its exemplars that are bad.
func TestBadExemplars(t *testing.T) {
	md := sum("m", pmetric.AggregationTemporalityCumulative, 0, second(5), 1)
	p := md.ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().DataPoints().At(0)
	p.Exemplars().AppendEmpty().SetTimestamp(second(6)) // without a value
	good := p.Exemplars().AppendEmpty()
	good.SetTimestamp(second(7))
	good.SetIntValue(7)
	deep := p.Exemplars().AppendEmpty()
	deep.SetIntValue(8)
	value := deep.FilteredAttributes().PutEmpty("a")
	for range 30 {
		value = value.SetEmptySlice().AppendEmpty()
	}
	p.Exemplars().AppendEmpty() // the last bytes of the point
	d := newDoor(t)
	status, rejected, text := send(t, d, md)
	if status != http.StatusOK || rejected != 0 || strings.Count(text, "exemplar: no value") != 2 || !strings.Contains(text, "16 deep") {
		t.Errorf("%d, %d rejected: %s", status, rejected, text)
	}
	if got := d.dump(t); !strings.Contains(got, `__name__="m_total"`) {
		t.Errorf("stored %s", got)
	}
	q, err := d.ExemplarQuerier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := q.Select(0, storage.MaxTime, promtest.Matchers(t, `{__name__="m_total"}`))
	if err != nil || len(found) != 1 || len(found[0].Exemplars) != 1 || found[0].Exemplars[0].Value != 7 {
		t.Errorf("exemplars %v, %v", found, err)
	}
}

// recording is an appendable of the module that keeps what it gets.
type recording struct{ lines map[string]string }

func (r *recording) AppenderV2(ctx contextT) promstorage.AppenderV2 {
	return &recordingAppender{recording: r}
}

type recordingAppender struct {
	*recording
	capture
}

func (r *recordingAppender) Append(_ promstorage.SeriesRef, ls labels.Labels, _, at int64, v float64, h *histogram.Histogram, _ *histogram.FloatHistogram, _ promstorage.AppendV2Options) (promstorage.SeriesRef, error) {
	line := floatLine(ls, at, v)
	if h != nil {
		line = histogramLine(ls, at, h)
	}
	r.lines[fmt.Sprint(ls, at)] = line
	return 1, nil
}

func (r *recording) dump() string {
	var lines []string
	for _, line := range r.lines {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
