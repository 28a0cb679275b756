package write

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsdbridge/tsdbridge/internal/netserver"
)

// TestObserve: each answer counts under its protocol and the class of its status.
func TestObserve(t *testing.T) {
	reg := prometheus.NewRegistry()
	m := newDoorMetrics(reg, netserver.NewGate(1, 1))
	for _, answer := range []struct {
		protocol string
		status   int
	}{
		{version1.String(), http.StatusNoContent},
		{version2.String(), http.StatusNoContent},
		{version1.String(), http.StatusBadRequest},
		{version2.String(), http.StatusNoContent},
		{"unknown", http.StatusMethodNotAllowed},
		{version1.String(), http.StatusServiceUnavailable},
		{version1.String(), http.StatusNoContent},
		{version2.String(), http.StatusNoContent},
	} {
		m.observe(answer.protocol, answer.status, time.Second)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]uint64{}
	for _, f := range families {
		if f.GetName() != "tsdbridge_write_request_duration_seconds" {
			continue
		}
		for _, s := range f.GetMetric() {
			got[s.GetLabel()[0].GetValue()+" "+s.GetLabel()[1].GetValue()] = s.GetHistogram().GetSampleCount()
		}
	}
	want := map[string]uint64{
		"2xx remote_write_1": 2, "2xx remote_write_2": 3, "4xx remote_write_1": 1, "4xx unknown": 1, "5xx remote_write_1": 1,
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
