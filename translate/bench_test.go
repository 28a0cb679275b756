package translate

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
)

// benchLabels is a label set of common size; plain needs no escape.
func benchLabels(plain bool) labels.Labels {
	set := map[string]string{
		nameLabel: "http_request_duration_seconds_bucket", "cluster": "eu-west-1", "handler": "/api/v1/query_range",
		"instance": "10.0.12.7-9090", "job": "prometheus", "le": "0.25", "method": "GET", "namespace": "monitoring",
		"pod": "prometheus-k8s-0", "service": "prometheus-k8s",
	}
	if !plain {
		set["instance"], set["http.route"] = "10.0.12.7:9090", "/api/v1/{query}"
	}
	return labels.FromMap(set)
}

func benchTranslators(b *testing.B, run func(b *testing.B, t *Translator, ls labels.Labels)) {
	mixed, err := New(Rule{Pattern: "old_.*", Mode: Compat})
	if err != nil {
		b.Fatal(err)
	}
	for name, t := range map[string]*Translator{"literal": {limits: storedLimits}, "mixed": mixed} {
		for _, plain := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/plain=%t", name, plain), func(b *testing.B) {
				b.ReportAllocs()
				run(b, t, benchLabels(plain))
			})
		}
	}
}

func BenchmarkFromLabels(b *testing.B) {
	benchTranslators(b, func(b *testing.B, t *Translator, ls labels.Labels) {
		for b.Loop() {
			t.FromLabels(ls)
		}
	})
}

func BenchmarkToLabels(b *testing.B) {
	benchTranslators(b, func(b *testing.B, t *Translator, ls labels.Labels) {
		s := t.FromLabels(ls)
		for b.Loop() {
			t.ToLabels(s)
		}
	})
}

func BenchmarkFilters(b *testing.B) {
	benchTranslators(b, func(b *testing.B, t *Translator, ls labels.Labels) {
		var matchers []*labels.Matcher
		ls.Range(func(l labels.Label) {
			matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, l.Name, l.Value))
		})
		for b.Loop() {
			t.Filters(matchers)
		}
	})
}
