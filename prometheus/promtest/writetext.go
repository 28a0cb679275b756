package promtest

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// Now returns the clock of these tests: 2026-01-01T00:00:00Z, 1767225600000 ms.
func Now() time.Time { return time.Unix(1_767_225_600, 0) }

// WriteText is a request in neither version.
type WriteText struct {
	Series   []WriteTextSeries
	Metadata []prompb.MetricMetadata
}

type WriteTextSeries struct {
	Labels     []prompb.Label
	Samples    []writev2.Sample
	Exemplars  []prompb.Exemplar
	Histograms []TextHistogram
	Metadata   prompb.MetricMetadata
}

func (q WriteText) V1() prompb.WriteRequest {
	out := prompb.WriteRequest{Metadata: q.Metadata}
	for _, s := range q.Series {
		ts := prompb.TimeSeries{Labels: s.Labels, Exemplars: s.Exemplars}
		for _, v := range s.Samples {
			ts.Samples = append(ts.Samples, prompb.Sample{Value: v.Value, Timestamp: v.Timestamp})
		}
		for _, h := range s.Histograms {
			if h.Ints != nil {
				ts.Histograms = append(ts.Histograms, prompb.FromIntHistogram(h.Time, h.Ints))
			} else {
				ts.Histograms = append(ts.Histograms, prompb.FromFloatHistogram(h.Time, h.Floats))
			}
		}
		out.Timeseries = append(out.Timeseries, ts)
	}
	return out
}

func (q WriteText) V2() writev2.Request {
	symbols := writev2.NewSymbolTable()
	refs := func(ls []prompb.Label) (out []uint32) {
		for _, l := range ls {
			out = append(out, symbols.Symbolize(l.Name), symbols.Symbolize(l.Value))
		}
		return out
	}
	var out writev2.Request
	for _, s := range q.Series {
		ts := writev2.TimeSeries{LabelsRefs: refs(s.Labels), Samples: s.Samples}
		ts.Metadata = writev2.Metadata{
			Type: writev2.Metadata_MetricType(s.Metadata.Type), HelpRef: symbols.Symbolize(s.Metadata.Help), UnitRef: symbols.Symbolize(s.Metadata.Unit),
		}
		for _, e := range s.Exemplars {
			ts.Exemplars = append(ts.Exemplars, writev2.Exemplar{LabelsRefs: refs(e.Labels), Value: e.Value, Timestamp: e.Timestamp})
		}
		for _, h := range s.Histograms {
			if h.Ints != nil {
				ts.Histograms = append(ts.Histograms, writev2.FromIntHistogram(h.Start, h.Time, h.Ints))
			} else {
				ts.Histograms = append(ts.Histograms, writev2.FromFloatHistogram(h.Start, h.Time, h.Floats))
			}
		}
		out.Timeseries = append(out.Timeseries, ts)
	}
	out.Symbols = symbols.Symbols()
	return out
}

// TextHistogram is a histogram sample; one of ints and floats is set.
type TextHistogram struct {
	Time, Start int64 // milliseconds
	Ints        *histogram.Histogram
	Floats      *histogram.FloatHistogram
}

// Histograms are histograms, good and bad, by name.
func Histograms() map[string]TextHistogram {
	return map[string]TextHistogram{
		"good": {Ints: IntHistograms()["exponential"], Floats: FloatHistograms()["exponential"]},
		"nhcb": {Ints: IntHistograms()["custom buckets"], Floats: &histogram.FloatHistogram{
			Schema: histogram.CustomBucketsSchema, Count: 3, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []float64{3}, CustomValues: []float64{1},
		}},
		"stale":       {Ints: IntHistograms()["stale"], Floats: FloatHistograms()["stale"]},
		"schema20":    {Ints: Fine(20), Floats: Fine(20).ToFloat(nil)},
		"schema100":   {Ints: Fine(100), Floats: Fine(100).ToFloat(nil)},
		"wrong-count": {Ints: &histogram.Histogram{Count: 5, ZeroCount: 2}, Floats: &histogram.FloatHistogram{Count: -1}},
		"nhcb-unsorted": {Ints: &histogram.Histogram{
			Schema: histogram.CustomBucketsSchema, Count: 1, PositiveSpans: []histogram.Span{{Length: 1}}, PositiveBuckets: []int64{1}, CustomValues: []float64{2, 1},
		}},
		"schema20-mismatch": {Ints: &histogram.Histogram{Schema: 20, Count: 1, PositiveSpans: []histogram.Span{{Length: 3}}, PositiveBuckets: []int64{1}}},
		"span-mismatch":     {Ints: &histogram.Histogram{Count: 1, PositiveSpans: []histogram.Span{{Length: 3}}, PositiveBuckets: []int64{1}}},
	}
}

// Fine returns a histogram of two neighbouring buckets.
func Fine(schema int32) *histogram.Histogram {
	return &histogram.Histogram{Schema: schema, Count: 3, Sum: 3, PositiveSpans: []histogram.Span{{Offset: 1, Length: 2}}, PositiveBuckets: []int64{1, 1}}
}

func ParseWrite(input string) (q WriteText, err error) {
	for line := range strings.Lines(input) {
		p := &textParser{rest: strings.TrimSpace(line)}
		switch {
		case strings.HasPrefix(p.rest, "#") || p.rest == "":
		case p.skip("metadata "):
			q.Metadata = append(q.Metadata, p.metadata(true))
		default:
			q.Series = append(q.Series, p.series())
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

func (p *textParser) series() (s WriteTextSeries) {
	s.Labels = p.labels()
	for p.err == nil && p.skip(" ") {
		switch {
		case p.skip("int:"):
			h := TextHistogram{Ints: Histograms()[p.word("@")].Ints}
			h.Time, h.Start = p.times()
			s.Histograms = append(s.Histograms, h)
		case p.skip("float:"):
			h := TextHistogram{Floats: Histograms()[p.word("@")].Floats}
			h.Time, h.Start = p.times()
			s.Histograms = append(s.Histograms, h)
		case p.skip("ex:"):
			e := prompb.Exemplar{Labels: p.labels()}
			p.skip("=")
			e.Value = p.float("@")
			e.Timestamp, _ = p.times()
			s.Exemplars = append(s.Exemplars, e)
		case p.skip("meta:"):
			s.Metadata = p.metadata(false)
		default:
			v := writev2.Sample{Value: p.float("@")}
			v.Timestamp, v.StartTimestamp = p.times()
			s.Samples = append(s.Samples, v)
		}
	}
	return s
}

type marshaler interface{ Marshal() ([]byte, error) }

func Marshal(t testing.TB, m marshaler) []byte {
	t.Helper()
	b, err := m.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return b
}
