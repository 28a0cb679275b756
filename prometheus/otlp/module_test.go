package otlp

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/otlptranslator"
	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/storage/remote"
	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

type contextT = context.Context

// TestLikePrometheus sends random requests to the handler of the Prometheus module, which is that of
// Prometheus itself, and to ours. Both have the same series with the same bits in the end.
func TestLikePrometheus(t *testing.T) {
	for n, strategy := range []otlptranslator.TranslationStrategyOption{
		otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.UnderscoreEscapingWithoutSuffixes,
		otlptranslator.NoUTF8EscapingWithSuffixes, otlptranslator.NoTranslation,
		otlptranslator.UnderscoreEscapingWithSuffixes, otlptranslator.NoTranslation,
	} {
		c := config.DefaultOTLPConfig
		c.TranslationStrategy = strategy
		switch n {
		case 1, 4:
			c.PromoteResourceAttributes = []string{"host.name", "k8s.pod"}
			c.ConvertHistogramsToNHCB = true
		case 2:
			c.PromoteAllResourceAttributes, c.IgnoreResourceAttributes = true, []string{"host.name"}
			c.KeepIdentifyingResourceAttributes = true
		case 3, 5:
			c.PromoteScopeMetadata = true
		}
		t.Run(fmt.Sprint(n, strategy), func(t *testing.T) {
			typed := n == 2 || n == 5
			d := newDoor(t, func(o *Options) { o.Config, o.TypeAndUnitLabels = c, typed })
			other := &recording{lines: map[string]string{}}
			theirs := remote.NewOTLPWriteHandler(slog.New(slog.DiscardHandler), prometheus.NewRegistry(), other, func() config.Config { return config.Config{OTLPConfig: c} },
				remote.OTLPOptions{ConvertDelta: true, EnableTypeAndUnitLabels: typed})
			r := rand.New(rand.NewPCG(uint64(n), 7))
			for step := range 12 {
				md := randomMetrics(r, step)
				if status, rejected, text := send(t, d, md); status != http.StatusOK || rejected != 0 {
					t.Fatalf("ours: %d %d %s", status, rejected, text)
				}
				if status, text := post(t, theirs, "application/x-protobuf", encode(t, md)); status != http.StatusOK {
					t.Fatalf("theirs: %d %s", status, text)
				}
				if step == 5 {
					d = d.again() // the sums of deltas come from the store
				}
			}
			if n := len(other.lines); n < 1000 {
				t.Errorf("Prometheus has %d samples", n)
			}
			if diff := cmp.Diff(other.dump(), d.dump(t)); diff != "" {
				t.Errorf("(-Prometheus +tsdbridge)\n%.3000s", diff)
			}
		})
	}
}

// randomMetrics returns metrics of a step of ten seconds: the same series in each.
func randomMetrics(r *rand.Rand, step int) pmetric.Metrics {
	md := pmetric.NewMetrics()
	at, start, before := second(600-10*step), second(600), second(610-10*step)
	for n := range 3 {
		rm := md.ResourceMetrics().AppendEmpty()
		attributes := rm.Resource().Attributes()
		attributes.PutStr("service.name", fmt.Sprint("shop", n))
		attributes.PutStr("host.name", "web"+fmt.Sprint(n))
		if n > 0 {
			attributes.PutStr("service.namespace", "eu")
			attributes.PutStr("service.instance.id", fmt.Sprint(n))
			attributes.PutInt("k8s.pod", 7)
		}
		for s := range 2 {
			sm := rm.ScopeMetrics().AppendEmpty()
			sm.Scope().SetName(fmt.Sprint("library", s))
			sm.Scope().SetVersion("1.0")
			sm.Scope().Attributes().PutBool("x.y", true)
			sm.SetSchemaUrl("https://example.com/1")
			randomScope(r, sm.Metrics(), fmt.Sprint("s", s), at, start, before)
		}
	}
	return md
}

func randomScope(r *rand.Rand, all pmetric.MetricSlice, name string, at, start, before pcommon.Timestamp) {
	metric := func(kind, unit string) pmetric.Metric {
		m := all.AppendEmpty()
		m.SetName(name + "." + kind)
		m.SetUnit(unit)
		m.SetDescription("About " + kind)
		return m
	}
	points := func(f func(a pcommon.Map)) {
		for n := range 3 {
			f(labelled(n))
		}
	}
	gauge := metric("gauge", "By").SetEmptyGauge()
	points(func(a pcommon.Map) {
		number(r, gauge.DataPoints().AppendEmpty(), a, at, 0)
	})
	for _, t := range []pmetric.AggregationTemporality{pmetric.AggregationTemporalityCumulative, pmetric.AggregationTemporalityDelta} {
		from := start
		if t == pmetric.AggregationTemporalityDelta {
			from = before
		}
		for _, monotonic := range []bool{true, false} {
			s := metric(fmt.Sprint("sum", t, monotonic), "s").SetEmptySum()
			s.SetAggregationTemporality(t)
			s.SetIsMonotonic(monotonic)
			points(func(a pcommon.Map) { number(r, s.DataPoints().AppendEmpty(), a, at, from) })
		}
		h := metric(fmt.Sprint("histogram", t), "ms").SetEmptyHistogram()
		h.SetAggregationTemporality(t)
		points(func(a pcommon.Map) { explicit(r, h.DataPoints().AppendEmpty(), a, at, from) })
		e := metric(fmt.Sprint("exponential", t), "1").SetEmptyExponentialHistogram()
		e.SetAggregationTemporality(t)
		points(func(a pcommon.Map) { exponential(r, e.DataPoints().AppendEmpty(), a, at, from) })
	}
	s := metric("summary", "{things}").SetEmptySummary()
	points(func(a pcommon.Map) { summary(r, s.DataPoints().AppendEmpty(), a, at, start) })
}

func labelled(n int) pcommon.Map {
	a := pcommon.NewMap()
	a.PutInt("n", int64(n))
	if n == 1 {
		a.PutStr("http.method", "GET")
		a.PutStr("http_method", "POST") // the same label when it is escaped
	}
	if n == 2 {
		a.PutEmptySlice("list").AppendEmpty().SetStr("ä")
	}
	return a
}

func number(r *rand.Rand, p pmetric.NumberDataPoint, a pcommon.Map, at, start pcommon.Timestamp) {
	a.CopyTo(p.Attributes())
	p.SetTimestamp(at)
	p.SetStartTimestamp(start)
	if n, _ := a.Get("n"); n.Int() == 0 {
		p.SetIntValue(r.Int64N(1000))
	} else {
		p.SetDoubleValue(float64(r.IntN(1000)) / 4)
	}
	if r.IntN(3) == 0 {
		e := p.Exemplars().AppendEmpty()
		e.SetTimestamp(at)
		e.SetDoubleValue(1)
		e.SetTraceID(pcommon.TraceID{1, 2, 3})
	}
}

func explicit(r *rand.Rand, p pmetric.HistogramDataPoint, a pcommon.Map, at, start pcommon.Timestamp) {
	a.CopyTo(p.Attributes())
	p.SetTimestamp(at)
	p.SetStartTimestamp(start)
	p.ExplicitBounds().FromRaw([]float64{0.5, 1, 10})
	counts := []uint64{r.Uint64N(5), r.Uint64N(5), r.Uint64N(5), 1 + r.Uint64N(5)}
	p.BucketCounts().FromRaw(counts)
	p.SetCount(counts[0] + counts[1] + counts[2] + counts[3])
	p.SetSum(float64(p.Count()) / 2)
	if r.IntN(3) == 0 {
		e := p.Exemplars().AppendEmpty()
		e.SetTimestamp(at)
		e.SetIntValue(1)
	}
}

func exponential(r *rand.Rand, p pmetric.ExponentialHistogramDataPoint, a pcommon.Map, at, start pcommon.Timestamp) {
	a.CopyTo(p.Attributes())
	p.SetTimestamp(at)
	p.SetStartTimestamp(start)
	p.SetScale(3)
	p.SetZeroCount(r.Uint64N(3))
	p.Positive().SetOffset(-2)
	p.Positive().BucketCounts().FromRaw([]uint64{1 + r.Uint64N(4), 1 + r.Uint64N(4), 1 + r.Uint64N(4)})
	p.Negative().SetOffset(1)
	p.Negative().BucketCounts().FromRaw([]uint64{1 + r.Uint64N(4)})
	n := p.ZeroCount()
	for _, c := range append(p.Positive().BucketCounts().AsRaw(), p.Negative().BucketCounts().AsRaw()...) {
		n += c
	}
	p.SetCount(n)
	p.SetSum(float64(n) / 4)
}

func summary(r *rand.Rand, p pmetric.SummaryDataPoint, a pcommon.Map, at, start pcommon.Timestamp) {
	a.CopyTo(p.Attributes())
	p.SetTimestamp(at)
	p.SetStartTimestamp(start)
	p.SetCount(r.Uint64N(100))
	p.SetSum(float64(r.IntN(100)) / 8)
	for _, q := range []float64{0.5, 0.99} {
		v := p.QuantileValues().AppendEmpty()
		v.SetQuantile(q)
		v.SetValue(float64(r.IntN(100)))
	}
}
