package translate

import (
	"fmt"
	"testing"

	"github.com/prometheus/prometheus/model/labels"
)

// benchLabels returns a label set of common size; plain needs no escape.
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

// benchPaths returns a name of common length without tags, and one with some, sorted and not.
func benchPaths() map[string]string {
	return map[string]string{
		"plain":    "servers.web01.eu-west-1.cpu.0.user",
		"escaped":  "servers.web01.disk.sda:1.used%",
		"tagged":   "disk.used;datacenter=dc1;mount=/var/log;rack=a1;server=web01",
		"unsorted": "disk.used;server=web01;rack=a1;mount=/var/log;datacenter=dc1",
	}
}

func BenchmarkFromPath(b *testing.B) {
	t := &Translator{limits: storedLimits}
	for name, path := range benchPaths() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				t.FromPath(path)
			}
		})
	}
}

func BenchmarkToPath(b *testing.B) {
	t := &Translator{limits: storedLimits}
	for name, path := range benchPaths() {
		b.Run(name, func(b *testing.B) {
			s := t.FromPath(path)
			b.ReportAllocs()
			for b.Loop() {
				t.ToPath(s)
			}
		})
	}
}
