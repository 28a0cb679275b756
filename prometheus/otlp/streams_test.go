package otlp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
	"go.opentelemetry.io/collector/pdata/pmetric"

	"github.com/tsdbridge/tsdbridge/prometheus/promtest"
)

// scopes returns a request with a metric of some scopes, all of one name.
func scopes(n int, fill func(n int, m pmetric.Metric)) pmetric.Metrics {
	md, m := one("d")
	fill(0, m)
	all := md.ResourceMetrics().At(0).ScopeMetrics()
	for i := 1; i < n; i++ {
		s := all.AppendEmpty()
		s.Scope().SetName(fmt.Sprint("scope ", i))
		m := s.Metrics().AppendEmpty()
		m.SetName("d")
		fill(i, m)
	}
	return md
}

// TestScopesTogether: deltas of several scopes with the same labels and times are all added, and none of
// them again when the request is sent again.
func TestScopesTogether(t *testing.T) {
	sums := func(from, to int, values ...float64) pmetric.Metrics {
		return scopes(len(values), func(n int, m pmetric.Metric) {
			sum("", pmetric.AggregationTemporalityDelta, second(from), second(to), values[n]).ResourceMetrics().At(0).ScopeMetrics().At(0).Metrics().At(0).Sum().CopyTo(m.SetEmptySum())
		})
	}
	twice := sums(60, 50, 100)
	twice.ResourceMetrics().At(0).CopyTo(twice.ResourceMetrics().AppendEmpty()) // a Collector has got it twice
	d := newDoor(t)
	for n, step := range []struct {
		md      pmetric.Metrics
		restart bool
	}{
		{md: sums(90, 80, 1, 2, 4)},
		{md: sums(90, 80, 1, 2, 4)},
		{md: sums(80, 70, 8, 16), restart: true},
		{md: sums(80, 70, 8, 16), restart: true},
		{md: sums(70, 60, 32)},
		{md: sums(70, 60, 32)},
		{md: twice},
	} {
		if step.restart {
			d = d.again()
		}
		if status, rejected, text := send(t, d, step.md); status != http.StatusOK || rejected != 0 {
			t.Errorf("step %d: %d, %d rejected: %s", n, status, rejected, text)
		}
	}
	want := deltaLine(80, 7) + deltaLine(70, 31) + deltaLine(60, 63) + deltaLine(50, 163)
	if got := d.dump(t); withoutTargets(got) != want {
		t.Errorf("stored\n%s\nwant\n%s", got, want)
	}
}

// TestHistogramsTogether is TestScopesTogether with histograms, classic and native ones. One with other
// buckets is refused by name.
func TestHistogramsTogether(t *testing.T) {
	for _, native := range []bool{false, true} {
		bounds := [][]float64{{1, 2}, {1, 2}, {1, 3}}
		md := scopes(3, func(n int, m pmetric.Metric) {
			h := m.SetEmptyHistogram()
			h.SetAggregationTemporality(pmetric.AggregationTemporalityDelta)
			p := h.DataPoints().AppendEmpty()
			p.SetStartTimestamp(second(20))
			p.SetTimestamp(second(10))
			p.ExplicitBounds().FromRaw(bounds[n])
			p.BucketCounts().FromRaw([]uint64{1, 2, 3})
			p.SetCount(6)
			p.SetSum(10)
		})
		d := newDoor(t, func(o *Options) { o.Config.ConvertHistogramsToNHCB = native })
		status, rejected, text := send(t, d, md)
		if status != http.StatusOK || rejected != 1 || !strings.Contains(text, "other buckets") {
			t.Errorf("%d, %d rejected: %s", status, rejected, text)
		}
		line := floatLine(labels.FromStrings("__name__", "d_count", "instance", "1", "job", "shop"), promtest.Now().UnixMilli()-10_000, 12)
		if native {
			line = "count:12, sum:20"
		}
		if got := d.dump(t); !strings.Contains(got, line) {
			t.Errorf("stored\n%s\nwithout %s", got, line)
		}
	}
}

// withoutTargets removes target_info from a dump.
func withoutTargets(dump string) (rest string) {
	for line := range strings.Lines(dump) {
		if !strings.Contains(line, targetName) {
			rest += line
		}
	}
	return rest
}
