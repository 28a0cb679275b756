package e2e_test

import (
	"fmt"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/pmetric"
)

// A shop is a source of metrics of OpenTelemetry of all kinds. Each call of metrics returns those of
// the next step.
type shop struct {
	began time.Time // the start time of what counts
	step  int
}

// shopStep is the time between the steps of a shop.
const shopStep = 15 * time.Second

// at returns the time of a step.
func (s *shop) at(step int) pcommon.Timestamp {
	return pcommon.NewTimestampFromTime(s.began.Add(time.Duration(step+1) * shopStep))
}

// metrics returns the metrics of two processes.
func (s *shop) metrics() pmetric.Metrics {
	md := pmetric.NewMetrics()
	for n := range 2 {
		r := md.ResourceMetrics().AppendEmpty()
		attributes := r.Resource().Attributes()
		attributes.PutStr("service.name", "shop")
		attributes.PutStr("service.namespace", "eu")
		attributes.PutStr("service.instance.id", fmt.Sprint(n))
		attributes.PutStr("host.name", fmt.Sprint("web", n))
		attributes.PutInt("process.pid", 7)
		for _, name := range []string{"cart", "pay"} {
			scope := r.ScopeMetrics().AppendEmpty()
			scope.Scope().SetName("example.com/" + name)
			scope.Scope().SetVersion("1.2.3")
			s.scope(scope.Metrics(), name, n)
		}
	}
	s.step++
	return md
}

func (s *shop) scope(all pmetric.MetricSlice, name string, n int) {
	metric := func(kind, unit string) pmetric.Metric {
		m := namedMetric(all, name+"."+kind)
		m.SetUnit(unit)
		m.SetDescription("The " + kind + " of a " + name)
		return m
	}
	k := s.step + 10*n
	for i := range 3 {
		p := s.number(metric(fmt.Sprint("size", i), "By").SetEmptyGauge().DataPoints(), 0)
		p.SetIntValue(int64(1000*k + i))
		p.Attributes().PutStr("http.method", "GET")
		p.SetFlags(pmetric.DefaultDataPointFlags.WithNoRecordedValue(s.step == 4 && i == 1))
	}
	for _, t := range []pmetric.AggregationTemporality{pmetric.AggregationTemporalityCumulative, pmetric.AggregationTemporalityDelta} {
		start := s.at(-1)
		if t == pmetric.AggregationTemporalityDelta {
			start = s.at(s.step - 1)
		}
		suffix := fmt.Sprint(".", t)
		sum := metric("requests"+suffix, "{request}").SetEmptySum()
		sum.SetIsMonotonic(true)
		sum.SetAggregationTemporality(t)
		p := s.number(sum.DataPoints(), start)
		p.SetDoubleValue(float64(k*k) / 8)
		p.Attributes().PutBool("ok", true)
		shopExemplar(p.Exemplars(), s.at(s.step), float64(k))
		level := metric("level"+suffix, "1").SetEmptySum()
		level.SetAggregationTemporality(t)
		s.number(level.DataPoints(), start).SetIntValue(int64(k))
		h := metric("latency"+suffix, "ms").SetEmptyHistogram()
		h.SetAggregationTemporality(t)
		s.explicit(h.DataPoints().AppendEmpty(), start, uint64(k))
		e := metric("duration"+suffix, "s").SetEmptyExponentialHistogram()
		e.SetAggregationTemporality(t)
		s.exponential(e.DataPoints().AppendEmpty(), start, uint64(k))
	}
	q := metric("quantiles", "s").SetEmptySummary().DataPoints().AppendEmpty()
	q.SetStartTimestamp(s.at(-1))
	q.SetTimestamp(s.at(s.step))
	q.SetCount(uint64(k))
	q.SetSum(float64(k) / 2)
	for _, quantile := range []float64{0.5, 0.99} {
		v := q.QuantileValues().AppendEmpty()
		v.SetQuantile(quantile)
		v.SetValue(quantile * float64(k))
	}
}

func (s *shop) number(points pmetric.NumberDataPointSlice, start pcommon.Timestamp) pmetric.NumberDataPoint {
	p := points.AppendEmpty()
	p.SetStartTimestamp(start)
	p.SetTimestamp(s.at(s.step))
	return p
}

func (s *shop) explicit(p pmetric.HistogramDataPoint, start pcommon.Timestamp, k uint64) {
	p.SetStartTimestamp(start)
	p.SetTimestamp(s.at(s.step))
	p.ExplicitBounds().FromRaw([]float64{0.5, 1, 10})
	p.BucketCounts().FromRaw([]uint64{k, 2 * k, 3, 1})
	p.SetCount(3*k + 4)
	p.SetSum(float64(k) * 2.5)
	shopExemplar(p.Exemplars(), s.at(s.step), 0.25)
}

func (s *shop) exponential(p pmetric.ExponentialHistogramDataPoint, start pcommon.Timestamp, k uint64) {
	p.SetStartTimestamp(start)
	p.SetTimestamp(s.at(s.step))
	p.SetScale(3)
	p.SetZeroCount(2)
	p.Positive().SetOffset(-2)
	p.Positive().BucketCounts().FromRaw([]uint64{k, 0, 3, 1 + k})
	p.Negative().SetOffset(1)
	p.Negative().BucketCounts().FromRaw([]uint64{1, k})
	p.SetCount(3*k + 7)
	p.SetSum(float64(k) / 4)
}

func shopExemplar(all pmetric.ExemplarSlice, at pcommon.Timestamp, v float64) {
	e := all.AppendEmpty()
	e.SetTimestamp(at)
	e.SetDoubleValue(v)
	e.SetTraceID(pcommon.TraceID{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16})
	e.SetSpanID(pcommon.SpanID{1, 2, 3, 4, 5, 6, 7, 8})
	e.FilteredAttributes().PutStr("user", "ann")
}
