package load

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/prometheus/model/labels"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
	"go.opentelemetry.io/collector/pdata/pmetric/pmetricotlp"
)

// An observed is a point with the counts of its buckets.
type observed struct {
	Point  point
	Kind   string
	Counts []uint64
}

// OTLP's requests have all samples of a lane, in another order within a request.
func TestEncodeOTLP(t *testing.T) {
	shape := Shape{Seed: 7, Series: 2*SeriesPerHost + 3, Explicit: 60, Exponential: 7, Steps: 3, Interval: 15 * time.Second, End: small.End}
	const lanes, batch = 3, 200
	c := Encode(shape, OTLP, lanes, batch)
	for i, lane := range shape.Lanes(lanes) {
		var want, got []observed
		lane.Each(func(s Sample) {
			o := observed{Point: point{promName(s.Series), s.Time, s.Value}, Kind: "Gauge", Counts: slices.Clone(s.Series.counts)}
			switch name := s.Series.Name(); {
			case name == ExplicitMetric:
				o.Kind = "Histogram"
			case name == ExponentialMetric:
				o.Kind = "ExponentialHistogram"
			case strings.HasSuffix(name, "_total"):
				o.Kind = "Sum"
			}
			want = append(want, o)
		})
		for _, r := range c.Lanes[i] {
			got = append(got, decodeOTLP(t, r.Body)...)
		}
		for _, all := range [][]observed{want, got} {
			slices.SortStableFunc(all, func(a, b observed) int { return strings.Compare(a.Point.Series, b.Point.Series) })
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("lane %d: what was meant (-) and what arrived (+):\n%s", i, d)
		}
	}
	if c.Samples != shape.Samples() {
		t.Errorf("%d samples, want %d", c.Samples, shape.Samples())
	}
}

func decodeOTLP(t *testing.T, body []byte) (all []observed) {
	t.Helper()
	req := pmetricotlp.NewExportRequest()
	if err := req.UnmarshalProto(body); err != nil {
		t.Fatal(err)
	}
	for _, r := range req.Metrics().ResourceMetrics().All() {
		for _, m := range r.ScopeMetrics().At(0).Metrics().All() {
			add := func(attributes pcommon.Map, at pcommon.Timestamp, v float64, counts []uint64) {
				name := otlpName(m.Name(), r.Resource().Attributes(), attributes)
				all = append(all, observed{Point: point{name, at.AsTime().UnixMilli(), v}, Kind: m.Type().String(), Counts: counts})
			}
			addPoints(t, m, add)
		}
	}
	return all
}

func addPoints(t *testing.T, m pmetric.Metric, add func(pcommon.Map, pcommon.Timestamp, float64, []uint64)) {
	t.Helper()
	switch m.Type() {
	case pmetric.MetricTypeGauge:
		for _, p := range m.Gauge().DataPoints().All() {
			add(p.Attributes(), p.Timestamp(), p.DoubleValue(), nil)
		}
	case pmetric.MetricTypeSum:
		for _, p := range m.Sum().DataPoints().All() {
			add(p.Attributes(), p.Timestamp(), p.DoubleValue(), nil)
		}
	case pmetric.MetricTypeHistogram:
		for _, p := range m.Histogram().DataPoints().All() {
			if p.ExplicitBounds().Len() != len(explicitBounds) || p.StartTimestamp() == 0 {
				t.Fatalf("bounds %v, start %v", p.ExplicitBounds().AsRaw(), p.StartTimestamp())
			}
			add(p.Attributes(), p.Timestamp(), p.Sum(), p.BucketCounts().AsRaw())
		}
	case pmetric.MetricTypeExponentialHistogram:
		for _, p := range m.ExponentialHistogram().DataPoints().All() {
			if p.Scale() != exponentialScale || p.Positive().Offset() != exponentialOffset {
				t.Fatalf("scale %d, offset %d", p.Scale(), p.Positive().Offset())
			}
			add(p.Attributes(), p.Timestamp(), p.Sum(), p.Positive().BucketCounts().AsRaw())
		}
	default:
		t.Fatalf("kind %v", m.Type())
	}
}

// otlpName returns the name of a series as promName does.
func otlpName(metric string, attributes ...pcommon.Map) string {
	b := labels.NewBuilder(labels.FromStrings("__name__", metric))
	for _, all := range attributes {
		for name, value := range all.All() {
			for label, attribute := range otlpAttributes {
				if attribute == name {
					name = label
				}
			}
			b.Set(name, value.Str())
		}
	}
	return b.Del("telemetry.sdk.language").Labels().String()
}
