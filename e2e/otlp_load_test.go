package e2e_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/prompb"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

const otlpPath = "/api/v1/otlp/v1/metrics"

// otlpLoad sends metrics of OpenTelemetry as fast as they are acknowledged. Each writer is a resource
// of its own. It repeats a request until it is acknowledged, so all its requests up to a number are
// acknowledged, and one more may be stored.
type otlpLoad struct {
	*writers

	first time.Time // of the first request
}

// otlpStep is the time between the requests of a writer.
const otlpStep = 100 * time.Millisecond

func startOTLPLoad(t testing.TB, c client, writers int) *otlpLoad {
	t.Helper()
	l := &otlpLoad{writers: newWriters(t, writers), first: time.Now().Add(-3 * time.Hour).Truncate(time.Millisecond)}
	l.start(func(ctx context.Context, w int) { l.write(ctx, c, w) })
	return l
}

// WaitAcked waits until n more requests are acknowledged.
func (l *otlpLoad) WaitAcked(t testing.TB, n int64) {
	t.Helper()
	waitMore(t, n, "requests", l.Requests)
}

// write sends requests in turn as protobuf, gzip and JSON.
func (l *otlpLoad) write(ctx context.Context, c client, w int) {
	for n := 0; ; n++ {
		body, header := otlpBody(l.t, l.metrics(w, n), (n+w)%3)
		for !l.send(ctx, c, header, body) {
			if !l.again(ctx) {
				return
			}
		}
		l.acked[w].Add(1)
	}
}

// send reports whether all of a request is acknowledged. A refusal fails the test.
func (l *otlpLoad) send(ctx context.Context, c client, header map[string]string, body []byte) bool {
	r, err := c.do(ctx, http.MethodPost, otlpPath, header, body)
	if err != nil || r.status/100 == 5 {
		return false
	}
	if r.status != http.StatusOK || len(r.body) > len("{}") {
		l.t.Errorf("answer %v", r)
	}
	return true
}

// otlpBody encodes metrics: as protobuf, as protobuf with gzip, or as JSON.
func otlpBody(t testing.TB, md pmetric.Metrics, form int) (body []byte, header map[string]string) {
	t.Helper()
	req := pmetricotlp.NewExportRequestFromMetrics(md)
	header = map[string]string{"Content-Type": "application/x-protobuf"}
	marshal := req.MarshalProto
	if form == 2 {
		header["Content-Type"], marshal = "application/json", req.MarshalJSON
	}
	body, err := marshal()
	if err == nil && form == 1 {
		header["Content-Encoding"] = "gzip"
		body, err = gzipped(body)
	}
	if err != nil {
		t.Fatal(err)
	}
	return body, header
}

func gzipped(body []byte) ([]byte, error) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(body); err != nil {
		return nil, err
	}
	err := z.Close()
	return packed.Bytes(), err
}

// metrics returns the n-th request of a writer: a cumulative sum of n, and deltas of n+1: a sum, a
// histogram and an exponential histogram.
func (l *otlpLoad) metrics(w, n int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	r := md.ResourceMetrics().AppendEmpty()
	r.Resource().Attributes().PutStr("service.name", "kill")
	r.Resource().Attributes().PutStr("service.instance.id", strconv.Itoa(w))
	r.Resource().Attributes().PutStr("host.name", "web01")
	all := r.ScopeMetrics().AppendEmpty().Metrics()
	origin, from, at := l.at(-1), l.at(n-1), l.at(n)
	sum := namedMetric(all, "cumulative").SetEmptySum()
	sum.SetIsMonotonic(true)
	sum.SetAggregationTemporality(pmetric.AggregationTemporalityCumulative)
	addNumber(sum.DataPoints(), origin, at, float64(n))
	delta := namedMetric(all, "delta").SetEmptySum()
	delta.SetIsMonotonic(true)
	delta.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	addNumber(delta.DataPoints(), from, at, float64(n+1))
	h := namedMetric(all, "explicit").SetEmptyHistogram()
	h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	p := h.DataPoints().AppendEmpty()
	p.SetStartTimestamp(from)
	p.SetTimestamp(at)
	p.SetCount(uint64(n + 3))
	p.SetSum(float64(n + 1))
	p.ExplicitBounds().FromRaw([]float64{1, 2})
	p.BucketCounts().FromRaw([]uint64{1, uint64(n + 1), 1})
	e := namedMetric(all, "exponential").SetEmptyExponentialHistogram()
	e.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
	q := e.DataPoints().AppendEmpty()
	q.SetStartTimestamp(from)
	q.SetTimestamp(at)
	q.SetCount(uint64(n + 3))
	q.SetSum(float64(n + 1))
	q.Positive().BucketCounts().FromRaw([]uint64{1, uint64(n + 1), 1})
	return md
}

func namedMetric(all pmetric.MetricSlice, name string) pmetric.Metric {
	m := all.AppendEmpty()
	m.SetName(name)
	return m
}

func addNumber(points pmetric.NumberDataPointSlice, start, at pcommon.Timestamp, v float64) {
	p := points.AppendEmpty()
	p.SetStartTimestamp(start)
	p.SetTimestamp(at)
	p.SetDoubleValue(v)
}

func (l *otlpLoad) at(n int) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(l.first.Add(time.Duration(n) * otlpStep))
}

// otlpValues are what the series of a writer have after request n, by name and bound.
func otlpValues(n int) map[string]float64 {
	steps, sum := float64(n+1), float64((n+1)*(n+2)/2)
	return map[string]float64{
		"cumulative_total": float64(n), "delta_total": sum, "explicit_sum": sum, "explicit_count": sum + 2*steps,
		"explicit_bucket1": steps, "explicit_bucket2": steps + sum, "explicit_bucket+Inf": sum + 2*steps,
		"exponential sum": sum, "exponential count": sum + 2*steps, "target_info": 1,
	}
}

// Verify stops the load and compares all that is stored with what was acknowledged.
func (l *otlpLoad) Verify(t testing.TB, c client) {
	t.Helper()
	l.Stop()
	total := 0
	for w := range l.acked {
		acked := int(l.acked[w].Load())
		got := map[int]map[string]float64{} // by the number of the request
		for _, ts := range c.Read(t, l.first.Add(-time.Hour), time.Now(), equals("job", "kill"), equals("instance", strconv.Itoa(w))) {
			l.collect(t, ts, got)
		}
		for n := range acked {
			l.compare(t, w, n, got[n])
		}
		switch len(got) - acked {
		case 0:
		case 1:
			l.compare(t, w, acked, got[acked]) // it was under way
		default:
			t.Errorf("writer %d: %d requests are stored, %d acknowledged", w, len(got), acked)
		}
		total += acked
	}
	t.Logf("OTLP: %d requests acknowledged, %d sent again", total, l.Retries())
}

// collect adds the samples of a series.
func (l *otlpLoad) collect(t testing.TB, ts *prompb.TimeSeries, to map[int]map[string]float64) {
	t.Helper()
	b := labels.NewScratchBuilder(0)
	ls := ts.ToLabels(&b, nil)
	add := func(at int64, name string, v float64) {
		n := int(timestamp.Time(at).Sub(l.first) / otlpStep)
		if to[n] == nil {
			to[n] = map[string]float64{}
		}
		if before, twice := to[n][name]; twice && name != "target_info" {
			t.Errorf("%s twice at %d: %v and %v", ls, at, before, v)
		}
		to[n][name] = v
	}
	for _, s := range ts.Samples {
		add(s.Timestamp, ls.Get("__name__")+ls.Get("le"), s.Value)
	}
	for i := range ts.Histograms {
		h := &ts.Histograms[i]
		add(h.Timestamp, ls.Get("__name__")+" sum", h.Sum)
		add(h.Timestamp, ls.Get("__name__")+" count", float64(h.GetCountInt()))
	}
}

func (l *otlpLoad) compare(t testing.TB, w, n int, got map[string]float64) {
	t.Helper()
	for name, v := range otlpValues(n) {
		if have, ok := got[name]; !ok || have != v {
			t.Errorf("writer %d, request %d: %s is %v, want %v", w, n, name, have, v)
		}
	}
}
