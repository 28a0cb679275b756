package write

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"

	"github.com/tsdbridge/tsdbridge/prometheus/histogramcodec"
	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
	"github.com/tsdbridge/tsdbridge/prometheus/wire"
)

// generous never bounds a test.
func generous() messageLimits { return messageLimits{series: math.MaxInt32, data: math.MaxInt32} }

// seenRequest is the result of a decoder, for comparison.
type seenRequest struct {
	Series   []seenSeries
	Metadata []seenMetadata
	Symbols  []string
}

type seenSeries struct {
	Labels     [][2]string
	Refs       []uint32
	Samples    []seenSample
	Histograms []seenHistogram
	Exemplars  []seenExemplar
	Meta       seriesMetadata
}

type seenSample struct {
	Time, Start int64
	Bits        uint64
}

type seenHistogram struct {
	Time, Start int64
	Data        string
}

type seenExemplar struct {
	Labels [][2]string
	Refs   []uint32
	Time   int64
	Bits   uint64
}

type seenMetadata struct {
	Kind               int32
	Family, Help, Unit string
}

// seen walks a body with our code, and parses every block of labels.
func seen(version version, body []byte) (*seenRequest, error) {
	var r message
	r.reset(version)
	if err := r.walk(body, generous()); err != nil {
		return nil, err
	}
	out := &seenRequest{}
	var samples, histograms, exemplars int32
	for _, s := range r.series {
		labels, err := seenLabels(s.block)
		if err != nil {
			return nil, err
		}
		one := seenSeries{Labels: labels, Refs: nonEmpty(r.refs[s.refs.start:s.refs.end]), Meta: s.meta}
		for ; samples < s.samples; samples++ {
			v := r.samples[samples]
			one.Samples = append(one.Samples, seenSample{v.time, v.start, math.Float64bits(v.value)})
		}
		for ; histograms < s.histograms; histograms++ {
			h := r.histograms[histograms]
			one.Histograms = append(one.Histograms, seenHistogram{h.time, h.start, string(anyData(h.ints, h.floats))})
		}
		for ; exemplars < s.exemplars; exemplars++ {
			e := r.exemplars[exemplars]
			if labels, err = seenLabels(e.block); err != nil {
				return nil, err
			}
			one.Exemplars = append(one.Exemplars, seenExemplar{labels, nonEmpty(r.exemplarRefs[e.refs.start:e.refs.end]), e.time, math.Float64bits(e.value)})
		}
		out.Series = append(out.Series, one)
	}
	for _, m := range r.metadata {
		out.Metadata = append(out.Metadata, seenMetadata{m.kind, string(m.family), string(m.help), string(m.unit)})
	}
	for _, s := range r.symbols {
		out.Symbols = append(out.Symbols, string(s))
	}
	return out, nil
}

func seenLabels(block labelBlock) (out [][2]string, err error) {
	raw, err := parseBlock(nil, block.bytes)
	for _, l := range raw {
		out = append(out, [2]string{string(l.name), string(l.value)})
	}
	return out, err
}

// seenV1 returns what the generated code sees.
func seenV1(body []byte) (*seenRequest, error) {
	var req prompb.WriteRequest
	if err := req.Unmarshal(body); err != nil {
		return nil, err
	}
	out := &seenRequest{}
	for _, ts := range req.Timeseries {
		one := seenSeries{Labels: pairsOf(ts.Labels)}
		for _, s := range ts.Samples {
			one.Samples = append(one.Samples, seenSample{s.Timestamp, 0, math.Float64bits(s.Value)})
		}
		for i := range ts.Histograms {
			h := &ts.Histograms[i]
			one.Histograms = append(one.Histograms, seenHistogram{h.Timestamp, 0, dataOf(h)})
		}
		for _, e := range ts.Exemplars {
			one.Exemplars = append(one.Exemplars, seenExemplar{pairsOf(e.Labels), nil, e.Timestamp, math.Float64bits(e.Value)})
		}
		out.Series = append(out.Series, one)
	}
	for _, m := range req.Metadata {
		out.Metadata = append(out.Metadata, seenMetadata{int32(m.Type), m.MetricFamilyName, m.Help, m.Unit})
	}
	return out, nil
}

func pairsOf(ls []prompb.Label) (out [][2]string) {
	for _, l := range ls {
		out = append(out, [2]string{l.Name, l.Value})
	}
	return out
}

// anyData returns a histogram of either kind as it is stored.
func anyData(h *histogram.Histogram, fh *histogram.FloatHistogram) []byte {
	if fh != nil {
		return histogramcodec.EncodeFloatHistogram(fh)
	}
	return histogramcodec.EncodeHistogram(h)
}

func nonEmpty[T any](s []T) []T {
	if len(s) == 0 {
		return nil
	}
	return s
}

func dataOf(p histogramcodec.ProtoHistogram) string {
	return string(anyData(histogramcodec.HistogramOf(p)))
}

func seenV2(body []byte) (*seenRequest, error) {
	var req writev2.Request
	if err := req.Unmarshal(body); err != nil {
		return nil, err
	}
	out := &seenRequest{Symbols: nonEmpty(req.Symbols)}
	for _, ts := range req.Timeseries {
		one := seenSeries{Refs: nonEmpty(ts.LabelsRefs), Meta: seriesMetadata{int32(ts.Metadata.Type), ts.Metadata.HelpRef, ts.Metadata.UnitRef}}
		for _, s := range ts.Samples {
			one.Samples = append(one.Samples, seenSample{s.Timestamp, s.StartTimestamp, math.Float64bits(s.Value)})
		}
		for i := range ts.Histograms {
			h := &ts.Histograms[i]
			one.Histograms = append(one.Histograms, seenHistogram{h.Timestamp, h.StartTimestamp, dataOf(h)})
		}
		for _, e := range ts.Exemplars {
			one.Exemplars = append(one.Exemplars, seenExemplar{nil, nonEmpty(e.LabelsRefs), e.Timestamp, math.Float64bits(e.Value)})
		}
		out.Series = append(out.Series, one)
	}
	return out, nil
}

// compareDecoders fails if our decoder and the generated one differ on a body.
func compareDecoders(t *testing.T, v version, body []byte) {
	t.Helper()
	reference := seenV1
	if v == version2 {
		reference = seenV2
	}
	want, wantErr := reference(body)
	got, err := seen(v, body)
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("walk: %v, generated code: %v", err, wantErr)
	}
	if err != nil && !errors.Is(err, wire.ErrMalformed) {
		t.Fatalf("walk: %v is not an ErrMalformed", err)
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(seriesMetadata{})); diff != "" {
		t.Fatal(diff)
	}
}

// oddBodies are messages that no sender writes and that the generated code treats in its own way.
func oddBodies() [][]byte {
	return [][]byte{
		{},
		{0x0a},
		{0x0a, 0x80},
		{0x0a, 0x05},
		{0x0b},
		{0x0c},
		{0x00},
		{0x02, 0x00},
		{0x08, 0x01},
		// An empty series, a length of ten bytes, one of eleven.
		{0x0a, 0x00},
		{0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
		{0x0a, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
		// A negative length.
		{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		// Field 1 with a tag of 2^32 more.
		{0x8a, 0x80, 0x80, 0x80, 0x80, 0x01, 0x00},
		// Groups: closed, nested, not closed, closed twice.
		{0x53, 0x54},
		{0x53, 0x5b, 0x08, 0x01, 0x5c, 0x54},
		{0x53, 0x08, 0x01},
		{0x53, 0x54, 0x54},
		{0x53, 0x0a, 0x7f},
		// Unknown fields of each wire type.
		{0x50, 0x01, 0x51, 1, 2, 3, 4, 5, 6, 7, 8, 0x52, 0x01, 0xff, 0x55, 1, 2, 3, 4},
		{0x51, 1, 2},
		{0x55, 1},
		{0x56},
		{0x52, 0x02, 0x00},
		// Labels before and after a sample, and a label that occurs in one Label twice.
		{0x0a, 0x0f, 0x0a, 0x03, 0x0a, 0x01, 'a', 0x12, 0x02, 0x10, 0x05, 0x0a, 0x04, 0x12, 0x00, 0x50, 0x01},
		{0x0a, 0x0a, 0x0a, 0x08, 0x0a, 0x01, 'a', 0x0a, 0x01, 'b', 0x12, 0x00},
		// A label that is longer than its series, after one that is not; a label with a length of
		// two bytes.
		{0x0a, 0x03, 0x0a, 0x05, 0x00},
		{0x0a, 0x05, 0x0a, 0x00, 0x0a, 0x05, 0x00, 0x0a, 0x00},
		{0x0a, 0x03, 0x0a, 0x80, 0x00},
		// A sample of a value and half a time, and one with something after it.
		{0x0a, 0x0e, 0x12, 0x0c, 0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x81, 0x80},
		{0x0a, 0x0f, 0x12, 0x0d, 0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x10, 0x05, 0x10, 0x06},
		// Two series of 2.0: references not packed, packed, and a packed number that runs over its
		// end.
		{0x2a, 0x04, 0x08, 0x01, 0x08, 0x80},
		{0x2a, 0x07, 0x08, 0x01, 0x0a, 0x03, 0x02, 0x80, 0x01},
		{0x2a, 0x06, 0x0a, 0x01, 0x80, 0x01, 0x08, 0x03},
		{0x22, 0x00, 0x2a, 0x06, 0x0a, 0x02, 0x80, 0x80, 0x80, 0x01},
		// Metadata of 2.0 in two parts.
		{0x2a, 0x08, 0x2a, 0x02, 0x08, 0x01, 0x2a, 0x02, 0x18, 0x07},
	}
}

// sampleV1 returns a request with one of everything.
func sampleV1() prompb.WriteRequest {
	return prompb.WriteRequest{
		Timeseries: []prompb.TimeSeries{
			{
				Labels:    []prompb.Label{{Name: "__name__", Value: "up"}, {Name: "job", Value: "a"}},
				Samples:   []prompb.Sample{{Value: 1, Timestamp: 1000}, {Value: math.NaN(), Timestamp: -5}},
				Exemplars: []prompb.Exemplar{{Labels: []prompb.Label{{Name: "trace_id", Value: "1"}}, Value: 2, Timestamp: 1001}},
			},
			{
				Labels: []prompb.Label{{Name: "__name__", Value: "h"}},
				Histograms: []prompb.Histogram{
					prompb.FromIntHistogram(2000, promtest.IntHistograms()["exponential"]),
					prompb.FromFloatHistogram(3000, promtest.FloatHistograms()["exponential"]),
					prompb.FromIntHistogram(4000, promtest.IntHistograms()["custom buckets"]),
				},
			},
		},
		Metadata: []prompb.MetricMetadata{{Type: prompb.MetricMetadata_COUNTER, MetricFamilyName: "up", Help: "Is it up?", Unit: "bool"}},
	}
}

func sampleV2() writev2.Request {
	return writev2.Request{
		Symbols: []string{"", "__name__", "up", "job", "a", "trace_id", "1", "Is it up?"},
		Timeseries: []writev2.TimeSeries{
			{
				LabelsRefs: []uint32{1, 2, 3, 4},
				Samples:    []writev2.Sample{{Value: 1, Timestamp: 1000, StartTimestamp: 500}, {Value: 2, Timestamp: 2000}},
				Exemplars:  []writev2.Exemplar{{LabelsRefs: []uint32{5, 6}, Value: 2, Timestamp: 1001}},
				Metadata:   writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_GAUGE, HelpRef: 7},
			},
			{
				LabelsRefs: []uint32{1, 4},
				Histograms: []writev2.Histogram{
					writev2.FromIntHistogram(10, 2000, promtest.IntHistograms()["exponential"]),
					writev2.FromFloatHistogram(0, 3000, &histogram.FloatHistogram{Count: 1, ZeroCount: 1}),
				},
			},
		},
	}
}

func FuzzWalkV1(f *testing.F) {
	req := sampleV1()
	f.Add(promtest.Marshal(f, &req))
	for _, b := range oddBodies() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) { compareDecoders(t, version1, body) })
}

func FuzzWalkV2(f *testing.F) {
	req := sampleV2()
	f.Add(promtest.Marshal(f, &req))
	for _, b := range oddBodies() {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, body []byte) { compareDecoders(t, version2, body) })
}

// Every prefix of a good request, and every request with one changed byte, must be accepted or
// refused as by the generated code.
func TestWalkAgreesOnDamagedRequests(t *testing.T) {
	v1, v2 := sampleV1(), sampleV2()
	for v, body := range [][]byte{version1: promtest.Marshal(t, &v1), version2: promtest.Marshal(t, &v2)} {
		for n := range body {
			compareDecoders(t, version(v), body[:n])
			for _, flip := range []byte{0x01, 0x02, 0x80, 0xff} {
				damaged := append([]byte(nil), body...)
				damaged[n] ^= flip
				compareDecoders(t, version(v), damaged)
			}
		}
	}
}

func TestWalkLimits(t *testing.T) {
	series := []byte{0x0a, 0x04, 0x12, 0x00, 0x12, 0x00, 0x0a, 0x00} // two samples; nothing
	for _, c := range []struct {
		limits messageLimits
		want   error
	}{
		{messageLimits{series: 2, data: 2}, nil},
		{messageLimits{series: 1, data: 2}, errTooMany},
		{messageLimits{series: 2, data: 1}, errTooMany},
	} {
		var r message
		if err := r.walk(series, c.limits); !errors.Is(err, c.want) {
			t.Errorf("walk with %+v: %v, want %v", c.limits, err, c.want)
		}
	}
}
