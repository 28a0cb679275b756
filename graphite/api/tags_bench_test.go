package api

import (
	"fmt"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/tsdbridge/tsdbridge/storage"
)

// BenchmarkTags lists tags of 50,000 tagged and 50,000 plain series.
func BenchmarkTags(b *testing.B) {
	const half = 50_000
	w := newWeb(b)
	series := make([]storage.Series, 0, 2*half)
	for i := range half {
		series = append(series, w.Names.FromPath(fmt.Sprintf("plain.p%d.v", i)), w.Names.FromLabels(labels.FromStrings(
			model.MetricNameLabel, fmt.Sprintf("metric_%d", i%500), "instance", fmt.Sprintf("h%d", i), "job", fmt.Sprintf("j%d", i%20))))
	}
	w.Register(b, series)
	for _, url := range []string{
		"/tags", "/tags/autoComplete/tags?tagPrefix=j", "/tags/autoComplete/values?tag=job", "/tags/autoComplete/values?tag=instance&valuePrefix=h77",
		"/tags/autoComplete/values?tag=name&valuePrefix=metric_1", "/tags/autoComplete/values?tag=name", "/tags/job",
		"/tags/findSeries?expr=name=metric_7&expr=job=j7", "/tags/autoComplete/tags?expr=name=metric_7", "/tags/findSeries?expr=instance=~h7.*3$",
	} {
		b.Run(url, func(b *testing.B) {
			for b.Loop() {
				if got := w.get(url); got.Code != 200 || got.Body.Len() < 4 {
					b.Fatal(got.Code, got.Body)
				}
			}
		})
	}
}
