package query

import (
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

// families writes samples as families of metrics: one for each name, and kind of sample.
type families struct {
	to       expfmt.Encoder
	natives  bool // the format has native histograms
	external []labels.Label
	current  *dto.MetricFamily // nil: none
}

// newFamilies returns what writes to an encoder of a format. Series without a label of external get
// it, and an empty instance, so that a scraper does not take itself for the instance.
func newFamilies(to expfmt.Encoder, format expfmt.FormatType, external labels.Labels) *families {
	b := labels.NewBuilder(external)
	f := &families{to: to, natives: format != expfmt.TypeTextPlain}
	b.Labels().Range(func(l labels.Label) { f.external = append(f.external, l) })
	if !external.Has(model.InstanceLabel) {
		f.external = append(f.external, labels.Label{Name: model.InstanceLabel})
	}
	slices.SortFunc(f.external, func(a, b labels.Label) int { return compareText(a.Name, b.Name) })
	return f
}

func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// write writes samples, which are sorted by metric. Those without a name are left out, and native histograms where the
// format has none.
func (f *families) write(samples promql.Vector) error {
	for _, s := range samples {
		name := s.Metric.Get(model.MetricNameLabel)
		if name == "" || s.H != nil && !s.H.UsesCustomBuckets() && !f.natives {
			continue
		}
		if err := f.begin(name, kindOf(s)); err != nil {
			return err
		}
		f.current.Metric = append(f.current.Metric, f.metric(s))
	}
	return f.end()
}

// begin begins the family of a name and a kind, unless it is the current one.
func (f *families) begin(name string, kind dto.MetricType) error {
	if f.current.GetName() == name && f.current.GetType() == kind {
		return nil
	}
	err := f.end()
	f.current = &dto.MetricFamily{Name: new(name), Type: kind.Enum()}
	return err
}

func (f *families) end() error {
	if f.current == nil {
		return nil
	}
	return f.to.Encode(f.current)
}

func kindOf(s promql.Sample) dto.MetricType {
	switch {
	case s.H == nil:
		return dto.MetricType_UNTYPED
	case s.H.CounterResetHint == histogram.GaugeType:
		return dto.MetricType_GAUGE_HISTOGRAM
	}
	return dto.MetricType_HISTOGRAM
}

func (f *families) metric(s promql.Sample) *dto.Metric {
	m := &dto.Metric{TimestampMs: new(s.T)}
	add := func(name, value string) {
		m.Label = append(m.Label, &dto.LabelPair{Name: new(name), Value: new(value)})
	}
	s.Metric.Range(func(l labels.Label) {
		if l.Name != model.MetricNameLabel {
			add(l.Name, l.Value)
		}
	})
	for _, l := range f.external {
		if !s.Metric.Has(l.Name) {
			add(l.Name, l.Value)
		}
	}
	switch {
	case s.H == nil:
		m.Untyped = &dto.Untyped{Value: new(s.F)}
	case s.H.UsesCustomBuckets():
		m.Histogram = classic(s.H)
	default:
		m.Histogram = native(s.H)
	}
	return m
}

// native returns an exponential histogram.
func native(h *histogram.FloatHistogram) *dto.Histogram {
	return &dto.Histogram{
		SampleCountFloat: new(h.Count), SampleSum: new(h.Sum),
		Schema: new(h.Schema), ZeroThreshold: new(h.ZeroThreshold), ZeroCountFloat: new(h.ZeroCount),
		PositiveSpan: spans(h.PositiveSpans), PositiveCount: h.PositiveBuckets,
		NegativeSpan: spans(h.NegativeSpans), NegativeCount: h.NegativeBuckets,
	}
}

func spans(all []histogram.Span) (out []*dto.BucketSpan) {
	for _, s := range all {
		out = append(out, &dto.BucketSpan{Offset: new(s.Offset), Length: new(s.Length)})
	}
	return out
}

// classic returns a histogram with custom buckets as a classic one, whose last bucket, +Inf, needs not
// be written.
func classic(h *histogram.FloatHistogram) *dto.Histogram {
	out := &dto.Histogram{SampleCountFloat: new(h.Count), SampleSum: new(h.Sum)}
	counts := make([]float64, len(h.CustomValues)+1)
	for it := h.PositiveBucketIterator(); it.Next(); {
		if b := it.At(); int(b.Index) < len(counts) {
			counts[max(b.Index, 0)] += b.Count
		}
	}
	total := 0.0
	for i, bound := range h.CustomValues {
		total += counts[i]
		if !math.IsInf(bound, 1) {
			out.Bucket = append(out.Bucket, &dto.Bucket{UpperBound: new(bound), CumulativeCountFloat: new(total)})
		}
	}
	return out
}
