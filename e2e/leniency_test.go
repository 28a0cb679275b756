package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// TestLeniency: requests of unusual form are taken as a Prometheus takes them.
func TestLeniency(t *testing.T) {
	needE2E(t)
	t.Parallel()
	peer := startPrometheus(t, "", "--web.enable-remote-write-receiver")
	a := startAdapter(t)
	now := time.Now()
	at := now.UnixMilli() - 1000
	long := strings.Repeat("x", 3<<19) // 1.5 MiB
	for name, send := range map[string]func(c client) reply{
		"symbols do not begin with the empty string": func(c client) reply {
			return c.WriteV2(t, &writev2.Request{Symbols: []string{"__name__", "up"}, Timeseries: []writev2.TimeSeries{{LabelsRefs: []uint32{0, 1}, Samples: []writev2.Sample{{Value: 1, Timestamp: at}}}}})
		},
		"a label of 1.5 MiB": func(c client) reply {
			return c.Write(t, prompb.TimeSeries{
				Labels:  []prompb.Label{{Name: "__name__", Value: "long"}, {Name: "value", Value: long}},
				Samples: []prompb.Sample{{Value: 2, Timestamp: at}},
			})
		},
		"nothing": func(c client) reply { return c.Write(t) },
	} {
		got, want := send(a.client), send(peer.client)
		if got.status != want.status {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	for _, query := range []string{"up", "long"} {
		if err := sameResults(a.Query(t, query, now), peer.Query(t, query, now), same); err != nil {
			t.Error(query, err)
		}
		if len(peer.Query(t, query, now)) != 1 {
			t.Errorf("Prometheus has no %s", query)
		}
	}
	begin := now.Add(-time.Minute)
	if got, want := len(a.Read(t, begin, now)), len(peer.Read(t, begin, now)); got != want {
		t.Errorf("a read without matchers has %d series, want %d", got, want)
	}
}
