package promtest

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"github.com/prometheus/prometheus/model/exemplar"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	promstorage "github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/tsdbutil"
)

// WriteSteady writes an hour of counters, a sample every 15 s.
func WriteSteady(b *testing.B, p promstorage.AppendableV2, series int) {
	b.Helper()
	app := p.AppenderV2(b.Context())
	for i := range series {
		ls := labels.FromStrings("__name__", "m", "instance", fmt.Sprintf("host-%d:9100", i), "job", "node", "mode", "idle")
		for at := int64(0); at < 3600_000; at += 15_000 {
			if _, err := app.Append(0, ls, 0, at+int64(i%15), float64(at)*1.5, nil, nil, promstorage.AppendV2Options{}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := app.Commit(); err != nil {
		b.Fatal(err)
	}
}

// DemoEnd is the end of what WriteDemo writes, which begins at 0, in milliseconds. demoStep is its
// interval.
const (
	DemoEnd  = int64(7200_000)
	demoStep = int64(15_000)
)

// WriteDemo writes two hours of what real targets have: counters with resets, gauges with gaps,
// stale markers, infinities, native histograms of all kinds, series that turn from one kind to the
// other, exemplars.
func WriteDemo(t testing.TB, s promstorage.AppendableV2) {
	t.Helper()
	app := s.AppenderV2(t.Context())
	r := rand.New(rand.NewSource(1))
	add := func(ls labels.Labels, at int64, v float64, h *histogram.Histogram, fh *histogram.FloatHistogram, o promstorage.AppendV2Options) {
		if _, err := app.Append(0, ls, 0, at, v, h, fh, o); err != nil {
			t.Fatal(err)
		}
	}
	for _, instance := range []string{"a", "b", "c:9090"} {
		series := func(name string) labels.Labels {
			return labels.FromStrings("__name__", name, "instance", instance, "job", "demo")
		}
		requests, observed := 0.0, int64(0)
		for at := int64(0); at <= DemoEnd; at += demoStep {
			i := at / demoStep
			if requests += float64(r.Intn(20)); i%97 == 96 {
				requests, observed = 0, 0
			}
			observed += int64(r.Intn(3))
			o := promstorage.AppendV2Options{}
			if i%50 == 0 {
				o.Exemplars = []exemplar.Exemplar{{Labels: labels.FromStrings("trace_id", instance), Value: requests, Ts: at, HasTs: true}}
			}
			add(series("requests_total"), at+int64(r.Intn(10)), requests, nil, nil, o)
			if i%40 < 30 {
				add(series("temperature"), at, math.Sin(float64(i)/10)*30, nil, nil, promstorage.AppendV2Options{})
			} else if i%40 == 30 {
				add(series("temperature"), at, math.Float64frombits(value.StaleNaN), nil, nil, promstorage.AppendV2Options{})
			}
			add(series("latency"), at, 0, tsdbutil.GenerateTestHistogram(observed), nil, promstorage.AppendV2Options{})
			add(series("latency_float"), at, 0, nil, tsdbutil.GenerateTestFloatHistogram(observed), promstorage.AppendV2Options{})
			add(series("latency_custom"), at, 0, tsdbutil.GenerateTestCustomBucketsHistogram(observed), nil, promstorage.AppendV2Options{})
			add(series("in_use"), at, 0, tsdbutil.GenerateTestGaugeHistogram(int64(r.Intn(50))), nil, promstorage.AppendV2Options{})
			if i < 200 {
				add(series("changing"), at, float64(i), nil, nil, promstorage.AppendV2Options{})
			} else {
				add(series("changing"), at, 0, tsdbutil.GenerateTestHistogram(i), nil, promstorage.AppendV2Options{})
			}
		}
		add(series("limit"), 60_000, math.Inf(1), nil, nil, promstorage.AppendV2Options{})
		add(series("limit"), 120_000, math.NaN(), nil, nil, promstorage.AppendV2Options{})
		add(series("limit"), 180_000, math.Copysign(0, -1), nil, nil, promstorage.AppendV2Options{})
	}
	if err := app.Commit(); err != nil {
		t.Fatal(err)
	}
}
